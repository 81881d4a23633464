/**
 * A process on a ledger in which one piece of code of the host or of a tool, for one call, waits for ever or
 * ends the process. The test chooses the piece and its action.
 */
import { createRuntime, defineTool, ToolDecision, ToolError } from 'quittance';
import type { AnyTool, Runtime } from 'quittance';
import type { Behavior } from 'quittance/events';
import { contracts } from 'quittance/contracts';
import { openLedger } from 'quittance/ledger';
import type { PoisonErrand, PoisonOrder } from './poison-play.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as PoisonErrand; // written by the test that started this process

/** Runs first in every piece of code. `call`: the call it runs for, if known. */
function pass(code: PoisonErrand['code'], call: string): Promise<never> | undefined {
  if (code !== errand.code || call !== 'poison') return undefined;
  process.send?.({ ran: code });
  if (errand.does === 'hang') return new Promise<never>(() => process.send?.({ reached: code }));
  if (errand.does === 'exit') process.exit(3);
  process.kill(process.pid, 'SIGKILL');
  return undefined;
}

type Args = { readonly name: string };
const nameOf = (args: unknown): string => (args as Args).name;

/**
 * A schema that is not JSON Schema: code of the host. It returns a value that is not JSON, so that it must
 * run again.
 */
const dated = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) => {
      if (typeof nameOf(value) !== 'string') return { issues: [{ message: 'a name is missing' }] };
      void pass('input schema', nameOf(value));
      return { value: { name: nameOf(value), at: new Date(0) } };
    },
  },
};

/** An output schema that is code too. */
const checked = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: async (value: unknown) => {
      await pass('output schema', nameOf(value));
      return { value };
    },
  },
};

const run = async (args: unknown): Promise<unknown> => {
  await pass('body', nameOf(args));
  return { name: nameOf(args) };
};

const tools: readonly AnyTool[] = [
  defineTool({ name: 'get', mode: 'read', costMicros: 1, run }),
  defineTool({
    name: 'put',
    mode: 'external',
    idempotent: true,
    undoIdempotent: true,
    undo: async (args) => {
      await pass('undo', nameOf(args));
      return 'undone';
    },
    run,
  }),
  defineTool({ name: 'pay', mode: 'external', run }),
  defineTool({
    name: 'pay_asked',
    mode: 'external',
    reconcile: async ({ args }) => {
      await pass('reconcile', nameOf(args));
      return { status: 'succeeded', output: { name: nameOf(args) } };
    },
    run,
  }),
  defineTool({
    name: 'put_checked',
    mode: 'external',
    idempotent: true,
    output: checked,
    successCheck: (_, output) => {
      void pass('success check', nameOf(output));
      return true;
    },
    run,
  }),
  defineTool({
    name: 'put_keyed',
    mode: 'external',
    idempotent: true,
    idempotencyKey: (args) => {
      void pass('key', nameOf(args));
      return nameOf(args);
    },
    costMicros: (args) => {
      void pass('cost', nameOf(args));
      return 1;
    },
    resourceKeys: (args) => {
      void pass('resource keys', nameOf(args));
      return [nameOf(args)];
    },
    run,
  }),
  defineTool({ name: 'put_dated', mode: 'external', idempotent: true, input: dated, run }),
  defineTool({
    name: 'shown',
    mode: 'safe_write',
    async *preview(args: unknown) {
      yield { kind: 'text' as const, text: 'draft', snapshot: { name: nameOf(args) } };
      await pass('preview', nameOf(args));
      yield { kind: 'text' as const, text: 'ready', snapshot: { name: nameOf(args) } };
    },
    cancel: async ({ callId }) => {
      await pass('cancel', callId);
    },
    run,
  }),
  defineTool({
    name: 'far',
    mode: 'external',
    handoff: true,
    reconcile: async ({ args }) => {
      await pass('reconcile', nameOf(args));
      return { status: 'unknown' };
    },
  }),
  defineTool({
    name: 'fails',
    mode: 'external',
    idempotent: true,
    run: () => {
      throw new ToolError('tool.network_error', 'no answer');
    },
  }),
];

const again: Behavior = {
  spec: { name: 'again', on: 'tool.responded', retries: true },
  handler: async (event) => {
    if (event.type === 'tool.responded') await pass('retry behavior', event.callId as string);
  },
};

const runtime: Runtime = createRuntime({
  tools,
  ledger: await openLedger(errand.ledger),
  budgets: [{ scope: 'everybody', costMicros: 1_000_000 }],
  behaviors: [again],
  cancelGraceMs: 60_000,
  contracts: contracts({
    rules: [
      {
        id: 'before',
        before: async ({ input }) => pass('rule before', nameOf(input)),
      },
      {
        id: 'after',
        after: async ({ input }) => pass('rule after', nameOf(input)),
      },
    ],
  }),
  onPreToolUse: async ({ callId }) => {
    await pass('hook', callId);
    return errand.asks?.includes(callId) === true
      ? ToolDecision.requiresConfirmation(
          'May it?',
          errand.holdMs === undefined ? {} : { timeoutMs: errand.holdMs },
        )
      : ToolDecision.allow;
  },
  repair: async ({ callId }) => {
    await pass('repair', callId);
    return undefined;
  },
  ...(errand.hasDecider === true && {
    onConfirm: async ({ callId }) => {
      await pass('onConfirm', callId);
      return new Promise<never>(() => undefined);
    },
  }),
});

async function obey(order: PoisonOrder): Promise<unknown> {
  switch (order.type) {
    case 'submit':
      return runtime.turn({ sessionId: order.sessionId ?? 's' }).submit({
        id: order.callId,
        name: order.tool,
        arguments: order.arguments ?? { name: order.callId },
      }).accepted;
    case 'call':
      return runtime.turn({ sessionId: 's' }).call({
        id: order.callId,
        name: order.tool,
        arguments: { name: order.callId },
      });
    case 'undo':
      return runtime.calls.undo({ sessionId: 's', callId: order.callId }, { by: 'ada' });
    case 'recover':
      return (await runtime.recover()).map(({ callId, how }) => [callId, how]);
    case 'claim':
      return runtime.handoffs.claim({ toolName: order.tool }, { worker: 'w', leaseMs: order.leaseMs });
  }
}

process.on('message', (message) => {
  const { number, order } = message as { number: number; order: PoisonOrder };
  obey(order).then(
    (value) => process.send?.({ number, value: value === undefined ? null : value }),
    (error: unknown) => process.send?.({ number, error: String(error) }),
  );
});
process.send?.('ready');
