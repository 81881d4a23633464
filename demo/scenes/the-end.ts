import type { Scene } from '../stage.ts';

export const theEnd: Scene = {
  title: 'A turn ends when its time is over, or when a tool says that the work is done.',
  async play({ ask, openTurn }) {
    const over = openTurn({ deadlineMs: Date.now() - 1 });
    await ask(
      over,
      'list_files',
      {},
      { ends: 'denied deadline turn.deadline', happened: 'the time of the turn was over' },
    );
    const turn = openTurn();
    await ask(turn, 'close_books', {}, { ends: 'result', happened: 'a terminal result ends the turn' });
    await ask(
      turn,
      'list_files',
      {},
      { ends: 'denied ended turn.ended', happened: 'too late: the turn is over' },
    );
  },
};
