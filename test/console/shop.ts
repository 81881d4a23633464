/** A small shop with calls of every outcome: tools, rules, and a day's work for the pages to show. */
import { createRuntime, defineTool, retry, ToolError } from 'quittance';
import type { AnyTool, JsonObject, Runtime, Turn } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { contractsFromYamlString } from 'quittance/contracts';
import { z } from 'zod';

/** Runs, breaks or deceives if a page treats text as anything but text. */
export const hostile = '<img src=x onerror="window.pwned=1">"\'&\u202Eevil\u0000';

export const shopRules = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: shop, description: What agents of the shop may do. }
defaults: { mode: enforce }
rules:
  - id: no-large-refunds
    type: pre
    tool: refund
    when: { args.cents: { gt: 50000 } }
    then: { action: block, message: 'A refund of {args.cents} cents is for the office.', tags: [money] }
  - id: ask-about-refunds
    type: pre
    tool: refund
    when: { args.cents: { gt: 4000 } }
    then: { action: ask, message: 'Refund {args.cents} cents for order {args.order}?', tags: [money] }
  - id: watch-urgent-mail
    type: pre
    tool: send_mail
    mode: observe
    when: { args.subject: { contains: urgent } }
    then: { action: ask, message: Somebody should look at urgent mail first. }
