/** A scripted model, so that the project runs without an API key. Replace it with the name of a model: `'openai/gpt-5'`. */
import type { AgentConfig } from '@mastra/core/agent';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const refund = (toolCallId: string, order: string, cents: number) =>
  ({ type: 'tool-call', toolCallId, toolName: 'refund', input: JSON.stringify({ order, cents }) }) as const;

export function createModel(): AgentConfig['model'] {
  const answers = [[refund('call_1', 'A-1', 900), refund('call_2', 'B-2', 9_000)]];
  return {
    specificationVersion: 'v2',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    doGenerate: async () => {
      const calls = answers.shift();
      return calls === undefined
        ? {
            content: [{ type: 'text' as const, text: 'I am done with the refunds.' }],
            finishReason: 'stop' as const,
            usage,
            warnings: [],
          }
        : { content: calls, finishReason: 'tool-calls' as const, usage, warnings: [] };
    },
    doStream: () => {
      throw new Error('This model does not stream.');
    },
  };
}
