/** A scripted model, so that the project runs without an API key. Replace it with the name of a model: `'gpt-5'`. */
import type { Model, protocol } from '@openai/agents';
import { Usage } from '@openai/agents';

const refund = (callId: string, order: string, cents: number): protocol.FunctionCallItem => ({
  type: 'function_call',
  callId,
  name: 'refund',
  arguments: JSON.stringify({ order, cents }),
  status: 'completed',
});

export function createModel(): Model {
  const answers: protocol.OutputModelItem[][] = [
    [refund('call_1', 'A-1', 900), refund('call_2', 'B-2', 9_000)],
    [
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'I am done with the refunds.' }],
      },
    ],
  ];
  return {
    getResponse: async () => ({ output: answers.shift() ?? [], usage: new Usage() }),
    getStreamedResponse: () => {
      throw new Error('This model does not stream.');
    },
  };
}
