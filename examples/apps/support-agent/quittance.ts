/** The tools of the support agent, and the rules they are under. */
import { tool } from 'ai';
import { retry } from 'quittance';
import { governTools } from '@quittance/ai-sdk';
import { contractsFromYaml } from 'quittance/contracts';
import type { OpenLedger } from 'quittance/store';
import { z } from 'zod';
import { findOrder, mails } from './shop.ts';

const tools = {
  look_up_order: tool({
    description: 'Finds an order by its id.',
    inputSchema: z.object({ order: z.string() }),
    execute: ({ order }) => ({ ...findOrder(order) }),
  }),
  refund: tool({
    description: 'Refunds a part of an order, in cents.',
    inputSchema: z.object({ order: z.string(), cents: z.int().positive(), why: z.string() }),
    execute: ({ order, cents }) => {
      const found = findOrder(order);
      if (found.refunded + cents > found.cents) throw new Error('That is more than the customer paid.');
      found.refunded += cents;
      return { order, refunded: found.refunded };
    },
  }),
  send_mail: tool({
    description: 'Writes to a customer.',
    inputSchema: z.object({ to: z.email(), text: z.string() }),
    execute: ({ to, text }) => {
      mails.push({ to, text });
      return { sent: true };
    },
  }),
};

const contracts = await contractsFromYaml(`${import.meta.dirname}/rules.yaml`);

export const governSupport = (ledger: OpenLedger) =>
  governTools(tools, {
    ledger,
    contracts,
    behaviors: [retry()],
    overrides: {
      look_up_order: { mode: 'read' },
      // One refund for one order and amount, however often the model asks.
      refund: {
        mode: 'external',
        idempotencyKey: (args) => {
          const { order, cents } = args as { order: string; cents: number }; // checked by the schema
          return JSON.stringify([order, cents]);
        },
      },
      send_mail: { mode: 'external' },
    },
    turn: { budgets: [{ scope: 'session', toolCalls: 30 }] },
    protectedFiles: { readOnly: [import.meta.filename] },
  });

export type Support = Awaited<ReturnType<typeof governSupport>>;

/** For the console: `quittance serve --runtime quittance.ts`. */
export default async (ledger: OpenLedger) => (await governSupport(ledger)).runtime;
