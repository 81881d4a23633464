import { createRuntime, defineTool, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { createMortalLedger } from '../../../../test/mortal-ledger.ts';
import {
  auditKinds,
  deferred,
  envelope,
  eventsOf,
  eventTypes,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';

type Traits = { mode?: 'read'; idempotent?: boolean };

/** A tool that waits, and reacts to the abort of its signal as `stops` says. */
function cancellable(stops: 'obeys' | 'ignores' | 'finishes' | 'breaks', traits: Traits = {}) {
  const body = deferred<string>();
  const heard: string[] = [];
  const stage = setStage({
    cancelGraceMs: 100,
    tools: [
      defineTool({
        name: 'work',
        ...traits,
        run: (_, { signal }) => {
          signal.addEventListener('abort', () => {
            heard.push((signal.reason as Error).message);
            if (stops === 'obeys') body.reject(signal.reason as Error);
            if (stops === 'finishes') body.resolve('finished');
            if (stops === 'breaks') body.reject(new Error('half done'));
          });
          return body.promise;
        },
      }),
    ],
  });
  return { ...stage, body, heard };
}

describe('a call cancelled before its body began', () => {
  it('ends as cancelled, not executed', async () => {
    let runs = 0;
    const hook = deferred();
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'pay', run: () => ++runs })],
      onPreToolUse: async () => {
        await hook.promise;
        return ToolDecision.allow;
      },
    });
    const asked = turn.call(envelope('c', 'pay'));
    await quiet();
    expect(turn.cancel('c', 'not needed')).toBe(true);
    expect(await asked).toMatchObject({
      type: 'ToolFailure',
      code: 'tool.cancelled',
      retryable: true,
      elapsedMs: 0,
      error: 'The call was cancelled before it ran: not needed.',
    });
    hook.resolve();
    await quiet();
    expect(runs).toBe(0);
    const [record] = await runtime.calls.audit({ sessionId: 's' });
    expect(record).toMatchObject({ attempt: 0, outcome: { kind: 'completed' } });
    expect(await eventTypes(runtime, 'c')).not.toContain('tool.started');
    await expectSettledOnce(runtime);
  });

  it('keeps the first reason given', async () => {
    const { turn } = setStage({ tools: [defineTool({ name: 'pay', run: () => 1 })] });
    const asked = turn.call(envelope('c', 'pay'));
    turn.cancel('c', 'the first reason');
    turn.cancel('c', 'another one');
    expect(await asked).toMatchObject({ error: 'The call was cancelled before it ran: the first reason.' });
  });

  it('a call cancelled before its body began by a signal that was aborted before the call was made', async () => {
    let runs = 0;
    const { turn } = setStage({ tools: [defineTool({ name: 'pay', run: () => ++runs })] });
    expect(await turn.call(envelope('c', 'pay'), { signal: AbortSignal.abort() })).toMatchObject({
      code: 'tool.cancelled',
    });
    expect(runs).toBe(0);
  });
});

