import type { ConfirmationAnswer } from 'quittance/runtime';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import {
  auditKinds,
  deferred,
  envelope,
  eventTypes,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';

const yes: ConfirmationAnswer = { decision: 'approve', by: 'ada' };

function held() {
  const answer = deferred<ConfirmationAnswer>();
  const body = deferred<string>();
  let runs = 0;
  const stage = setStage({
    tools: [
      defineTool({
        name: 'delete_it',
        timeoutMs: 1_000,
        run: () => {
          runs++;
          return body.promise;
        },
      }),
      defineTool({ name: 'get_it', run: () => 'got' }),
    ],
    onConfirm: () => answer.promise,
  });
  return { ...stage, answer, body, runs: () => runs };
}

const pendingOf = async (asked: Promise<unknown>): Promise<unknown> => {
  const thrown = await asked.catch((error: unknown) => error);
  return isQuittanceError(thrown, 'call.pending') ? thrown.facts : thrown;
};

describe('a call that is held at the deadline of its turn', () => {
  it('throws call.pending, which is not an outcome; the hold stays and the same id rejoins', async () => {
    const { answer, body, clock, runtime } = held();
    const asked = runtime.turn({ sessionId: 's', timeoutMs: 50 }).call(envelope('c', 'delete_it'));
    await quiet();
    clock.advance(50);
    expect(await pendingOf(asked)).toEqual({
      callId: 'c',
      confirmationId: expect.stringMatching(/^cnf_/) as string,
      waitsFor: expect.any(String) as string,
    });
    expect(await eventTypes(runtime, 'c')).toEqual(['tool.requested', 'tool.decided', 'tool.held']);

    const again = runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'));
    await quiet();
    answer.resolve(yes);
    body.resolve('gone');
    expect(await again).toMatchObject({ output: 'gone' });
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'completed']);
    await expectSettledOnce(runtime);
  });

  it('is pending again for every caller whose own deadline has passed', async () => {
    const { answer, body, clock, runtime } = held();
    for (const timeoutMs of [50, 70, 90]) {
      const asked = runtime.turn({ sessionId: 's', timeoutMs }).call(envelope('c', 'delete_it'));
      await quiet();
      clock.advance(timeoutMs);
      expect(await pendingOf(asked)).toMatchObject({ callId: 'c' });
    }
    answer.resolve(yes);
    body.resolve('gone');
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'))).toMatchObject({
      output: 'gone',
    });
  });

  it('is pending with the same confirmation in callAll, in its position', async () => {
    const { clock, runtime } = held();
    const turn = runtime.turn({ sessionId: 's', timeoutMs: 50 });
    const asked = turn.callAll([
      envelope('r', 'get_it'),
      envelope('c', 'delete_it'),
      envelope('q', 'get_it'),
    ]);
    await quiet();
    clock.advance(50);
    expect(await asked).toMatchObject([
      { type: 'ToolExecutionResult', callId: 'r' },
      { type: 'pending', callId: 'c', confirmationId: expect.stringMatching(/^cnf_/) as string },
      { callId: 'q' },
    ]);
  });

  it('also throws from turn.run and from execute', async () => {
    const { clock, runtime } = held();
    const turn = runtime.turn({ sessionId: 's', timeoutMs: 50 });
    const asked = [
      turn.run.delete_it({}, { callId: 'c' }),
      turn
        .tools()
        .find(({ name }) => name === 'delete_it')
        ?.execute({}, { callId: 'd' }) ?? Promise.resolve(),
    ];
    await quiet();
    clock.advance(50);
    expect(await Promise.all(asked.map(pendingOf))).toMatchObject([{ callId: 'c' }, { callId: 'd' }]);
  });

  it('is never timed out by the turn: after the approval only the tool’s own timeout counts', async () => {
    const { answer, body, clock, runtime, runs } = held();
    const turn = runtime.turn({ sessionId: 's', timeoutMs: 50 });
    const asked = turn.call(envelope('c', 'delete_it'));
    await quiet();
    clock.advance(50);
    await pendingOf(asked);
    answer.resolve(yes);
    await quiet();
    expect(runs()).toBe(1);
    clock.advance(999);
    body.resolve('gone');
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'))).toMatchObject({
      output: 'gone',
    });
    await expectSettledOnce(runtime);
  });

  it('is stopped by the tool’s own timeout', async () => {
    const { answer, clock, runtime, turn } = held();
    const asked = turn.call(envelope('c', 'delete_it'));
    await quiet();
    answer.resolve(yes);
    await quiet();
    clock.advance(1_000);
    expect(await asked).toMatchObject({ type: 'ToolTimeout', elapsedMs: 1_000 });
    await expectSettledOnce(runtime);
  });

  it('is pending for a second runtime on the same ledger too, which gets the outcome when the call settles', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const answer = deferred<ConfirmationAnswer>();
    const tools = [defineTool({ name: 'delete_it', run: () => 'gone' })];
    const one = createRuntime({ clock, ledger, tools, onConfirm: () => answer.promise });
    const two = createRuntime({
      clock,
      ledger,
      tools,
      onConfirm: () => ({ decision: 'deny', by: 'nobody' }),
    });
    const first = one.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'));
    await quiet();
    const second = two.turn({ sessionId: 's', timeoutMs: 50 }).call(envelope('c', 'delete_it'));
    await quiet();
    clock.advance(50);
    expect(await pendingOf(second)).toMatchObject({ callId: 'c' });
    const third = two.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'));
    await quiet();
    answer.resolve(yes);
    expect(await third).toEqual(await first);
    await expectSettledOnce(two);
  });
});

