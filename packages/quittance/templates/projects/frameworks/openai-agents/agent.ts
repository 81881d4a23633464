/** The agent: an `Agent` of OpenAI Agents JS, with governed tools. */
import { Agent, Runner, setTracingDisabled } from '@openai/agents';
import { createModel } from './model.ts';
import type { Governed } from './quittance.ts';

setTracingDisabled(true); // traces are sent to OpenAI and need an API key

export async function runAgent(governed: Governed, sessionId: string): Promise<string> {
  const agent = new Agent({ name: 'shop', model: createModel(), tools: governed.tools });
  const runner = new Runner({ toolNotFoundBehavior: 'return_error_to_model' });
  const prompt = 'Refund order A-1 with 900 cents and order B-2 with 9000 cents.';
  // A held call waits here until a person decides.
  const { finalOutput } = await runner.run(agent, prompt, { context: { sessionId } });
  return finalOutput ?? '';
}
