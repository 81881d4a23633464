/** The agent: a loop over the Anthropic SDK, with governed tools. */
import type Anthropic from '@anthropic-ai/sdk';
import { createClient } from './model.ts';
import type { Governed } from './quittance.ts';

export async function runAgent(governed: Governed, sessionId: string): Promise<string> {
  const client = createClient();
  const messages: Anthropic.MessageParam[] = [
    { role: 'user', content: 'Refund order A-1 with 900 cents and order B-2 with 9000 cents.' },
  ];
  const run = governed.run({ sessionId });
  for (;;) {
    const message = await client.messages.create({
      model: 'claude-sonnet-4-5',
      max_tokens: 1_000,
      tools: run.tools,
      messages,
    });
    // A held call waits here until a person decides.
    const results = await run.answer(message, { conversation: messages });
    messages.push({ role: 'assistant', content: message.content });
    if (results.length === 0)
      return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    messages.push({ role: 'user', content: results });
  }
}
