/** The tools of this project, and the rules they are under. */
import { tool } from '@anthropic-ai/claude-agent-sdk';
import { retry } from 'quittance';
import { governTools } from '@quittance/claude-agent';
import { contractsFromYaml } from 'quittance/contracts';
import type { OpenLedger } from 'quittance/store';
import { z } from 'zod';

/** Stands for your payment service. */
export const refunds = new Map<string, number>();

const refund = tool(
  'refund',
  'Refunds a customer.',
  { order: z.string(), cents: z.int().positive() },
  async ({ order, cents }) => {
    refunds.set(order, cents); // call your payment service here
    return { content: [{ type: 'text', text: JSON.stringify({ refunded: cents, order }) }] };
  },
);

// File tools may only use the workspace folder. The ledger, the contracts and this file are outside it.
const contracts = await contractsFromYaml(`${import.meta.dirname}/contracts.yaml`, {
  workingDirectory: import.meta.dirname,
});

/** Puts the tools under Quittance. Every call they get goes through the rules and into the ledger. */
export const governProject = (ledger: OpenLedger) =>
  governTools([refund], {
    ledger,
    server: 'shop',
    contracts,
    behaviors: [retry()],
    treatments: { risk: 'ask' }, // a person approves tools for money, credentials or code
    // A refund has effects outside, so the runtime never repeats it on its own. contracts.yaml says which ones ask.
    overrides: { refund: { mode: 'external', risk: 'none' } },
    protectedFiles: { readOnly: [import.meta.filename] }, // no call may rewrite this file
  });

export type Governed = Awaited<ReturnType<typeof governProject>>;

/** For the console: `quittance serve --runtime quittance.ts` runs approved calls with these tools. */
export default async (ledger: OpenLedger) => (await governProject(ledger)).runtime;