describe('a call cancelled while its body runs', () => {
  it.each<[string, Traits, string, boolean]>([
    ['its effect is unknown', {}, 'tool.indeterminate', true],
    ['it is cancelled where the tool reads', { mode: 'read' }, 'tool.cancelled', false],
    ['it is cancelled where the tool is idempotent', { idempotent: true }, 'tool.cancelled', false],
  ])('aborts the signal and waits for a while; then %s', async (_, traits, code, inDoubt) => {
    for (const stops of ['obeys', 'ignores'] as const) {
      const { clock, heard, runtime, turn } = cancellable(stops, traits);
      const asked = turn.call(envelope('c', 'work'));
      await quiet();
      turn.cancel('c', 'changed my mind');
      await quiet();
      expect(heard).toEqual(['changed my mind']);
      clock.advance(100);
      expect(await asked).toMatchObject({ type: 'ToolFailure', code, retryable: !inDoubt });
      expect((await eventsOf(runtime, 'tool.responded'))[0]).toMatchObject({
        attempt: 1,
        unsettledEffect: inDoubt,
      });
      expect(await auditKinds(runtime, 'c')).toEqual(['completed']);
      await expectSettledOnce(runtime);
    }
  });

  it('keeps the result of a body that finishes within the grace period', async () => {
    const { runtime, turn } = cancellable('finishes');
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    turn.cancel('c');
    expect(await asked).toMatchObject({ output: 'finished' });
    await expectSettledOnce(runtime);
  });

  it('keeps the error of a body that stops on its own', async () => {
    const { turn } = cancellable('breaks');
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    turn.cancel('c');
    expect(await asked).toMatchObject({ code: 'tool.execution_error', error: 'half done' });
  });

  it('is cancelled once: a second cancellation changes neither the reason nor the grace period', async () => {
    const { clock, heard, turn } = cancellable('ignores', { mode: 'read' });
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    turn.cancel('c', 'first');
    clock.advance(99);
    turn.cancel('c', 'second');
    clock.advance(1);
    expect(await asked).toMatchObject({ error: expect.stringContaining('first') as string });
    expect(heard).toEqual(['first']);
  });

  it('a call cancelled while its body runs by the signal of its caller', async () => {
    const { runtime, turn } = cancellable('obeys', { mode: 'read' });
    const controller = new AbortController();
    const asked = turn.call(envelope('c', 'work'), { signal: controller.signal });
    await quiet();
    controller.abort();
    expect(await asked).toMatchObject({
      code: 'tool.cancelled',
      error: expect.stringContaining('gave up') as string,
    });
    await expectSettledOnce(runtime);
  });

  it('is still bound by its timeout', async () => {
    const { clock, runtime } = cancellable('ignores');
    const turn = runtime.turn({ sessionId: 's', timeoutMs: 50 });
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    turn.cancel('c');
    clock.advance(50);
    expect(await asked).toMatchObject({ type: 'ToolTimeout' });
  });

  it('ignores a call that has ended or was never made', async () => {
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'work', run: () => 'done' })] });
    const outcome = await turn.call(envelope('c', 'work'));
    expect([turn.cancel('c'), turn.cancel('nobody')]).toEqual([false, false]);
    expect(await turn.call(envelope('c', 'work'))).toEqual(outcome);
    await expectSettledOnce(runtime);
  });

  it('affects only its own session', async () => {
    const { body, runtime, turn } = cancellable('ignores');
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    expect(runtime.turn({ sessionId: 'other' }).cancel('c')).toBe(false);
    body.resolve('done');
    expect(await asked).toMatchObject({ output: 'done' });
  });

  it('removes its listener from the caller’s signal when the call has ended', async () => {
    const listeners = new Set<unknown>();
    const { signal } = new AbortController();
    const spied = Object.assign(signal, {
      addEventListener: (_: string, listener: unknown) => void listeners.add(listener),
      removeEventListener: (_: string, listener: unknown) => void listeners.delete(listener),
    });
    const { turn } = setStage({
      tools: [
        defineTool({ name: 'work', run: () => 'done' }),
        defineTool({ name: 'delete_it', run: () => 'gone' }),
      ],
      onConfirm: () => ({ decision: 'approve', by: 'ada' }),
    });
    for (let n = 0; n < 20; n++) await turn.call(envelope(`c${n}`, 'work', { n }), { signal: spied });
    await turn.call(envelope('held', 'delete_it'), { signal: spied });
    await quiet();
    expect(listeners.size).toBe(0);
  });
});

describe('the signal of a caller that joined', () => {
  it.each(['call', 'call, ifHeld', 'callAll', 'submit'] as const)(
    'ends that caller’s wait by %s and nothing else',
    async (way) => {
      const body = deferred<string>();
      const { runtime, turn } = setStage({ tools: [defineTool({ name: 'work', run: () => body.promise })] });
      const made = turn.call(envelope('c', 'work'));
      await quiet();
      const { signal, abort } = abortable();
      const joined = {
        call: () => turn.call(envelope('c', 'work'), { signal }),
        'call, ifHeld': () => turn.call(envelope('c', 'work'), { ifHeld: 'return', signal }),
        callAll: async () => (await turn.callAll([envelope('c', 'work')], { signal }))[0],
        submit: () => turn.submit(envelope('c', 'work'), { signal }).outcome(),
      }
        [way]()
        .catch((error: unknown) => error);
      await quiet();
      abort();
      expect(await joined).toMatchObject(
        way === 'call' || way === 'submit' ? { code: 'call.pending' } : { type: 'pending', callId: 'c' },
      );
      body.resolve('done');
      expect(await made).toMatchObject({ output: 'done' });
      await expectSettledOnce(runtime);
    },
  );

  it('also ends the wait if another process makes the call', async () => {
    const clock = createManualClock();
    const mortal = createMortalLedger(clock);
    const body = deferred<string>();
    const work = defineTool({ name: 'work', run: () => body.promise });
    const one = createRuntime({ tools: [work], ledger: mortal.open().ledger, clock });
    const made = one.turn({ sessionId: 's' }).call(envelope('c', 'work'));
    await quiet();
    const other = mortal.open().ledger;
    const ledger = alterLedger(other, {
      ownerId: 'somebody else',
      runtimes: new Set(),
      statusOf: async () => 'alive',
    });
    const two = createRuntime({ tools: [work], ledger, clock });
    const { signal, abort } = abortable();
    const joined = two.turn({ sessionId: 's' }).call(envelope('c', 'work'), { signal });
    const refusal = joined.catch((error: unknown) => error);
    await quiet();
    abort();
    expect(await refusal).toMatchObject({ code: 'call.pending' });
    body.resolve('done');
    expect(await made).toMatchObject({ output: 'done' });
  });
});

