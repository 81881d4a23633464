/** The agent: a loop over the Responses API of the OpenAI SDK, with governed tools. */
import type OpenAI from 'openai';
import { createClient } from './model.ts';
import type { Governed } from './quittance.ts';

export async function runAgent(governed: Governed, sessionId: string): Promise<string> {
  const client = createClient();
  const run = governed.run({ sessionId });
  let input: OpenAI.Responses.ResponseInput = [
    { role: 'user', content: 'Refund order A-1 with 900 cents and order B-2 with 9000 cents.' },
  ];
  let previous: string | null = null;
  for (;;) {
    const response: OpenAI.Responses.Response = await client.responses.create({
      model: 'gpt-5',
      tools: run.responseTools,
      previous_response_id: previous,
      input,
    });
    input = await run.answerResponse(response); // a held call waits here until a person decides
    previous = response.id;
    if (input.length === 0) return response.output_text;
  }
}
