/** A process of the store rounds: it makes calls, or recovers those of a dead process, and is killed at a point. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyTool, Runtime, ToolContext, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { systemClock } from '../../packages/quittance/src/base/deadlines.ts';
import { prepareSchema } from '../../packages/quittance/src/store/sqlite/schema.ts';
import { SqliteLedger } from '../../packages/quittance/src/store/sqlite/sqlite-ledger.ts';
import type { StoreErrand, StorePoint } from './points.ts';
import { alterLedger } from '../../test/alter-ledger.ts';
import { openBare } from '../../test/bare-database.ts';
import { disturbed, setPragmas } from '../../test/writer-thread/disturbance.ts';
import type { Mine } from './mine-thread.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as StoreErrand; // written by the parent process
const { part, point, sessionId } = errand;
const scene = point.slice(0, point.indexOf(':'));
const callIds = Array.from({ length: errand.calls }, (_, index) => `c${index}`);
const isOfRecovery = scene === 'import' || scene === 'recovery';
/** Is this the process that dies at the point? */
const isVictim = part === (isOfRecovery ? 'second' : 'first');
let met = 0;

function meet(here: StorePoint): void {
  if (isVictim && here === point && met++ === errand.nth) process.kill(process.pid, 'SIGKILL');
}

/** Points inside the transaction of a claim are met by the thread that writes. */
if (isVictim && scene === 'entry')
  process.env['QUITTANCE_CRASH_MINE'] = JSON.stringify({ point, nth: errand.nth } satisfies Mine);
const minedThread = [...disturbed, '--import', new URL('mine-thread.ts', import.meta.url).href];

await (await openLedger(errand.ledger)).close();
const database = openBare(errand.ledger);
await prepareSchema(database, errand.ledger);
database.pragma('busy_timeout = 0');
let jumpedMs = part === 'after' && scene === 'expiry' ? 86_400_000 : 0;
const clock = { ...systemClock, now: () => Date.now() + jumpedMs };
const ledger = mined(new SqliteLedger(database, errand.ledger, { clock }, minedThread));
const fill = (): void =>
  setPragmas(ledger.ownerId, [`max_page_count = ${String(database.pragma('page_count', { simple: true }))}`]);

function mined(inner: SqliteLedger): OpenLedger {
  const append: OpenLedger['append'] = async (entry) => {
    const has = (type: string): boolean => entry.events.some((event) => event.type === type);
    const isImport = scene === 'import' && has('persistence.failed');
    const isAgain = entry.events.some(
      (event) => event.type === 'tool.started' && 'attempt' in event && Number(event.attempt) > 1,
    );
    const isHeldAgain = has('tool.held') && heldBefore.has(entry.callId ?? '');
    if (has('tool.held')) heldBefore.add(entry.callId ?? '');
    if (isImport) meet('import: before append');
    if (isAgain) meet('recovery: before attempt');
    if (isHeldAgain) meet('hold again: before hold');
    if (has('confirmation.expired')) meet('expiry: before end');
    const result = await inner.append(entry);
    if (isImport) meet('import: after append');
    if (isAgain) meet('recovery: after attempt');
    if (isHeldAgain) meet('hold again: after hold');
    if (has('confirmation.expired')) meet('expiry: after end');
    return result;
  };
  const spill: OpenLedger['spill']['write'] = async (entry) => {
    meet('spill: before write');
    const kept = inner.spill.write(entry);
    meet('spill: after write');
    return kept;
  };
  const dropSpill: OpenLedger['spill']['drop'] = async (ownerId, lastEntryId) => {
    const dropped = inner.spill.drop(ownerId, lastEntryId);
    if (ownerId !== inner.ownerId) meet('import: after drop');
    return dropped;
  };
  const readArtifact: OpenLedger['readArtifact'] = async (sessionId, artifactId, range) => {
    const artifact = await inner.readArtifact(sessionId, artifactId, range);
    if (range === undefined) meet('artifact: after check');
    return artifact;
  };
  return alterLedger(inner, {
    append,
    spill: { write: spill, drop: dropSpill },
    readArtifact,
  });
}

const heldBefore = new Set<string>();
let bodies = 0;

