/**
 * Traces real calls through the source. Prints the functions and files that they enter, their steps in order, and how
 * often they come back to a step.
 *
 *   npm run trace
 *   npm run trace -- --files  (the files entered, too)
 *   npm run trace -- --json   (only the last line, for `npm run house`)
 *
 * Every function of the packages reports when it is entered and when it is left. An entry of a folder is a change of the
 * folder from one function entered to the next; `base` and `tool` hold values and are not counted. A return is an
 * entry of a step that the call had left before.
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
const source = pathToFileURL(join(root, 'packages')).href;
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
    defineTool({ name: 'erase_it', mode: 'destructive', run: () => 'erased' }),
  ],
  onPreToolUse: ({ toolName }) =>
    toolName !== 'delete_it' ? { type: 'allow' } : { type: 'block', reason: 'Not today.' },
});
// Another process that shares the ledger: its own handle and its own runtime.
const otherLedger = await openLedger(join(folder, 'ledger.db'));
const other = createRuntime({ ledger: otherLedger, tools: [] });
// A call that waits for a person does not keep its process alive.
const awake = setInterval(() => undefined, 1_000);
const turn = runtime.turn({ sessionId: 's' });
let calls = 0;
const call = async (name: string): Promise<void> =>
  void (await turn.call({ id: `c${++calls}`, name, arguments: { n: calls } }));

/** Makes a call that is held, approves it in the other process, and waits for its outcome. */
async function callHeld(): Promise<void> {
  const outcome = call('erase_it');
  for (;;) {
    const [question] = (await other.confirmations.list({ status: 'pending' })).rows;
    if (question === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    const { confirmationId, inputDigest } = question;
    await other.confirmations.decide(confirmationId, { decision: 'approve', by: 'ada', inputDigest });
    return outcome;
  }
}

/**
 * The functions that the work enters and leaves, after five warm-up rounds for one-time work. Timers may run meanwhile:
 * the shortest of eight traces counts, and of it only the files that the others enter too.
 */
async function trace(work: () => Promise<void>): Promise<readonly Step[]> {
  for (let round = 0; round < 5; round++) await work();
  const traces: Step[][] = [];
  for (let round = 0; round < 8; round++) {
    const traced: Step[] = [];
    steps = traced;
    await work();
    steps = undefined;
    traces.push(traced);
  }
  const shortest = traces.reduce((left, right) => (right.length < left.length ? right : left));
  const entered = traces.map((each) => new Set(each.map(({ path }) => path)));
  return shortest.filter(({ path }) => entered.every((paths) => paths.has(path)));
}

const traces = {
  'turn.call to its outcome': await trace(() => call('pay')),
  'turn.call to a denial': await trace(() => call('delete_it')),
  'held, approved elsewhere': await trace(callHeld),
};
clearInterval(awake);
await Promise.all([runtime.close(), other.close()]);
await Promise.all([ledger.close(), otherLedger.close()]);
rmSync(folder, { recursive: true });
const summaries = Object.entries(traces).map(([name, trace]) => ({ name, ...summarizeTrace(trace) }));
if (!process.argv.includes('--json')) print();
process.stdout.write(`\n${JSON.stringify({ trace: summaries })}\n`);

function print(): void {
  printTable(
    ['trace', 'function entries', 'files', 'folder entries', 'steps', 'returns'],
    summaries.map(({ name, functions, files, folderEntries, steps: entered, returns }) => [
      name,
      ...[functions, files, folderEntries, entered.length, returns].map(String),
    ]),
  );
  for (const { name, steps: entered } of summaries)
    process.stdout.write(`\n${name}:\n  ${entered.join(' → ')}\n`);
  if (!process.argv.includes('--files')) return;
  for (const [name, trace] of Object.entries(traces)) {
    const files = [...new Set(trace.map(({ path }) => path))].toSorted((one, two) => (one < two ? -1 : 1));
    process.stdout.write(`\n${name}:\n${files.map((file) => `  ${file}\n`).join('')}`);
  }
}
