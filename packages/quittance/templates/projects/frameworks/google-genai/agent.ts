/** The agent: a loop over the Google GenAI SDK, with governed tools. */
import type { Content } from '@google/genai';
import { createClient } from './model.ts';
import type { Governed } from './quittance.ts';

export async function runAgent(governed: Governed, sessionId: string): Promise<string> {
  const client = await createClient();
  const text = 'Refund order A-1 with 900 cents and order B-2 with 9000 cents.';
  const contents: Content[] = [{ role: 'user', parts: [{ text }] }];
  const run = governed.run({ sessionId, conversation: contents });
  try {
    for (;;) {
      const response = await client.ai.models.generateContent({
        model: 'gemini-3-pro',
        contents,
        config: { tools: run.tools },
      });
      const parts = await run.answer(response); // a held call waits here until a person decides
      if (parts.length === 0) return response.text ?? '';
      contents.push(response.candidates?.[0]?.content ?? {}, { role: 'user', parts });
    }
  } finally {
    await client.close();
  }
}
