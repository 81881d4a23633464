import { createRuntime, isQuittanceError } from 'quittance';
import type { Scene } from '../stage.ts';
import { sessionId } from '../stage.ts';
import { createTools } from '../tools.ts';
import { waitFor } from '../wait-for.ts';

export const people: Scene = {
  title: 'An effect that cannot be undone needs approval. A confirmation outlives its turn.',
  async play({ ask, check, openTurn, request, show, runtime, world }) {
    const { ada } = world;
    const turn = openTurn();
    ada.will('deny', 'we need it for the taxes');
    await ask(
      turn,
      'delete_file',
      { path: 'orders.csv' },
      {
        ends: 'denied write_denied confirmation.rejected',
        happened: 'Ada was asked and denied it',
        records: ['requires_confirmation', 'blocked'],
      },
    );
    check('orders.csv should still exist.', world.has('orders.csv'));

    ada.leave();
    const call = request('delete_file', { path: 'old.csv' });
    try {
      await openTurn({ timeoutMs: 60 }).call(call);
      check('a call that awaits approval should be pending at the deadline.', false);
    } catch (error) {
      if (!isQuittanceError(error, 'call.pending')) throw error;
      show(
        call,
        { type: 'pending', callId: call.id, confirmationId: error.facts.confirmationId ?? '' },
        {
          ends: 'pending',
          happened: 'Ada is out: the call waits for her',
          records: ['requires_confirmation'],
        },
      );
    }
    const rejoined = openTurn().call(call);
    ada.will('approve');
    show(call, await rejoined, {
      ends: 'result',
      happened: 'same id, next turn: Ada approves',
      records: ['requires_confirmation', 'completed'],
    });
    check('old.csv should be gone.', !world.has('old.csv'));

    ada.leave();
    const dropped = openTurn();
    const held = request('delete_file', { path: 'note.txt' });
    const submitted = dropped.submit(held);
    await waitFor(async () => (await runtime.calls.list({ sessionId, callId: held.id }))[0]?.confirmation);
    await dropped.end({ withdraw: true });
    show(held, await submitted.outcome(), {
      ends: 'denied ended turn.ended',
      happened: 'the confirmation was withdrawn',
      records: ['requires_confirmation', 'invalidated'],
    });
    ada.will('approve');

    // Another runtime on the same ledger, without an approver: the call waits until a person decides, in any process.
    const bare = createRuntime({ tools: createTools(world), ledger: world.ledger });
    const unattended = request('delete_file', { path: 'note.txt' });
    const waiting = bare.turn({ sessionId }).submit(unattended);
    const question = await waitFor(
      async () => (await runtime.confirmations.list({ sessionId, status: 'pending' })).rows[0],
    );
    const no = { decision: 'deny', by: 'Ada', reason: 'I may want it' } as const;
    await runtime.confirmations.decide(question?.confirmationId ?? '', no);
    show(unattended, await waiting.outcome(), {
      ends: 'denied write_denied confirmation.rejected',
      happened: 'held without onConfirm, decided by another runtime',
      records: ['requires_confirmation', 'blocked'],
    });
    check('note.txt should still exist.', world.has('note.txt'));
  },
};
