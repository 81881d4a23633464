import type { Scene } from '../stage.ts';

export const firstCalls: Scene = {
  title: 'A call that matches its schema runs, and its outcome is stored before it is reported.',
  async play({ ask, openTurn }) {
    const turn = openTurn();
    await ask(turn, 'list_files', {}, { ends: 'result', happened: 'listed a real folder' });
    await ask(
      turn,
      'read_file',
      { path: 'orders.csv' },
      { ends: 'result', happened: 'read a file from disk' },
    );
    await ask(turn, 'get_order', { id: 17 }, { ends: 'result', happened: 'called a service over HTTP' });
  },
};
