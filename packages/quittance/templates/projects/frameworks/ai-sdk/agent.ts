/** The agent: `generateText` of the AI SDK, with governed tools. */
import { generateText, stepCountIs } from 'ai';
import { createModel } from './model.ts';
import type { Governed } from './quittance.ts';

export async function runAgent(governed: Governed, sessionId: string): Promise<string> {
  const { text } = await generateText({
    model: createModel(),
    prompt: 'Refund order A-1 with 900 cents and order B-2 with 9000 cents.',
    tools: governed.run({ sessionId }).tools, // a held call waits here until a person decides
    stopWhen: stepCountIs(10),
  });
  return text;
}
