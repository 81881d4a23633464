/**
 * A process on a ledger with instructions from the test: it makes calls, recovers, dies. The test's own
 * process counts the effects of its tools, and every tool can hang after its effect.
 */
import { closeSync, openSync } from 'node:fs';
import { createRuntime, defineTool } from 'quittance';
import type { AnyTool, Runtime, ToolContext } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { openLedger } from 'quittance/ledger';
import type { Answer, Errand, Order } from './play.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the test that started this process
let fill = (): unknown => undefined;
let ledger = await openLedger(errand.ledger, {
  ...(errand.spillBytes !== undefined && { spillBytes: errand.spillBytes }),
});
if (errand.afterwards === 'fill') {
  // From the sources, which only such an actor is started with.
  const { openLedgerFile } = await import('./ledger-file.ts');
  await ledger.close();
  ({ ledger, fill } = openLedgerFile(errand.ledger, errand.spillBytes));
}

const releases: (() => void)[] = [];
async function effect(args: unknown, { callId, idempotencyKey }: ToolContext): Promise<unknown> {
  const { key = callId } = args as { key?: string };
  await fetch(`${errand.world}/?key=${encodeURIComponent(key)}`, { method: 'POST' });
  if (errand.poison?.includes(callId) === true) process.kill(process.pid, 'SIGKILL');
  if (errand.afterwards === 'hang')
    await new Promise<void>((resolve) => {
      releases.push(resolve);
      process.send?.({ reached: callId });
    });
  if (errand.afterwards === 'wait')
    await new Promise((resolve) =>
      setTimeout(resolve, errand.waitMs ?? 500, process.send?.({ reached: callId })),
    );
  if (errand.afterwards === 'fill') fill();
  return { key, idempotencyKey, filler: 'x'.repeat(errand.afterwards === 'fill' ? 10_000 : 0) };
}

const tools: readonly AnyTool[] = [
  defineTool({ name: 'pay', mode: 'external', rerun: 'deny', loopLimit: 1_000_000, run: effect }),
  defineTool({ name: 'put', mode: 'external', idempotent: true, run: effect }),
  defineTool({ name: 'ask', mode: 'external', reconcile: () => ({ status: 'unknown' }), run: effect }),
  defineTool({ name: 'ship', mode: 'external', handoff: true }),
  defineTool({ name: 'get_far', mode: 'read', handoff: true }),
  defineTool({ name: 'get_it', mode: 'read', costMicros: 1, loopLimit: 1_000_000, run: effect }),
  defineTool({
    name: 'order',
    mode: 'external',
    loopLimit: 1_000_000,
    idempotencyKey: (args) => (args as { key: string }).key,
    idempotencyScope: 'ledger',
    run: effect,
  }),
];

const runtime: Runtime = createRuntime({
  tools,
  ledger,
  budgets: errand.budget === undefined ? [] : [{ scope: 'everybody', toolCalls: errand.budget }],
  ...(errand.contracts !== undefined && { contracts: contractsFromYamlString(errand.contracts) }),
  ...(errand.concurrency !== undefined && { concurrency: errand.concurrency }),
});

const turns = new Map<string, ReturnType<Runtime['turn']>>();
const turnOf = (sessionId: string): ReturnType<Runtime['turn']> => {
  const turn = turns.get(sessionId) ?? runtime.turn({ sessionId });
  turns.set(sessionId, turn);
  return turn;
};

async function work(tool: string, leaseMs: number | undefined): Promise<unknown> {
  const terms = { worker: `pid ${process.pid}`, ...(leaseMs !== undefined && { leaseMs }) };
  const claim = await runtime.handoffs.claim({ toolName: tool }, terms);
  if (claim === undefined) return undefined;
  const { token, callId, arguments: args } = claim;
  const { key = callId } = args as { key?: string };
  await fetch(`${errand.world}/?key=${encodeURIComponent(key)}`, { method: 'POST' });
  if (errand.afterwards === 'hang') await new Promise(() => process.send?.({ reached: callId }));
  return runtime.handoffs.report(token, { output: { key } });
}

const descriptors: number[] = [];
function starve(): void {
  try {
    for (;;) descriptors.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
  }
}

async function obey(order: Order): Promise<unknown> {
  switch (order.type) {
    case 'call':
      return turnOf(order.sessionId).call({
        id: order.callId,
        name: order.tool,
        arguments: order.args ?? {},
      });
    case 'calls':
      return Promise.all(
        order.calls.map(({ sessionId, callId, tool, args }) =>
          turnOf(sessionId).call({ id: callId, name: tool, arguments: args ?? {} }),
        ),
      );
    case 'submit':
      return turnOf(order.sessionId).submit({
        id: order.callId,
        name: order.tool,
        arguments: order.args ?? {},
      }).accepted;
    case 'work':
      return work(order.tool, order.leaseMs);
    case 'recover':
      return runtime.recover();
    case 'release':
      return releases.splice(0).forEach((release) => release());
    case 'starve':
      return starve();
    case 'feed':
      return descriptors.splice(0).forEach((descriptor) => closeSync(descriptor));
    case 'close':
      await runtime.close();
      return ledger.close();
  }
}

process.on('message', (message) => {
  const { number, order } = message as { number: number; order: Order };
  const tell = (answer: Answer): void => void process.send?.({ number, answer });
  obey(order).then(
    (value) => tell({ ok: true, value }),
    (error: unknown) => tell({ ok: false, error: String(error) }),
  );
});
process.send?.('ready');
