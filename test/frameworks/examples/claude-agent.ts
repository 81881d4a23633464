/** A query of the Claude Agent SDK whose tools are under Quittance, and one that stops for a person. No key, no network. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Options, SDKResultMessage } from '@anthropic-ai/claude-agent-sdk';
import { query, tool } from '@anthropic-ai/claude-agent-sdk';
import { ToolDecision } from 'quittance';
import { governTools, openPrompt } from '@quittance/claude-agent';
import { z } from 'zod';
import type { ScriptedBlock } from '../harnesses/scripted-messages.ts';
import { serveMessages } from '../harnesses/scripted-messages.ts';

const refunded: number[] = [];
const refund = tool(
  'refund',
  'Pays money back.',
  { order: z.string(), cents: z.number() },
  async ({ order, cents }) => ({
    content: [{ type: 'text', text: JSON.stringify({ order, refunds: refunded.push(cents) }) }],
  }),
);

const governed = await governTools([refund], {
  server: 'shop',
  approver: 'grace',
  onPreToolUse: ({ arguments: { cents } }) =>
    Number(cents) > 2_000 ? ToolDecision.requiresConfirmation('More than 20 euros?') : ToolDecision.allow,
});

// The model asks for two refunds at once, the first with its number in quotes, and then ends.
const refundOf = (id: string, input: object): ScriptedBlock => ({
  type: 'tool_use',
  id,
  name: 'mcp__shop__refund',
  input,
});
const rounds: ScriptedBlock[][] = [
  [refundOf('toolu_1', { order: 'A7', cents: '500' }), refundOf('toolu_2', { order: 'B1', cents: 9_000 })],
  [{ type: 'text', text: 'Both were refunded.' }],
];
const model = await serveMessages(async () => rounds.shift() ?? []);
const home = mkdtempSync(join(tmpdir(), 'claude-agent-example-'));

const sessionId = crypto.randomUUID();

/** One query. Its session is the session of the ledger, too. */
async function ask(text: string, options: Options, run = governed.run({ sessionId })) {
  const prompt = openPrompt(text); // a text is enough for a query that is never resumed
  let result: SDKResultMessage | undefined;
  for await (const message of query({
    prompt,
    options: {
      ...run.options,
      allowedTools: ['mcp__shop'],
      tools: [],
      // From here on the program talks to the script, and ignores your own settings.
      settingSources: [],
      cwd: home,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        TMPDIR: home,
        CLAUDE_CODE_TMPDIR: home,
        CLAUDE_CONFIG_DIR: home,
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
      ...options,
    },
  })) {
    prompt.hear(message);
    if (message.type === 'result') result = message;
  }
  assert(result?.subtype === 'success');
  return result;
}

const stopped = await ask('Refund both orders.', { sessionId });
assert.deepEqual(refunded, [500]); // a number; the other one waits for a person
assert.equal(stopped.deferred_tool_use?.id, 'toolu_2');

// Later, in any process: record the person's answer and continue.
const run = governed.run({ sessionId });
await run.takeApprovals([{ toolUseId: stopped.deferred_tool_use.id, approved: true }]);
const { result } = await ask('Go on.', { resume: sessionId }, run);

assert.equal(result, 'Both were refunded.');
assert.deepEqual(refunded, [500, 9_000]);
for (const { callId, outcome } of await governed.runtime.calls.audit({ sessionId }))
  console.log(callId, outcome.kind);

await model.close();
rmSync(home, { recursive: true, force: true, maxRetries: 5 });
