/**
 * Traces real calls through the source: which rooms they pass, in order, and how often they come back to a room.
 *
 *   npm run trace
 *
 * Every function of `src` reports when it is entered and when it is left. `base` and `tool` hold values and are not
 * counted. An entry is a change of the folder, or of the room, from one function entered to the next. A return is an
 * entry of a stage that the call had left before. A stage is left when another stage has begun and no function of the
 * first one runs or waits.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { printTable } from '../bench/table.ts';
import { reportEntries } from './trace/report-entries.ts';
import type { Step } from './trace/summarize-trace.ts';
import { summarizeTrace } from './trace/summarize-trace.ts';

const root = join(import.meta.dirname, '..');
const source = pathToFileURL(join(root, 'src')).href;
let steps: Step[] | undefined;
let frames = 0;
Object.assign(globalThis, {
  quittanceEntered(path: string) {
    const frame = ++frames;
    steps?.push({ type: 'entered', frame, path });
    return () => void steps?.push({ type: 'left', frame, path });
  },
});
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.startsWith(source) || loaded.source === undefined || loaded.source === null) return loaded;
    const path = fileURLToPath(url).slice(root.length + 1);
    const text = typeof loaded.source === 'string' ? loaded.source : readFileSync(fileURLToPath(url), 'utf8');
    return { ...loaded, source: reportEntries(path, text) };
  },
});

const { createRuntime, defineTool } = await import('quittance');
const { openLedger } = await import('quittance/ledger');
const folder = mkdtempSync(join(tmpdir(), 'quittance-trace-'));
const ledger = await openLedger(join(folder, 'ledger.db'));
const runtime = createRuntime({
  ledger,
  tools: [
    defineTool({ name: 'pay', mode: 'external', run: () => 'paid' }),
    defineTool({ name: 'delete_it', mode: 'destructive', run: () => 'deleted' }),
  ],
  onPreToolUse: ({ toolName }) =>
    toolName === 'pay' ? { type: 'allow' } : { type: 'block', reason: 'Not today.' },
});
const turn = runtime.turn({ sessionId: 's' });
let calls = 0;
const call = async (name: string): Promise<void> =>
  void (await turn.call({ id: `c${++calls}`, name, arguments: { n: calls } }));

/** The functions that the work enters and leaves, after five warm-up rounds for one-time work. */
async function trace(work: () => Promise<void>): Promise<readonly Step[]> {
  for (let round = 0; round < 5; round++) await work();
  const traced: Step[] = [];
  steps = traced;
  await work();
  steps = undefined;
  return traced;
}

const traces = {
  'turn.call to its outcome': await trace(() => call('pay')),
  'turn.call to a denial': await trace(() => call('delete_it')),
};
await runtime.close();
await ledger.close();
rmSync(folder, { recursive: true });
const summaries = Object.entries(traces).map(([name, trace]) => ({ name, ...summarizeTrace(trace) }));
printTable(
  [
    'trace',
    'calls of functions',
    'files',
    'folder entries',
    'room entries',
    'stage entries',
    'stage returns',
  ],
  summaries.map(({ name, functions, files, folderEntries, roomEntries, stages, stageReturns }) => [
    name,
    ...[functions, files, folderEntries, roomEntries, stages.length, stageReturns].map(String),
  ]),
);
for (const { name, stages } of summaries) process.stdout.write(`\n${name}:\n  ${stages.join(' → ')}\n`);
process.stdout.write(`\n${JSON.stringify({ trace: summaries })}\n`);
