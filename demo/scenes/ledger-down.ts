import type { OpenLedger } from 'quittance/store';
import { createRuntime } from 'quittance';
import type { Scene } from '../stage.ts';
import { sessionId } from '../stage.ts';
import { createTools } from '../tools.ts';

export const ledgerDown: Scene = {
  title:
    'No record, no run: if the ledger cannot store a call, nothing runs, and the answer gives this reason.',
  async play({ check, request, show, world }) {
    const full: OpenLedger = {
      ...world.ledger,
      append: () => {
        throw new Error('no space left on device');
      },
    };
    const before = world.shop.seen.length;
    const turn = createRuntime({ tools: createTools(world), ledger: full }).turn({ sessionId });
    const call = request('refund', { order: 50, cents: 450 });
    show(call, await turn.call(call), {
      ends: 'failure ledger.unavailable',
      happened: 'the disk is full, so nothing ran',
      records: [],
    });
    check('the shop should not have been reached.', world.shop.seen.length === before);
  },
};
