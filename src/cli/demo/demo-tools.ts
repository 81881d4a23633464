/** The tools of a small shop. The tools are fictional; their calls are real. */
import { ToolError } from '../../call/tool-error.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { defineTool } from '../../tool/define-tool.ts';
import type { JsonObject } from '../../base/json.ts';

const text = { type: 'string' } as const;
const object = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

/** `chance` returns a number from 0 to 1; `pause` waits. The caller passes both, so that tests can control them. */
export function createDemoTools(
  chance: () => number,
  pause: (ms: number) => Promise<void>,
): readonly AnyTool[] {
  const addresses = new Map<string, string>();
  let payments = 0;
  const work = (ms: number): Promise<void> => pause(ms * (0.5 + chance()));
  const order = (id: string): JsonObject => ({
    order: id,
    items: [
      { article: 'rye bread', quantity: 1 + Math.floor(chance() * 3), cents: 480 },
      { article: 'salt', quantity: 1, cents: 120 },
    ],
    status: chance() < 0.7 ? 'delivered' : 'shipped',
    account: 'DE44 5001 0517 5407 3249 31',
  });
  return [
    defineTool({
      name: 'look_up_order',
      description: 'One order with its articles.',
      mode: 'read',
      input: object({ order: text }),
      run: async (args) => {
        await work(40);
        return order((args as { order: string }).order);
      },
    }),
    defineTool({
      name: 'search_orders',
      description: 'All orders of a customer.',
      mode: 'read',
      input: object({ customer: text }),
      run: async (args) => {
        await work(120);
        const { customer } = args as { customer: string };
        return { customer, orders: Array.from({ length: 160 }, (_, n) => order(`A-${1000 + n}`)) };
      },
    }),
    defineTool({
      name: 'get_exchange_rate',
      description: 'The rate of a currency, from a bank that sometimes fails to answer.',
      mode: 'read',
      costMicros: 1_500,
      input: object({ currency: text }),
      run: async (args) => {
        await work(60);
        if (chance() < 0.45) throw new ToolError('tool.network_error', 'The bank did not answer.');
        return { currency: (args as { currency: string }).currency, rate: 1 + chance() / 5 };
      },
    }),
    defineTool({
      name: 'export_report',
      description: 'A report for the office.',
      mode: 'read',
      timeoutMs: 400,
      input: object({ month: text }),
      run: async (args, { signal, progress }) => {
        progress({ fraction: 0.5 });
        await Promise.race([
          work(chance() < 0.3 ? 2_000 : 150),
          new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
        ]);
        return { month: (args as { month: string }).month, turnover: Math.round(chance() * 9_000_000) };
      },
    }),
    defineTool({
      name: 'update_address',
      description: 'Changes the address of a customer. Shows the change first.',
      mode: 'safe_write',
      input: object({ customer: text, address: text }),
      preview: (args) => {
        const { customer, address } = args as { customer: string; address: string };
        const was = addresses.get(customer) ?? '1 Old Mill Lane';
        return {
          kind: 'diff',
          path: `customers/${customer}/address`,
          diff: `-${was}\n+${address}`,
          snapshot: { was, address },
        };
      },
      run: async (args) => {
        const { customer, address } = args as { customer: string; address: string };
        await work(50);
        addresses.set(customer, address);
        return { customer, address };
      },
    }),
    defineTool({
      name: 'refund',
      description: 'Refunds a customer. Can be cancelled for ten minutes.',
      mode: 'external',
      idempotencyKey: (args) => `refund-${(args as { order: string }).order}`,
      costMicros: 20_000,
      input: object({ order: text, cents: { type: 'integer', minimum: 1 } }),
      run: async (args, context) => {
        context.reached('https://pay.example.com/v1/refunds');
        await work(180);
        context.log('The bank accepted the refund', { key: context.idempotencyKey });
        return { ...(args as JsonObject), refund: `re_${Math.floor(chance() * 1e9).toString(36)}` };
      },
      undo: (args) => ({ cancelled: (args as { order: string }).order }),
      undoWithinMs: 600_000,
    }),
    defineTool({
      name: 'send_mail',
      description: 'Sends a mail.',
      mode: 'external',
      input: object({ to: text, subject: text, body: text }),
      run: async (args, context) => {
        context.reached('smtp://mail.example.com');
        await work(90);
        return { sent: true, to: (args as { to: string }).to };
      },
    }),
    defineTool({
      name: 'pay_supplier',
      description: 'Pays a bill. The bank sometimes disconnects before it confirms.',
      mode: 'external',
      costMicros: 50_000,
      input: object({ supplier: text, cents: { type: 'integer', minimum: 1 } }),
      run: async (args, context) => {
        context.reached('https://bank.example.com/transfers');
        await work(250);
        // The first payment always disconnects, so that the demo has a call to reconcile.
        if (payments++ === 0 || chance() < 0.35)
          throw new ToolError('tool.indeterminate', 'The bank disconnected after it received the order.');
        return { paid: true, ...(args as JsonObject) };
      },
    }),
    defineTool({
      name: 'archive_ticket',
      description: 'Archives a ticket. Can be undone for an hour.',
      mode: 'destructive',
      input: object({ ticket: text }),
      run: async (args) => {
        await work(30);
        return { archived: (args as { ticket: string }).ticket };
      },
      undo: (args) => ({ restored: (args as { ticket: string }).ticket }),
      undoWithinMs: 3_600_000,
    }),
    defineTool({
      name: 'delete_customer',
      description: 'Deletes a customer permanently.',
      mode: 'destructive',
      input: object({ customer: text }),
      run: async (args) => {
        await work(60);
        return { deleted: (args as { customer: string }).customer };
      },
    }),
  ];
}
