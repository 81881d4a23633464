/** The agent: a `query` of the Claude Agent SDK, with governed tools. */
import { query } from '@anthropic-ai/claude-agent-sdk';
import { openPrompt } from '@quittance/claude-agent';
import { openModel } from './model.ts';
import type { Governed } from './quittance.ts';

export async function runAgent(governed: Governed, sessionId: string): Promise<string> {
  const model = await openModel();
  const run = governed.run({ sessionId });
  const prompt = openPrompt('Refund order A-1 with 900 cents and order B-2 with 9000 cents.');
  const options = {
    ...run.options,
    sessionId,
    allowedTools: ['mcp__shop'],
    tools: [], // no built-in tools
    ...model.options,
  };
  let said = '';
  try {
    // A held call waits here until a person decides.
    for await (const message of query({ prompt, options })) {
      prompt.hear(message);
      if (message.type === 'result' && message.subtype === 'success') said = message.result;
    }
  } finally {
    await model.close();
  }
  return said;
}
