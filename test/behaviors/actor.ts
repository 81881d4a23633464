/**
 * A process with behaviors on a ledger. The effects of its tool go to a file that outlives it. At the point
 * where it is to be killed, it says so and stops there.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { createRuntime, defineTool, retry, ToolError } from 'quittance';
import { openLedger } from 'quittance/ledger';

/** The instructions from the test. */
export type Errand = {
  readonly ledger: string;
  readonly world: string;
  /** How often the tool fails before it succeeds, counted over all processes. */
  readonly failures: number;
  readonly halt?:
    | 'in backoff'
    | 'before asking'
    | 'in the behavior'
    | 'after the effect'
    | 'in the retry behavior';
  readonly play: 'attempts' | 'own retry' | 'redelivery' | 'poison';
  /** Starts the work; others find it on the ledger. */
  readonly begin: boolean;
  /** The calls it makes in the play about poison. */
  readonly calls?: readonly string[];
};

const errand = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the test that started this process

const note = (line: string): void => appendFileSync(errand.world, `${line}\n`);
const noted = (line: string): number =>
  readFileSync(errand.world, 'utf8')
    .split('\n')
    .filter((other) => other === line).length;

/** Reports that it has reached the point where it is to be killed, and waits. */
async function halt(where: Errand['halt']): Promise<void> {
  if (errand.halt !== where) return;
  process.send?.('here');
  await new Promise(() => setInterval(() => undefined, 1_000));
}

const tool = defineTool({
  name: 'get_rates',
  mode: 'read',
  run: async () => {
    note('run');
    if (noted('run') <= errand.failures) throw new ToolError('tool.network_error', 'no route');
    return { rate: 1.1 };
  },
});
const pay = defineTool({
  name: 'pay',
  mode: 'external',
  run: async () => {
    note('paid');
    return 'paid';
  },
});
const start = defineTool({ name: 'get_start', mode: 'read', run: () => 'started' });

const ledger = await openLedger(errand.ledger);
const runtime = createRuntime({
  tools: [tool, pay, start],
  ledger,
  behaviors:
    errand.play === 'attempts'
      ? [retry({ attempts: 5, initialMs: errand.halt ? 1_000 : 10, jitter: 0 })]
      : [],
});

const done = Promise.withResolvers<void>();
if (errand.play === 'own retry')
  runtime.events.on(
    { name: 'mine', on: 'tool.responded', retries: true, timeoutMs: 60_000 },
    async (_, context) => {
      note('asked');
      await halt('before asking');
      context.retry();
    },
  );
if (errand.play === 'redelivery') {
  runtime.events.on(
    { name: 'report', on: 'tool.responded', where: { callId: 'start' }, from: 'start' },
    async (_, context) => {
      note(`report ${context.attempt}`);
      await context.call({ name: 'pay', arguments: { amount: 1 } });
      await halt('after the effect');
      await context.call({ name: 'get_rates', arguments: {} });
      context.emit('report.sent', {});
      await halt('in the behavior');
    },
  );
  runtime.events.on(
    {
      name: 'tool_retry',
      on: ['behavior.failed'],
      where: { reason: ['tool.timeout', 'tool.network_error'] },
      from: 'start',
    },
    async (event, context) => {
      const attempt = event.attempt + 1;
      if (attempt > 3) return;
      await halt('in the retry behavior');
      context.emit('retry.requested', { forEvent: event.triggeringEventId, attempt });
    },
  );
  runtime.events.on({ name: 'end', on: 'report.sent', from: 'start' }, () => done.resolve());
} else if (errand.play === 'poison') {
  runtime.events.on({ name: 'poisoned', on: 'tool.responded', from: 'start' }, (event) => {
    note(`heard ${event.callId}`);
    if (event.callId === 'poison') process.kill(process.pid, 'SIGKILL');
    if (event.callId === 'last') done.resolve();
  });
} else done.resolve();

if (errand.halt === 'in backoff')
  void (async () => {
    for await (const _ of runtime.events.tail({ types: ['retry.requested'] })) await halt('in backoff');
  })();

const turn = runtime.turn({ sessionId: 's' });
if (errand.play === 'poison') {
  for (const id of errand.calls ?? [])
    await turn.submit({ id, name: 'get_start', arguments: { id } }).accepted;
} else if (errand.begin)
  await turn.call({
    id: errand.play === 'redelivery' ? 'start' : 'c',
    name: errand.play === 'redelivery' ? 'get_start' : 'get_rates',
    arguments: {},
  });
else await runtime.recover();
// Behaviors do not keep a process alive by themselves.
const awake = setInterval(() => undefined, 1_000);
await done.promise;
// A recovery does not wait for the next attempt of a call.
if (!errand.begin && (errand.play === 'attempts' || errand.play === 'own retry'))
  for await (const { event } of runtime.events.tail({ types: ['tool.responded'] }))
    if (event.type === 'tool.responded' && 'final' in event && event.final === true) break;
clearInterval(awake);
await runtime.close();
await ledger.close();
process.send?.('done');
