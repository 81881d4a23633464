/** One of several processes on a ledger: it makes this many concurrent calls for the given time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { Errand, Told } from './errand.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the parent process
const tell = (told: Told): void => void process.send?.(told);

const ledger = await openLedger(errand.ledger);
const run = (args: unknown): { done: true } => {
  const { key } = args as { key?: string };
  // The effect, which the other process counts.
  if (key !== undefined) tell({ type: 'effect', key });
  return { done: true };
};
const runtime = createRuntime({
  ledger,
  tools: [
    defineTool({ name: 'act', mode: 'external', loopLimit: 1_000_000, run }),
    defineTool({
      name: 'order',
      mode: 'external',
      loopLimit: 1_000_000,
      idempotencyScope: 'ledger',
      idempotencyKey: (args) => (args as { key: string }).key,
      run,
    }),
    defineTool({ name: 'delete_it', loopLimit: 1_000_000, rerun: 'deny', run }),
  ],
  budgets: errand.limit === undefined ? [] : [{ scope: 'all processes', toolCalls: errand.limit }],
});

async function atOnce(lanes: number, work: (next: () => number) => Promise<void>): Promise<void> {
  let made = 0;
  await Promise.all(Array.from({ length: lanes }, () => work(() => made++)));
}

async function measure(): Promise<void> {
  const turn = runtime.turn({ sessionId: `own ${process.pid}` });
  const untilMs = performance.now() + errand.ms;
  let calls = 0;
  await atOnce(errand.lanes, async (next) => {
    while (performance.now() < untilMs) {
      const n = next();
      await turn.call({ id: `c${n}`, name: 'act', arguments: { n } });
      calls++;
    }
  });
  tell({ type: 'measured', calls });
}

async function share(): Promise<void> {
  const same = runtime.turn({ sessionId: 'same' });
  const own = runtime.turn({ sessionId: `own ${process.pid}` });
  const outcomes: Record<string, string> = {};
  await atOnce(errand.lanes, async (next) => {
    for (let n = next(); n < errand.calls; n = next()) {
      const outcome = await same.call({ id: `c${n}`, name: 'act', arguments: { key: `id ${n}` } });
      outcomes[`c${n}`] = JSON.stringify(outcome);
      await own.call({ id: `k${n}`, name: 'order', arguments: { key: `key ${n}` } });
    }
  });
  tell({ type: 'shared', outcomes });
}

/** Every process asks for the same held calls, and every process approves all of them. */
async function approve(): Promise<void> {
  const turn = runtime.turn({ sessionId: 'held' });
  let isOver = false;
  const asked = Promise.all(
    Array.from({ length: errand.calls }, (_, n) =>
      turn.call({ id: `h${n}`, name: 'delete_it', arguments: { key: `held ${n}` } }),
    ),
  ).finally(() => (isOver = true));
  let decisions = 0;
  for (; !isOver; await Promise.race([sleep(20), asked])) {
    const { rows } = await runtime.confirmations.list({ status: 'pending', limit: 100 });
    for (const { confirmationId, inputDigest } of rows)
      try {
        await runtime.confirmations.decide(confirmationId, {
          decision: 'approve',
          by: `process ${process.pid}`,
          inputDigest,
        });
        decisions++;
      } catch (error) {
        // Another process decided first.
        if (!isQuittanceError(error, 'confirmation.decided')) throw error;
      }
  }
  const outcomes = await asked;
  tell({
    type: 'shared',
    outcomes: Object.fromEntries(outcomes.map((outcome) => [outcome.callId, JSON.stringify(outcome)])),
  });
  tell({ type: 'approved', decisions });
}

tell({ type: 'ready' });
process.once('message', () => {
  const work = { measure, share, approve }[errand.what]();
  void work
    .then(() => runtime.close())
    .then(() => ledger.close())
    .then(() => process.disconnect());
});
