import type { Scene } from '../stage.ts';

export const policy: Scene = {
  title: 'Your own rules are hooks. Block beats ask beats allow, in any order.',
  async play({ ask, check, openTurn, world }) {
    const turn = openTurn();
    await ask(
      turn,
      'read_file',
      { path: '../secrets.txt' },
      { ends: 'denied pre_hook policy.hook', happened: 'a hook restricts paths to the folder' },
    );
    world.ada.will('approve');
    await ask(
      turn,
      'refund',
      { order: 18, cents: 60_000 },
      {
        ends: 'result',
        happened: 'a hook asked, Ada approved, then it ran',
        records: ['requires_confirmation', 'completed'],
      },
    );
    await ask(
      turn,
      'refund',
      { order: 666, cents: 60_000 },
      { ends: 'denied pre_hook policy.hook', happened: 'one hook asks, one blocks: blocked' },
    );
    check(
      'two refunds should have reached the shop by now.',
      world.shop.seen.filter((line) => line === 'POST /refunds').length === 2,
    );
  },
};
