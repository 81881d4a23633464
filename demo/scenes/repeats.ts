import type { Scene } from '../stage.ts';

export const repeats: Scene = {
  title: 'A repeated request does not run again: ids, keys and guards tell a repeat from a new call.',
  async play({ ask, check, openTurn, request, show, world }) {
    const turn = openTurn();
    const note = { path: 'note.txt', text: 'rye is out' };
    const call = request('write_file', note);
    show(call, await turn.call(call), { ends: 'result', happened: 'wrote a file' });
    show(call, await turn.call(call), {
      ends: 'result',
      happened: 'same id: answered from the record',
      records: ['completed', 'cached'],
    });
    const other = { ...call, arguments: { ...note, text: 'rye is in' } };
    show(other, await turn.call(other), {
      ends: 'denied conflict call.conflict',
      happened: 'same id, other text: refused',
      records: ['completed', 'cached'],
    });
    await ask(turn, 'write_file', note, {
      ends: 'denied duplicate call.duplicate',
      happened: 'new id, same arguments: a duplicate',
    });

    const receipt = { order: 17, to: 'ben@example.org' };
    await ask(turn, 'send_receipt', receipt, { ends: 'result', happened: 'sent under the key receipt/17' });
    await ask(turn, 'send_receipt', receipt, {
      ends: 'result',
      happened: 'same key: the first answer, not sent',
      records: ['cached'],
    });
    await ask(
      turn,
      'send_receipt',
      { ...receipt, to: 'eve@example.org' },
      { ends: 'denied conflict call.conflict', happened: 'same key, another address: refused' },
    );
    check(
      'one receipt should have been sent.',
      world.shop.seen.filter((line) => line === 'POST /receipts').length === 1,
    );

    for (const time of ['once', 'twice', 'three times'])
      await ask(turn, 'get_date', {}, { ends: 'result', happened: `looked at the clock, ${time}` });
    await ask(turn, 'get_date', {}, { ends: 'denied duplicate call.loop', happened: 'a loop: stopped' });
  },
};
