/**
 * Measures a cold start of the built package in fresh processes. First the import, then the time from there to the outcome
 * of a first call. One tool has a zod schema, the other a JSON Schema. The figures are medians of 20 processes each, in
 * turns. An empty module shows what Node itself needs. Build first: `npm run build:package`.
 *
 * `--runs N` measures N processes of each kind.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '20' } } });
const runs = Number(values.runs);
const root = join(import.meta.dirname, '..');

const firstCall = (schema: string): string => `
  const startMs = performance.now();
  const { createRuntime, defineTool, jsonSchema } = await import('quittance');
  const importedMs = performance.now();
  ${schema}
  const beganMs = performance.now();
  const tool = defineTool({ name: 'get_weather', mode: 'read', input: makeInput(), run: async () => ({ ok: true }) });
  const turn = createRuntime({ tools: [tool] }).turn({ sessionId: 'start' });
  const outcome = await turn.call({ id: 'call_1', name: 'get_weather', arguments: { city: 'Lyon', days: 2 } });
  if (outcome.type !== 'ToolExecutionResult') throw new Error(outcome.type);
  console.log(JSON.stringify([importedMs - startMs, performance.now() - beganMs]));`;

const kinds: Readonly<Record<string, string>> = {
  'zod schema': firstCall(
    `const { z } = await import('zod'); const makeInput = () => z.object({ city: z.string(), days: z.number() });`,
  ),
  'JSON Schema': firstCall(
    `const makeInput = () => jsonSchema({ type: 'object', additionalProperties: false, required: ['city'],
      properties: { city: { type: 'string' }, days: { type: 'number' } } });`,
  ),
  'empty module': `const startMs = performance.now(); await import('data:text/javascript,');
    console.log(JSON.stringify([performance.now() - startMs, 0]));`,
};

const took = new Map(Object.keys(kinds).map((kind) => [kind, [] as (readonly [number, number])[]]));
const progress = createProgress('cold starts', runs);
for (let run = 1; run <= runs; run++) {
  for (const [kind, program] of Object.entries(kinds)) {
    const text = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, NODE_COMPILE_CACHE: '', NODE_OPTIONS: '' },
    });
    took.get(kind)?.push(JSON.parse(text) as readonly [number, number]); // what the program above prints
  }
  progress.step();
}
progress.done();

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)] ?? 0;
const results = [...took].map(([kind, times]) => ({
  kind,
  importMs: Math.round(median(times.map(([importMs]) => importMs)) * 10) / 10,
  firstCallMs: Math.round(median(times.map(([, callMs]) => callMs)) * 10) / 10,
}));
printTable(
  ['tool with a', 'import ms', 'first call ms'],
  results.map(({ kind, importMs, firstCallMs }) => [kind, String(importMs), String(firstCallMs)]),
);
console.log(JSON.stringify({ bench: 'start', runs, results }));