async function effect(_: unknown, { callId }: ToolContext): Promise<object> {
  await fetch(`${errand.service}/?key=${encodeURIComponent(`${sessionId}/${callId}`)}`, { method: 'POST' });
  const isFull = part === 'first' && (scene === 'spill' || scene === 'import');
  // The last tool fills the disk for all of them.
  if (isFull && ++bodies === errand.calls) fill();
  while (isFull && bodies < errand.calls) await sleep(1);
  return { done: callId, filler: 'x'.repeat(isFull ? 9_000 : 0) };
}

let validations = 0;
/** The first value of each call differs from all later ones. */
const changing = (): Date => new Date(part === 'after' || ++validations > errand.calls ? 1_000 : 0);

const tools: Readonly<Record<string, AnyTool>> = {
  entry: defineTool({
    name: 'act',
    mode: 'external',
    idempotencyScope: 'ledger',
    idempotencyKey: (args) => `${sessionId}/${String((args as { readonly id: string }).id)}`,
    run: effect,
  }),
  recovery: defineTool({
    name: 'act',
    mode: 'read',
    costMicros: 1,
    run: (_, { callId }) => {
      if (part === 'first' && callId === callIds.at(-1)) process.kill(process.pid, 'SIGKILL');
      if (part === 'first') return new Promise(() => undefined);
      meet('recovery: during the body');
      return { done: callId };
    },
  }),
  'hold again': defineTool({
    name: 'act',
    mode: 'destructive',
    // Not by a default: the schema's own description must be the same in every process.
    input: z.object({ id: z.string().transform((id) => ({ id, at: changing() })) }),
    rerun: 'deny',
    run: effect,
  }) as AnyTool,
  expiry: defineTool({ name: 'act', mode: 'destructive', rerun: 'deny', run: effect }),
};
const act = tools[scene] ?? defineTool({ name: 'act', mode: 'external', rerun: 'deny', run: effect });
const print = defineTool({ name: 'print', mode: 'read', run: () => 'x'.repeat(15_000) });
const runtime: Runtime = createRuntime({
  ledger,
  clock,
  tools: [act, print],
  holdTimeoutMs: 3_600_000,
  budgets: [{ scope: 'session', toolCalls: 1_000, costMicros: 1_000_000 }],
});
const turn = runtime.turn({ sessionId });

async function approveAll(isOver: () => boolean): Promise<void> {
  for (; !isOver(); await sleep(5)) {
    const { rows } = await runtime.confirmations.list({ status: 'pending', limit: 100 });
    for (const { confirmationId, inputDigest } of rows)
      await runtime.confirmations
        .decide(confirmationId, { decision: 'approve', by: 'ada', inputDigest })
        .catch((error: unknown) => {
          if (!isQuittanceError(error)) throw error; // already decided, or replaced by a new confirmation
        });
  }
}

async function askAll(): Promise<readonly ToolOutcome[]> {
  const printed =
    scene === 'artifact' ? await turn.call({ id: 'print', name: 'print', arguments: {} }) : undefined;
  const more =
    printed?.type === 'ToolArtifactReference' ? { text: { $artifact: printed.artifactId, as: 'text' } } : {};
  return Promise.all(callIds.map((id) => turn.call({ id, name: 'act', arguments: { id, ...more } })));
}

// An approved call that is held again awaits approval, and so does its recovery; the code below decides it.
const recovered = part === 'first' ? undefined : runtime.recover();
if (scene !== 'hold again') await recovered;
let isOver = false;
const asked = askAll().finally(() => (isOver = true));
if (scene === 'hold again') await approveAll(() => isOver);
if (scene === 'expiry' && part === 'first') {
  while ((await runtime.confirmations.list({ status: 'pending' })).rows.length < errand.calls) await sleep(5);
  jumpedMs = 86_400_000;
}
const outcomes = await asked;
await recovered;
// Answers that were only spilled are left to the successors.
if (part === 'first' && scene === 'import') process.kill(process.pid, 'SIGKILL');
await runtime.close();
await ledger.close();
process.send?.({ outcomes: Object.fromEntries(outcomes.map((outcome) => [outcome.callId, outcome])) });
process.disconnect();