`;

const createShopTools = (): readonly AnyTool[] => {
  const tries = new Map<string, number>();
  const asked = new Map<string, number>();
  return [
    defineTool({
      name: 'look_up_order',
      description: 'One order with its articles.',
      mode: 'read',
      input: z.object({ order: z.string() }),
      run: ({ order }) => ({ order, articles: ['rye bread', 'salt'], cents: 600 }),
    }),
    defineTool({
      name: 'search_orders',
      description: 'All orders of a customer.',
      mode: 'read',
      input: z.object({ customer: z.string() }),
      run: ({ customer }) => Array.from({ length: 400 }, (_, id) => ({ id, customer, state: 'delivered' })),
    }),
    defineTool({
      name: 'get_exchange_rate',
      description: 'From a bank that answers when it is asked often enough.',
      mode: 'read',
      costMicros: 1_500,
      input: z.object({ currency: z.string() }),
      run: ({ currency }) => {
        const count = (tries.get(currency) ?? 0) + 1;
        tries.set(currency, count);
        if (count < 3) throw new ToolError('tool.network_error', 'The bank did not answer.');
        return { currency, rate: 1.08 };
      },
    }),
    defineTool({
      name: 'export_report',
      description: 'Takes longer than it may.',
      mode: 'read',
      timeoutMs: 30,
      input: z.object({ month: z.string() }),
      run: async ({ month }) => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        return { month, turnover: 4_200 };
      },
    }),
    defineTool({
      name: 'update_address',
      description: 'Shows the change first.',
      mode: 'safe_write',
      input: z.object({ customer: z.string(), address: z.string() }),
      preview: ({ customer, address }) => ({
        kind: 'fields',
        fields: [{ name: `address of ${customer}`, before: '1 Old Mill Lane', after: address }],
      }),
      run: ({ address }) => ({ address }),
    }),
    defineTool({
      name: 'refund',
      description: 'Gives a customer money back.',
      mode: 'external',
      costMicros: 20_000,
      input: z.object({ order: z.string(), cents: z.number().int().min(1), token: z.string().optional() }),
      run: ({ cents }, context) => {
        context.reached('https://pay.example.com/v1/refunds');
        context.log('The bank took it', { key: context.idempotencyKey });
        return { refunded: cents };
      },
    }),
    defineTool({
      name: 'send_mail',
      description: 'The mail server is never there.',
      mode: 'external',
      input: z.object({ to: z.string(), subject: z.string() }),
      run: () => {
        throw new ToolError('tool.execution_error', 'The mail server refused the sender.', {
          retryable: false,
        });
      },
    }),
    defineTool({
      name: 'pay_supplier',
      description: 'The bank hangs up before it says whether it paid.',
      mode: 'external',
      input: z.object({ supplier: z.string(), cents: z.number() }),
      run: () => {
        throw new ToolError('tool.indeterminate', 'The bank hung up after it had the order.');
      },
    }),
    defineTool({
      name: 'book_courier',
      description: 'Hangs up, and can be asked later whether a courier comes.',
      mode: 'external',
      input: z.object({ order: z.string() }),
      run: () => {
        throw new ToolError('tool.indeterminate', 'The courier hung up.');
      },
      reconcile: ({ args: { order } }) => {
        const times = (asked.get(order) ?? 0) + 1;
        asked.set(order, times);
        return times < 3 ? { status: 'unknown' } : { status: 'succeeded', output: { comesAt: '10:30' } };
      },
    }),
    defineTool({
      name: 'archive_ticket',
      description: 'Can be undone.',
      mode: 'destructive',
      input: z.object({ ticket: z.string() }),
      run: ({ ticket }) => ({ archived: ticket }),
      undo: ({ ticket }) => ({ restored: ticket }),
    }),
    defineTool({
      name: 'delete_customer',
      description: 'Deletes a customer for good.',
      mode: 'destructive',
      input: z.object({ customer: z.string(), note: z.string().optional() }),
      run: ({ customer }) => ({ deleted: customer }),
    }),
    defineTool({
      name: 'print_label',
      description: 'Run by a program in the warehouse.',
      mode: 'external',
      handoff: true,
      input: z.object({ order: z.string() }),
    }),
    defineTool({
      name: 'say',
      description: 'Says what it is told.',
      mode: 'read',
      input: z.object({}).loose(),
      run: (args) => ({ said: args as JsonObject }),
    }),
  ];
};

export type Shop = {
  readonly runtime: Runtime;
  readonly tools: readonly AnyTool[];
  readonly contracts: ReturnType<typeof contractsFromYamlString>;
};

export function openShop(ledger: OpenLedger): Shop {
  const tools = createShopTools();
  const contracts = contractsFromYamlString(shopRules);
  const runtime: Runtime = createRuntime({
    tools,
    ledger,
    contracts,
    behaviors: [retry({ attempts: 3, initialMs: 1 })],
    budgets: [{ scope: 'shop', per: 'day', costMicros: 50_000_000, toolCalls: 100_000 }],
  });
  return { runtime, tools, contracts };
}

/** Makes a call without waiting for a person, and returns its confirmation. */
export async function holdCall(
  runtime: Runtime,
  turn: Turn,
  id: string,
  name: string,
  args: JsonObject,
): Promise<{ readonly confirmationId: string; readonly inputDigest: string }> {
  const submitted = turn.submit({ id, name, arguments: args });
  submitted.outcome().catch(() => undefined);
  await submitted.accepted;
  for (;;) {
    const { rows } = await runtime.confirmations.list({ sessionId: turn.sessionId, status: 'pending' });
    const held = rows.find(({ callId }) => callId === id);
    if (held !== undefined) return held;
    await new Promise(setImmediate);
  }
}

/** A day's work. Everything is in the session `ticket-42` unless stated. */
export async function fillShop({ runtime }: Shop): Promise<void> {
  const turn = runtime.turn({
    sessionId: 'ticket-42',
    principal: { userId: 'ines', role: 'support' },
    provenance: { provider: 'demo', model: 'scripted' },
  });
  const ask = (id: string, name: string, args: JsonObject): Promise<unknown> =>
    turn.call({ id, name, arguments: args });
  const decide = async (
    id: string,
    name: string,
    args: JsonObject,
    how: JsonObject & { decision: string },
  ): Promise<void> => {
    const { confirmationId, inputDigest } = await holdCall(runtime, turn, id, name, args);
    // Each decision has its own fields; together they are what HTTP accepts.
    await runtime.confirmations.decide(confirmationId, { by: 'Ada', inputDigest, ...how } as never);
    await ask(id, name, args);
  };
  await ask('call_read', 'look_up_order', { order: 'A-1001' });
  await ask('call_coerced', 'refund', { order: 'A-1001', cents: '1200', token: 'sk-very-secret' });
  await ask('call_coerced', 'refund', { order: 'A-1001', cents: '1200', token: 'sk-very-secret' });
  await ask('call_blocked', 'refund', { order: 'A-1002', cents: 90_000 });
  await ask('call_invalid', 'look_up_order', { id: 'A-1001' });
  await ask('call_unknown', 'refnd', { order: 'A-1001', cents: 100 });
  await ask('call_artifact', 'search_orders', { customer: 'Mei Tanaka' });
  await ask('call_retried', 'get_exchange_rate', { currency: 'EUR' });
  await ask('call_late', 'export_report', { month: '2026-08' });
  await ask('call_preview', 'update_address', { customer: 'Mei Tanaka', address: '7 Harbour Row' });
  await ask('call_undoable', 'archive_ticket', { ticket: 'T-7' });
  await ask('call_failed', 'send_mail', { to: 'ada@example.com', subject: 'urgent: your order' });
  await ask('call_unsure', 'pay_supplier', { supplier: 'mill', cents: 18_000 });
  await decide('call_approved', 'delete_customer', { customer: 'Lena Vogt' }, { decision: 'approve' });
  await decide(
    'call_edited',
    'delete_customer',
    { customer: 'Samuel Okoro', note: 'all of it' },
    { decision: 'edit', arguments: { customer: 'Samuel Okoro', note: 'keep the invoices' } },
  );
  await decide(
    'call_refused',
    'refund',
    { order: 'A-1003', cents: 7_500 },
    { decision: 'deny', reason: 'Not twice.' },
  );
  await holdCall(runtime, turn, 'call_held', 'refund', { order: 'A-1004', cents: 12_000 });
  await holdCall(runtime, turn, 'call_held_too', 'delete_customer', { customer: 'Priya Nair' });
  const other = runtime.turn({ sessionId: `odd/${hostile}`, principal: { userId: hostile } });
  await other.call({ id: `call ${hostile}`, name: 'say', arguments: { [hostile]: hostile } });
  await other.call({ id: 'call_odd', name: hostile, arguments: {} });
}
