/** A client with scripted answers, so that the project runs without an API key. Replace it with `new OpenAI()`. */
import OpenAI from 'openai';

const refund = (callId: string, order: string, cents: number) => ({
  type: 'function_call',
  call_id: callId,
  name: 'refund',
  arguments: JSON.stringify({ order, cents }),
});

export function createClient(): OpenAI {
  const text = { type: 'output_text', text: 'I am done with the refunds.', annotations: [] };
  const answers = [
    [refund('call_1', 'A-1', 900), refund('call_2', 'B-2', 9_000)],
    [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [text] }],
  ];
  return new OpenAI({
    apiKey: 'none',
    fetch: async () =>
      Response.json({ id: 'resp', object: 'response', status: 'completed', output: answers.shift() }),
  });
}
