/** The process in which calls of the C library fail. Whatever it is told is written down at once, outside its folder. */
import { appendFileSync, statSync } from 'node:fs';
import type { Places } from './scenario.ts';
import { playScenario } from './scenario.ts';

/** `fatal`: a file that holds something once the fault has happened; the process dies at the next answer. */
type Errand = Places & { readonly told: string; readonly fatal: string | undefined };
const { told, fatal, ...places } = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the process that started this one

await playScenario(places, (line) => {
  appendFileSync(told, `${JSON.stringify(line)}\n`);
  if (fatal !== undefined && statSync(fatal).size > 0) process.kill(process.pid, 'SIGKILL');
});
