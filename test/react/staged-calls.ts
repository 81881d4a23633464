/** Calls in every state, made by a real runtime: their events are what a page gets. */
import type { JsonObject, Runtime, ToolOutcome, Turn } from 'quittance';
import type { QuittanceEvent } from 'quittance/events';
import { createRuntime, defineTool, ToolDecision, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { z } from 'zod';

const refundDiff = [
  '--- a/billing/refunds.ts',
  '+++ b/billing/refunds.ts',
  '@@ -12,7 +12,8 @@ export function refund(order: Order): Receipt {',
  '   const amount = order.total;',
  '   if (amount === 0) return nothing(order);',
  '-  const limit = 2_000;',
  '+  const limit = 5_000;',
  '+  audit(order, amount);',
  "   if (amount > limit) throw new TooMuch(order, 'ask a person');",
  '   return pay(order.account, amount);',
  ' }',
  '',
].join('\n');

export type Staged = {
  readonly runtime: Runtime;
  readonly turn: Turn;
  /** Events of the call so far, through JSON. */
  readonly eventsOf: (callId: string) => Promise<readonly QuittanceEvent[]>;
  /** Makes the call without waiting for its end. */
  readonly begin: (callId: string, name: string, input: JsonObject) => Promise<ToolOutcome>;
  /** Lets the slow tool of this id finish. */
  readonly finish: (id: string) => void;
  /** Waits until the call has an event of this type. */
  readonly until: (callId: string, type: QuittanceEvent['type']) => Promise<void>;
  /** Advances the clock. */
  readonly advance: (milliseconds: number) => void;
};

/** A shop's runtime. Its clock is the machine's unless a test needs another. */
export function stageCalls(): Staged {
  const finishers = new Map<string, () => void>();
  const clock = createManualClock(Date.now());
  const ledger = createMemoryLedger({ clock });
  const tools = [
    defineTool({
      name: 'get_order',
      input: z.object({ id: z.string() }),
      run: ({ id }) => ({ id, total: 4_200 }),
    }),
    defineTool({
      name: 'update_file',
      input: z.object({ path: z.string(), limit: z.number() }),
      preview: ({ path }) => ({ kind: 'diff', path, diff: refundDiff }),
      run: ({ path }) => ({ path, written: true }),
    }),
    defineTool({
      name: 'set_price',
      input: z.object({ bread: z.string(), cents: z.number(), note: z.string().optional() }),
      preview: ({ bread, cents }) => ({
        kind: 'fields',
        fields: [
          { name: bread, before: 450, after: cents },
          { name: 'changed by', after: 'agent' },
        ],
      }),
      run: ({ cents }) => ({ cents }),
    }),
    defineTool({
      name: 'send_email',
      mode: 'external',
      input: z.object({ to: z.string(), subject: z.string() }),
      run: ({ to }, { reached, log }) => {
        reached('smtp.example.com:587');
        reached('api.crm.example.com');
        log('connected', { tls: '1.3' });
        clock.advance(180);
        log('accepted by the relay');
        clock.advance(240);
        return { id: 'msg_81', to };
      },
    }),
    defineTool({
      name: 'delete_row',
      input: z.object({ table: z.string(), id: z.number() }),
      run: ({ id }) => ({ deleted: id }),
      undo: () => ({ restored: true }),
      undoWithinMs: 3_600_000,
    }),
    defineTool({
      name: 'drop_table',
      input: z.object({ table: z.string() }),
      run: ({ table }) => ({ dropped: table }),
    }),
    defineTool({
      name: 'charge_card',
      mode: 'external',
      input: z.object({ order: z.string(), cents: z.number() }),
      run: () => {
        throw new ToolError('tool.network_error', 'The payment service closed the connection.', {
          retryable: true,
        });
      },
    }),
    defineTool({
      name: 'create_report',
      mode: 'external',
      timeoutMs: 30_000,
      input: z.object({ id: z.string() }),
      run: ({ id }) => new Promise((resolve) => finishers.set(id, () => resolve({ id, pages: 3 }))),
    }),
    defineTool({
      name: 'list_rows',
      input: z.object({ table: z.string() }),
      run: () => 'row '.repeat(6_000),
    }),
  ] as const;
  const runtime = createRuntime({
    tools,
    ledger,
    clock,
    cancelGraceMs: 10,
    onPreToolUse: (use) => {
      const { toolName } = use;
      if (toolName === 'update_file' || toolName === 'set_price')
        return ToolDecision.requiresConfirmation('Changes what customers pay.', { timeoutMs: 300_000 });
      return toolName === 'get_order' && use.arguments['id'] === 'secret'
        ? ToolDecision.block('Orders of staff are not shown to agents.')
        : ToolDecision.allow;
    },
  });
  const turn = runtime.turn({ sessionId: 'shop' });
  const eventsOf = async (callId: string): Promise<readonly QuittanceEvent[]> =>
    JSON.parse(JSON.stringify(await runtime.events.list({ sessionId: 'shop', callId }))) as QuittanceEvent[];
  return {
    // The tools determine the type of a runtime; fewer tools are a supertype.
    runtime: runtime as unknown as Runtime,
    turn: turn as unknown as Turn,
    eventsOf,
    begin: (id, name, input) => turn.call({ id, name, arguments: input }),
    advance: (milliseconds) => clock.advance(milliseconds),
    finish: (id) => finishers.get(id)?.(),
    async until(callId, type) {
      for (;;) {
        if ((await eventsOf(callId)).some((event) => event.type === type)) return;
        await new Promise(setImmediate);
      }
    },
  };
}

/** One call in every state, under the name of that state, and some that show more. */
export async function everyState(): Promise<ReadonlyMap<string, readonly QuittanceEvent[]>> {
  const { runtime, turn, eventsOf, begin, until, advance } = stageCalls();
  const by = 'ada';
  const states = new Map<string, readonly QuittanceEvent[]>();
  const decideAbout = async (callId: string, decision: 'approve' | 'deny', reason: string): Promise<void> => {
    const { rows } = await runtime.confirmations.list({ status: 'pending' });
    const asked = rows.find((row) => row.callId === callId);
    if (asked === undefined) throw new Error(`Call ${callId} asks nothing.`);
    const { confirmationId, inputDigest } = asked;
    const revision = asked.preview?.revision;
    await runtime.confirmations.decide(confirmationId, {
      decision,
      by,
      reason,
      inputDigest,
      ...(revision !== undefined && { revision }),
    });
  };

  void begin('call_held', 'update_file', { path: 'billing/refunds.ts', limit: 5_000 });
  await until('call_held', 'tool.held');
  states.set('held', await eventsOf('call_held'));
  void begin('call_held_fields', 'set_price', { bread: 'rye', cents: 480 });
  await until('call_held_fields', 'tool.held');
  states.set('held with fields', await eventsOf('call_held_fields'));
  void begin('call_held_danger', 'drop_table', { table: 'orders' });
  await until('call_held_danger', 'tool.held');
  states.set('held without a preview', await eventsOf('call_held_danger'));

  void begin('call_running', 'create_report', { id: 'may' });
  await until('call_running', 'tool.started');
  states.set('running', await eventsOf('call_running'));
  states.set(
    'requested',
    (await eventsOf('call_running'))
      .slice(0, 1)
      .map((event) => ({ ...event, callId: 'call_requested', id: `${event.id}-requested` })),
  );

  await begin('call_succeeded', 'send_email', { to: 'kim@example.com', subject: 'Your refund' });
  states.set('succeeded', await eventsOf('call_succeeded'));
  await begin('call_undo', 'delete_row', { table: 'carts', id: 7 });
  states.set('succeeded, to be undone', await eventsOf('call_undo'));
  await begin('call_long', 'list_rows', { table: 'orders' });
  states.set('succeeded with an artifact', await eventsOf('call_long'));
  await begin('call_failed', 'charge_card', { order: 'A7', cents: 4_200 });
  states.set('failed', await eventsOf('call_failed'));
  await begin('call_blocked', 'get_order', { id: 'secret' });
  states.set('denied by a hook', await eventsOf('call_blocked'));

  const denied = begin('call_denied', 'drop_table', { table: 'carts' });
  await until('call_denied', 'tool.held');
  await decideAbout('call_denied', 'deny', 'Not during the sale.');
  await denied;
  states.set('denied', await eventsOf('call_denied'));

  const approved = begin('call_approved', 'drop_table', { table: 'old_carts' });
  await until('call_approved', 'tool.held');
  await decideAbout('call_approved', 'approve', 'Nobody reads it.');
  await approved;
  states.set('succeeded after an approval', await eventsOf('call_approved'));

  const lost = begin('call_indeterminate', 'create_report', { id: 'june' });
  await until('call_indeterminate', 'tool.started');
  turn.cancel('call_indeterminate', 'the customer left');
  advance(10);
  await lost;
  states.set('indeterminate', await eventsOf('call_indeterminate'));

  const slow = begin('call_timed_out', 'create_report', { id: 'july' });
  await until('call_timed_out', 'tool.started');
  advance(30_000);
  await slow;
  states.set('timed_out', await eventsOf('call_timed_out'));

  await begin('call_undone', 'delete_row', { table: 'carts', id: 8 });
  await runtime.calls.undo(
    { sessionId: 'shop', callId: 'call_undone' },
    { by, reason: 'That was the wrong cart.' },
  );
  states.set('undone', await eventsOf('call_undone'));
  return states;
}
