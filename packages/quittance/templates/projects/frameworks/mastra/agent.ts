/** The agent: an `Agent` of Mastra, with governed tools. */
import { Agent } from '@mastra/core/agent';
import { createModel } from './model.ts';
import type { Governed } from './quittance.ts';

export async function runAgent(governed: Governed, sessionId: string): Promise<string> {
  const agent = new Agent({
    id: 'clerk',
    name: 'Clerk',
    instructions: 'Refund what is due.',
    model: createModel(),
    tools: governed.tools,
    defaultOptions: { activeTools: governed.activeTools },
  });
  const prompt = 'Refund order A-1 with 900 cents and order B-2 with 9000 cents.';
  // A held call waits here until a person decides.
  const { text } = await agent.generate(prompt, { memory: { thread: sessionId, resource: 'customer' } });
  return text;
}