const abortable = (): { signal: AbortSignal; abort: () => void } => {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
};

describe('a submitted call', () => {
  it('is accepted once the ledger has it, and returns its outcome later', async () => {
    const body = deferred<string>();
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'work', run: () => body.promise })] });
    const submitted = turn.submit(envelope('c', 'work'));
    expect(submitted.callId).toBe('c');
    await submitted.accepted;
    expect((await eventTypes(runtime, 'c'))[0]).toBe('tool.requested');
    expect((await runtime.calls.list({ sessionId: 's' }))[0]).toMatchObject({ submitted: true });
    body.resolve('done');
    expect(await submitted.outcome()).toMatchObject({ output: 'done' });
    expect(await submitted.outcome()).toEqual(await turn.call(envelope('c', 'work')));
    await expectSettledOnce(runtime);
  });

  it('can be cancelled by the code that submitted it', async () => {
    const { clock, runtime, turn } = cancellable('ignores', { mode: 'read' });
    const submitted = turn.submit(envelope('c', 'work'));
    await quiet();
    submitted.cancel();
    clock.advance(100);
    expect(await submitted.outcome()).toMatchObject({ code: 'tool.cancelled' });
    await expectSettledOnce(runtime);
  });

  it('waits for a person after the turn has ended', async () => {
    const answer = deferred<{ decision: 'approve'; by: string }>();
    const { clock, runtime } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
      onConfirm: () => answer.promise,
    });
    const submitted = runtime.turn({ sessionId: 's', timeoutMs: 50 }).submit(envelope('c', 'delete_it'));
    await quiet();
    clock.advance(5_000);
    answer.resolve({ decision: 'approve', by: 'ada' });
    expect(await submitted.outcome()).toMatchObject({ output: 'gone' });
  });

  it('is the same call when submitted again: accepted at once, cancelled by either', async () => {
    const { clock, runtime, turn } = cancellable('ignores', { mode: 'read' });
    const first = turn.submit(envelope('c', 'work'));
    await quiet();
    const second = turn.submit(envelope('c', 'work'));
    await second.accepted;
    second.cancel();
    clock.advance(100);
    expect(await first.outcome()).toMatchObject({ code: 'tool.cancelled' });
    expect(await second.outcome()).toEqual(await first.outcome());
    await expectSettledOnce(runtime);
  });

  it('is not accepted if the ledger could not store it', async () => {
    const clock = createManualClock();
    const inner = createMemoryLedger({ clock });
    let isFull = true;
    const ledger = alterLedger(inner, {
      append: (entry) => {
        if (isFull) throw new Error('the disk is full');
        return inner.append(entry);
      },
    });
    const { turn } = setStage({ tools: [defineTool({ name: 'work', run: () => 'done' })], ledger, clock });
    const refused = turn.submit(envelope('c', 'work'));
    await expect(refused.accepted).rejects.toMatchObject({
      code: 'ledger.unavailable',
      facts: { callId: 'c' },
    });
    expect(await refused.outcome()).toMatchObject({ code: 'ledger.unavailable' });
    isFull = false;
    const taken = turn.submit(envelope('c', 'work'));
    await taken.accepted;
    expect(await taken.outcome()).toMatchObject({ output: 'done' });
  });

  it('throws at once for a malformed envelope', () => {
    const { turn } = setStage({ tools: [] });
    expect(() => turn.submit({ id: '' } as never)).toThrow('exactly');
  });
});
