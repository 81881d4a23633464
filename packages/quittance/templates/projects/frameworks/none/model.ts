/** A scripted model, so that the project runs without an API key. Replace it with calls to your model. */
import type { ToolCall } from 'quittance/wire';

export type Answer = { readonly text: string; readonly calls: readonly ToolCall[] };

export function createModel(): { next(results: readonly string[]): Promise<Answer> } {
  const answers: Answer[] = [
    {
      text: '',
      calls: [
        { id: 'call_1', name: 'refund', arguments: { order: 'A-1', cents: 900 } },
        { id: 'call_2', name: 'refund', arguments: { order: 'B-2', cents: 9_000 } },
      ],
    },
  ];
  return { next: async () => answers.shift() ?? { text: 'I am done with the refunds.', calls: [] } };
}
