/** Plays the model in tests and demonstrations: no key, no network. Replace it with a model of your provider. */
import type { LanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

type Call = { readonly name: string; readonly input: object };

/** Each round is a list of calls, or the final text. */
export function scriptedModel(rounds: readonly (readonly Call[] | string)[]): LanguageModel {
  let count = 0;
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return new MockLanguageModelV4({
    doGenerate: rounds.map((round) => ({
      content:
        typeof round === 'string'
          ? [{ type: 'text' as const, text: round }]
          : round.map(({ name, input }) => ({
              type: 'tool-call' as const,
              toolCallId: `call_${++count}`,
              toolName: name,
              input: JSON.stringify(input),
            })),
      finishReason: {
        unified: typeof round === 'string' ? ('stop' as const) : ('tool-calls' as const),
        raw: undefined,
      },
      usage,
      warnings: [],
    })),
  });
}
