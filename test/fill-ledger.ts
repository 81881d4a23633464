/** A ledger file with one call of every kind, made through the public API. */
import { createRuntime, defineTool, ToolDecision, ToolError } from 'quittance';
import { openLedger } from 'quittance/ledger';

/**
 * Everything that a terminal would act on: colors, the title, the cursor, 8-bit control, and text that runs
 * backwards.
 */
export const nasty = '\u001b[31mred\u001b]0;owned\u0007\r\n\u009b2J\u202Eevil\u2066 \u{e0041}end';

const anything = { type: 'object' } as const;

const tools = [
  defineTool({
    name: 'get_order',
    mode: 'read',
    input: {
      type: 'object',
      properties: { id: { type: 'integer' } },
      required: ['id'],
      additionalProperties: false,
    },
    run: ({ id }) => ({ id, state: 'shipped' }),
  }),
  defineTool({
    name: 'refund',
    mode: 'external',
    input: {
      type: 'object',
      properties: { order: { type: 'string' }, cents: { type: 'integer' } },
      required: ['order', 'cents'],
    },
    run: ({ cents }) => ({ refunded: cents }),
  }),
  defineTool({
    name: 'charge',
    mode: 'external',
    timeoutMs: 30,
    input: anything,
    run: async () => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return { charged: true };
    },
  }),
  defineTool({
    name: 'send_mail',
    mode: 'external',
    input: anything,
    run: () => {
      throw new ToolError('tool.network_error', 'The mail server could not be reached.');
    },
  }),
  defineTool({ name: 'delete_order', mode: 'destructive', input: anything, run: () => ({ deleted: true }) }),
  defineTool({
    name: 'list_orders',
    mode: 'read',
    input: anything,
    run: () => Array.from({ length: 3_000 }, (_, id) => ({ id })),
  }),
  defineTool({ name: 'get_page', mode: 'read', input: anything, run: () => ({ title: nasty }) }),
] as const;

/** Fills a ledger. Every call except the last is in session `ticket-42`. */
export async function fillLedger(path: string): Promise<void> {
  const ledger = await openLedger(path);
  const runtime = createRuntime({
    tools,
    ledger,
    onPreToolUse: function keepOut({ arguments: args }) {
      return args['vip'] === true
        ? ToolDecision.block('VIP orders are handled by people.')
        : ToolDecision.allow;
    },
    onConfirm: () => ({ decision: 'approve', by: 'Ada', reason: 'It is a test order.' }),
  });
  const turn = runtime.turn({ sessionId: 'ticket-42', principal: { userId: 'ada' } });
  await turn.call({ id: 'call_read', name: 'get_order', arguments: '{"id":"7"}' });
  await turn.call({ id: 'call_refund', name: 'refund', arguments: { order: 'A7', cents: 500 } });
  await turn.call({ id: 'call_refund', name: 'refund', arguments: { order: 'A7', cents: 500 } });
  await turn.call({ id: 'call_denied', name: 'refund', arguments: { order: 'A8', cents: 1, vip: true } });
  await turn.call({ id: 'call_invalid', name: 'get_order', arguments: { id: 'seven' } });
  await turn.call({ id: 'call_confirmed', name: 'delete_order', arguments: { order: 'A7' } });
  await turn.call({ id: 'call_timeout', name: 'charge', arguments: {} });
  await turn.call({ id: 'call_failed', name: 'send_mail', arguments: { to: 'ada@example.com' } });
  await turn.call({ id: 'call_artifact', name: 'list_orders', arguments: {} });
  await turn.call({ id: 'call_unknown', name: 'refnd', arguments: {} });
  await turn.call({ id: `call_${nasty}`, name: 'get_page', arguments: { note: nasty } });
  // The late result of call_timeout.
  const isLate = async (): Promise<boolean> =>
    (await runtime.events.list({ sessionId: 'ticket-42', callId: 'call_timeout' })).some(
      ({ type }) => type === 'tool.late',
    );
  while (!(await isLate())) await new Promise((resolve) => setTimeout(resolve, 10));
  const other = runtime.turn({ sessionId: 'ticket-43' });
  await other.call({ id: 'call_read', name: 'get_order', arguments: { id: 8 } });
  await runtime.close();
  await ledger.close();
}
