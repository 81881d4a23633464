/** The process in which C library calls fail. It records every answer at once, outside its folder. */
import { appendFileSync, statSync } from 'node:fs';
import type { Places } from './scenario.ts';
import { playScenario } from './scenario.ts';

/** `fatal`: a file that has content once the fault has happened; the process dies at the next answer. */
type Errand = Places & { readonly told: string; readonly fatal: string | undefined };
const { told, fatal, ...places } = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the parent process

await playScenario(places, (line) => {
  appendFileSync(told, `${JSON.stringify(line)}\n`);
  if (fatal !== undefined && statSync(fatal).size > 0) process.kill(process.pid, 'SIGKILL');
});
