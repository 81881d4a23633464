/** The process in which C library calls fail. It records every answer at once, outside its folder. */
import { appendFileSync, statSync } from 'node:fs';
import type { Places } from './scenario.ts';
import { playScenario } from './scenario.ts';

/** `fault`: a file that has content once the fault has happened. `isFatal`: the process dies at the next answer. */
type Errand = Places & {
  readonly told: string;
  readonly fault: string | undefined;
  readonly isFatal: boolean;
};
const { told, fault, isFatal, ...places } = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the parent process

await playScenario(places, (line) => {
  const isAfter = fault !== undefined && statSync(fault).size > 0;
  appendFileSync(told, `${JSON.stringify({ ...line, isAfter })}\n`);
  if (isFatal && isAfter) process.kill(process.pid, 'SIGKILL');
});
