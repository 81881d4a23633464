import type { Scene } from '../stage.ts';

export const cancelling: Scene = {
  title: 'A cancelled call is never reported as undone if its effect may have happened.',
  async play({ openTurn, request, show, world: { shop } }) {
    const turn = openTurn();
    const never = request('get_order', { id: 31 });
    const gone = AbortSignal.abort();
    show(never, await turn.call(never, { signal: gone }), {
      ends: 'failure tool.cancelled',
      happened: 'cancelled before it started',
    });

    shop.answerAfter(600);
    const sent = request('refund', { order: 40, cents: 440 });
    const answer = turn.call(sent, { signal: AbortSignal.timeout(20) });
    show(sent, await answer, {
      ends: 'failure tool.indeterminate',
      happened: 'cancelled while the shop processed it',
    });
    shop.answerAfter(0);
  },
};
