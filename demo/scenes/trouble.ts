import type { Scene } from '../stage.ts';

export const trouble: Scene = {
  title: 'Tools fail in different ways. Each has its own word, which says whose move it is.',
  async play({ ask, check, openTurn, world }) {
    const turn = openTurn();
    await ask(
      turn,
      'get_order',
      { id: 404 },
      { ends: 'failure tool.reported_error', happened: 'the service answered {error: …}' },
    );
    await ask(turn, 'get_rate', {}, { ends: 'failure tool.execution_error', happened: 'HTTP 500, thrown' });
    await ask(
      turn,
      'get_partner',
      {},
      { ends: 'failure tool.network_error', happened: 'the connection was refused' },
    );
    await ask(
      turn,
      'get_stock',
      {},
      { ends: 'failure tool.invalid_output', happened: 'not what the tool had promised' },
    );
    await ask(
      turn,
      'get_stock',
      {},
      { ends: 'denied blocked call.blocked', happened: 'closed for this turn, not tried again' },
    );
    check(
      'the stock should have been asked for once.',
      world.shop.seen.filter((line) => line === 'GET /stock').length === 1,
    );
  },
};