describe('a call that another caller is making at the deadline of the turn', () => {
  it('is pending without a question, in this runtime and in another; a repeat gets the outcome', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const body = deferred<string>();
    const tools = [defineTool({ name: 'pay', timeoutMs: 1_000, run: () => body.promise })];
    const [one, two] = [1, 2].map(() => createRuntime({ clock, ledger, tools }));
    const first = one?.turn({ sessionId: 's' }).call(envelope('c', 'pay'));
    await quiet();
    for (const runtime of [one, two]) {
      const turn = runtime?.turn({ sessionId: 's', timeoutMs: 50 });
      const asked = turn?.call(envelope('c', 'pay')) ?? Promise.reject(new Error('no turn'));
      const batch = turn?.callAll([envelope('c', 'pay')]);
      await quiet();
      clock.advance(50);
      expect(await pendingOf(asked)).toEqual({ callId: 'c' });
      expect(await batch).toEqual([{ type: 'pending', callId: 'c', confirmationId: undefined }]);
    }
    body.resolve('paid');
    expect(await two?.turn({ sessionId: 's' }).call(envelope('c', 'pay'))).toEqual(await first);
    for (const runtime of [one, two]) if (runtime) await expectSettledOnce(runtime);
  });
});

describe('the end of a turn', () => {
  it('leaves held calls held, and an approval still runs them', async () => {
    const { answer, body, runtime, turn } = held();
    const asked = turn.call(envelope('c', 'delete_it'));
    await quiet();
    await turn.end();
    answer.resolve(yes);
    body.resolve('gone');
    expect(await asked).toMatchObject({ output: 'gone' });
    await expectSettledOnce(runtime);
  });

  it('withdraws held calls on request: denied as ended, recorded as invalidated', async () => {
    const { answer, runtime, turn, runs } = held();
    const asked = turn.call(envelope('c', 'delete_it'));
    await quiet();
    await turn.end({ withdraw: true });
    expect(await asked).toMatchObject({ type: 'ToolDenied', reason: 'ended', code: 'turn.ended' });
    answer.resolve(yes);
    await quiet();
    expect(runs()).toBe(0);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'invalidated']);
    expect(await eventTypes(runtime, 'c')).toContain('confirmation.withdrawn');
    await expectSettledOnce(runtime);
  });

  it('withdraws with a second call to end() what the first one left held', async () => {
    const { runtime, turn } = held();
    const asked = turn.call(envelope('c', 'delete_it'));
    await quiet();
    await turn.end();
    await turn.end({ withdraw: true });
    expect(await asked).toMatchObject({ reason: 'ended' });
    await expectSettledOnce(runtime);
  });

  it('withdraws a call that is about to be held', async () => {
    const { runtime, turn } = held();
    const asked = turn.call(envelope('c', 'delete_it'));
    await turn.end({ withdraw: true });
    expect(await asked).toMatchObject({ type: 'ToolDenied', reason: 'ended' });
    await expectSettledOnce(runtime);
  });

  it('withdraws its own holds only', async () => {
    const { answer, body, runtime, turn } = held();
    const other = runtime.turn({ sessionId: 's' });
    const asked = [turn.call(envelope('c', 'delete_it')), other.call(envelope('d', 'delete_it', { n: 1 }))];
    await quiet();
    await turn.end({ withdraw: true });
    answer.resolve(yes);
    body.resolve('gone');
    expect(await Promise.all(asked)).toMatchObject([{ reason: 'ended' }, { output: 'gone' }]);
  });
});
