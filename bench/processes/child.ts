/** One of several processes on a ledger: it makes this many concurrent calls for the given time. */
import { createRuntime, defineTool } from 'quittance';
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

tell({ type: 'ready' });
process.once('message', () => {
  const work = errand.what === 'measure' ? measure() : share();
  void work
    .then(() => runtime.close())
    .then(() => ledger.close())
    .then(() => process.disconnect());
});
