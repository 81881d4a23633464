/** A client with scripted answers, so that the project runs without an API key. Replace it with `new Anthropic()`. */
import Anthropic from '@anthropic-ai/sdk';

const refund = (id: string, order: string, cents: number) => ({
  type: 'tool_use',
  id,
  name: 'refund',
  input: { order, cents },
});

export function createClient(): Anthropic {
  const answers = [
    { stop_reason: 'tool_use', content: [refund('toolu_1', 'A-1', 900), refund('toolu_2', 'B-2', 9_000)] },
    { stop_reason: 'end_turn', content: [{ type: 'text', text: 'I am done with the refunds.' }] },
  ];
  return new Anthropic({
    apiKey: 'none',
    fetch: async () => Response.json({ id: 'msg', type: 'message', role: 'assistant', ...answers.shift() }),
  });
}
