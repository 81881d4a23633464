import type { Scene } from '../stage.ts';

export const cancelling: Scene = {
  title: 'Cancelling is honest: what may have happened is not called undone.',
  async play({ openTurn, request, show, world: { shop } }) {
    const turn = openTurn();
    const never = request('get_order', { id: 31 });
    const gone = AbortSignal.abort();
    show(never, await turn.call(never, { signal: gone }), {
      ends: 'failure tool.cancelled',
      happened: 'cancelled before it began',
    });

    shop.answerAfter(600);
    const sent = request('refund', { order: 40, cents: 440 });
    const answer = turn.call(sent, { signal: AbortSignal.timeout(20) });
    show(sent, await answer, {
      ends: 'failure tool.indeterminate',
      happened: 'cancelled while the shop had it',
    });
    shop.answerAfter(0);
  },
};
