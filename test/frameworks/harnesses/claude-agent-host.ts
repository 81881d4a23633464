/**
 * A host of the Claude Agent SDK in a separate process, to be killed: `node claude-agent-host.ts JSON`. Its
 * model requests a payment, with a new id each time the session continues.
 */
import { appendFileSync } from 'node:fs';
import { tool } from '@anthropic-ai/claude-agent-sdk';
import { governTools } from '@quittance/claude-agent';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { runScripted } from './claude-agent-query.ts';
import type { ScriptedBlock } from './scripted-messages.ts';

const {
  ledger: path,
  effects,
  home,
  session,
  resumes,
} = JSON.parse(process.argv[2] ?? '') as {
  readonly ledger: string;
  readonly effects: string;
  readonly home: string;
  /** The SDK's session id, which is also the session id in Quittance. */
  readonly session: string;
  readonly resumes: boolean;
};

const ledger = await openLedger(path);
const pay = tool('pay', 'Pays.', { cents: z.number() }, async (args) => {
  appendFileSync(effects, `${JSON.stringify(args)}\n`);
  process.stdout.write('{"running":true}\n');
  return new Promise(() => setInterval(() => undefined, 1_000));
});
const governed = await governTools([pay], {
  server: 'shop',
  ledger,
  onConfirm: ({ description }) => {
    process.stdout.write(`${JSON.stringify({ asked: description })}\n`);
    return { decision: 'deny', by: 'ada' };
  },
});
const { options } = governed.run({ sessionId: session });
const told: unknown[] = [];
const result = await runScripted(
  home,
  async ({ messages }) => {
    told.splice(0, told.length, ...messages.flatMap(({ content }) => content));
    const made = `toolu_${resumes ? 'again' : 'first'}`;
    const isMade = JSON.stringify(told).includes(made);
    const next: ScriptedBlock = isMade
      ? { type: 'text', text: 'Done.' }
      : { type: 'tool_use', id: made, name: 'mcp__shop__pay', input: { cents: 500 } };
    return [next];
  },
  {
    ...options,
    allowedTools: ['mcp__shop'],
    ...(resumes ? { resume: session } : { sessionId: session }),
  },
);
process.stdout.write(`${JSON.stringify({ result: result?.subtype, told })}\n`);
await governed.runtime.close();
await ledger.close();
process.exit(0);
