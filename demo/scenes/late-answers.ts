import { sessionId } from '../stage.ts';
import type { Scene } from '../stage.ts';
import { waitFor } from '../wait-for.ts';

export const lateAnswers: Scene = {
  title: 'A deadline is a deadline. What comes later is kept on the call and changes nothing.',
  async play({ check, note, openTurn, request, runtime, show }) {
    const turn = openTurn();
    const call = request('get_forecast');
    const answer = await turn.call(call);
    show(call, answer, { ends: 'timeout tool.timeout', happened: 'no answer within 100 ms' });

    const late = await waitFor(async () => {
      const [kept] = await runtime.calls.list({ sessionId, callId: call.id });
      return kept?.late[0];
    });
    check('the late answer should be kept.', late?.result.type === 'returned');
    if (late?.result.type === 'returned')
      note(
        `After ${late.elapsedMs} ms the answer came all the same, ${JSON.stringify(late.result.output)}: kept on the call, beside its outcome.`,
      );

    const again = await turn.call(call);
    show(call, again, {
      ends: 'timeout tool.timeout',
      happened: 'same id again: the outcome on record',
      records: ['completed', 'cached'],
    });
  },
};
