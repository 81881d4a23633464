import { sessionId } from '../stage.ts';
import type { Scene } from '../stage.ts';
import { waitFor } from '../wait-for.ts';

export const lateAnswers: Scene = {
  title: 'A deadline is final. A later answer is recorded on the call and changes nothing.',
  async play({ check, note, openTurn, request, runtime, show }) {
    const turn = openTurn();
    const call = request('get_forecast');
    const answer = await turn.call(call);
    show(call, answer, { ends: 'timeout tool.timeout', happened: 'no answer within 100 ms' });

    const late = await waitFor(async () => {
      const [kept] = await runtime.calls.list({ sessionId, callId: call.id });
      return kept?.late[0];
    });
    check('the late answer should be recorded.', late?.result.type === 'returned');
    if (late?.result.type === 'returned')
      note(
        `After ${late.elapsedMs} ms the answer arrived, ${JSON.stringify(late.result.output)}. It is recorded on the call, in addition to its outcome.`,
      );

    const again = await turn.call(call);
    show(call, again, {
      ends: 'timeout tool.timeout',
      happened: 'same id again: the recorded outcome',
      records: ['completed', 'cached'],
    });
  },
};
