import type { Scene } from '../stage.ts';

export const budgets: Scene = {
  title: 'A budget is a hard limit, also for parallel calls, and a child turn gets the remainder.',
  async play({ ask, openTurn, request, show }) {
    const turn = openTurn({ budgets: [{ scope: 'turn', toolCalls: 2 }] });
    const calls = [21, 22, 23].map((id) => request('get_order', { id }));
    const answers = await turn.callAll(calls);
    for (const [index, call] of calls.entries()) {
      const answer = answers[index];
      if (answer === undefined) continue;
      const left = index < 2;
      show(call, answer, {
        ends: left ? 'result' : 'denied budget budget.tool_calls_exhausted',
        happened: left ? 'one of three at once, two allowed' : 'the third did not start',
      });
    }
    await ask(
      turn.child(),
      'get_order',
      { id: 24 },
      { ends: 'denied budget budget.tool_calls_exhausted', happened: 'a child turn: nothing remains' },
    );
    const poor = openTurn({ budgets: [{ scope: 'turn', costMicros: 300_000 }] });
    await ask(
      poor,
      'get_sales',
      {},
      { ends: 'denied budget budget.cost_exhausted', happened: 'costs 0.40, but 0.30 remains' },
    );
  },
};
