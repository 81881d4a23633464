/**
 * Traces real calls through the source: which rooms they pass, in order, and how often they come back to a room.
 *
 *   npm run trace
 *
 * Every function of `src` reports when it is entered. `base` and `tool` hold values and are not counted. An entry is a
 * change of the top-level folder of `src`. A return is an entry of a room that the call had left before.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { printTable } from '../bench/table.ts';
import { reportEntries } from './trace/report-entries.ts';
import { summariseTrace } from './trace/summarise-trace.ts';

const root = join(import.meta.dirname, '..');
const source = pathToFileURL(join(root, 'src')).href;
let entered: string[] | undefined;
Object.assign(globalThis, { quittanceEntered: (path: string) => entered?.push(path) });
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

/** The files whose functions the work enters, after five rounds that do what happens only once. */
async function trace(work: () => Promise<void>): Promise<readonly string[]> {
  for (let round = 0; round < 5; round++) await work();
  const paths: string[] = [];
  entered = paths;
  await work();
  entered = undefined;
  return paths;
}

const traced = {
  'turn.call to its outcome': await trace(() => call('pay')),
  'turn.call to a denial': await trace(() => call('delete_it')),
};
await runtime.close();
await ledger.close();
rmSync(folder, { recursive: true });
const summaries = Object.entries(traced).map(([name, paths]) => ({ name, ...summariseTrace(paths) }));
printTable(
  ['trace', 'calls of functions', 'files', 'folder entries', 'room entries', 'room returns'],
  summaries.map(({ name, functions, files, folderEntries, roomEntries, roomReturns }) => [
    name,
    ...[functions, files, folderEntries, roomEntries, roomReturns].map(String),
  ]),
);
for (const { name, rooms } of summaries) process.stdout.write(`\n${name}:\n  ${rooms.join(' → ')}\n`);
process.stdout.write(
  `\n${JSON.stringify({ trace: summaries.map((summary) => ({ ...summary, rooms: new Set(summary.rooms).size })) })}\n`,
);
