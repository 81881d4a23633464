import type { Scene } from '../stage.ts';

export const trouble: Scene = {
  title: 'Tools fail in different ways. Each has its own code, which says who can act.',
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
      { ends: 'failure tool.invalid_output', happened: 'the output does not match its schema' },
    );
    await ask(
      turn,
      'get_old_prices',
      {},
      { ends: 'failure tool.execution_error', happened: 'the service was shut down for good' },
    );
    await ask(
      turn,
      'get_old_prices',
      {},
      { ends: 'denied blocked call.blocked', happened: 'blocked for this turn, not retried' },
    );
    check(
      'the stock should have been requested once.',
      world.shop.seen.filter((line) => line === 'GET /stock').length === 1,
    );
  },
};
