/** The agent: your own loop. Whatever the model asks for goes through `turn.call`. */
import { outcomeToModelContent } from 'quittance';
import { createModel } from './model.ts';
import type { Governed } from './quittance.ts';

export async function runAgent({ runtime }: Governed, sessionId: string): Promise<string> {
  const model = createModel();
  const turn = runtime.turn({ sessionId });
  let results: string[] = [];
  for (;;) {
    const { text, calls } = await model.next(results);
    if (calls.length === 0) return text;
    results = [];
    // A held call waits here until a person decides.
    for (const call of calls) results.push(outcomeToModelContent(await turn.call(call)));
  }
}
