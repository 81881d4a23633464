/** A scripted model, so that the project runs without an API key. Replace it with the name of a model. */
import type { BaseLlmConnection, LlmResponse } from '@google/adk';
import { BaseLlm } from '@google/adk';
import type { Part } from '@google/genai';

const refund = (order: string, cents: number): Part => ({
  functionCall: { name: 'refund', args: { order, cents } },
});

class ScriptedModel extends BaseLlm {
  readonly answers: Part[][] = [
    [refund('A-1', 900), refund('B-2', 9_000)],
    [{ text: 'I am done with the refunds.' }],
  ];

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    yield { content: { role: 'model', parts: this.answers.shift() ?? [] } };
  }

  override connect(): Promise<BaseLlmConnection> {
    throw new Error('This model has no live connection.');
  }
}

export const createModel = (): BaseLlm => new ScriptedModel({ model: 'scripted' });
