/** A scripted model, so that the project runs without an API key. Replace it, for example with `openai('gpt-5')`. */
import type { LanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const refund = (toolCallId: string, order: string, cents: number) =>
  ({ type: 'tool-call', toolCallId, toolName: 'refund', input: JSON.stringify({ order, cents }) }) as const;

export const createModel = (): LanguageModel =>
  new MockLanguageModelV4({
    doGenerate: [
      {
        content: [refund('call_1', 'A-1', 900), refund('call_2', 'B-2', 9_000)],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      },
      {
        content: [{ type: 'text', text: 'I am done with the refunds.' }],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      },
    ],
  });
