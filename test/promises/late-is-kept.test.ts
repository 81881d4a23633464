import { createRuntime, defineTool } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { deferred, envelope, eventsOf, eventTypes, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { alterLedger } from '../alter-ledger.ts';

/** A call whose body is still running at its deadline. */
async function timedOut() {
  const body = deferred<unknown>();
  const stage = setStage({
    tools: [defineTool({ name: 'pay', timeoutMs: 100, run: () => body.promise })],
  });
  const asked = stage.turn.call(envelope('c', 'pay'));
  await quiet();
  stage.clock.advance(100);
  return { ...stage, body, outcome: await asked };
}

describe('[late-is-kept] a result after the deadline is recorded on its call and never changes the outcome', () => {
  it('[late-is-kept] a value that a body returns after its timeout', async () => {
    const { body, clock, runtime, turn, outcome } = await timedOut();
    const before = JSON.stringify(outcome);
    clock.advance(98 * 60_000);
    body.resolve({ receipt: 'r1' });
    await quiet();

    expect(outcome).toMatchObject({ type: 'ToolTimeout', elapsedMs: 100 });
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect(call?.late).toMatchObject([
      { attempt: 1, elapsedMs: 98 * 60_000 + 100, result: { type: 'returned', output: { receipt: 'r1' } } },
    ]);
    expect(JSON.stringify(call?.settled?.outcome)).toBe(before);
    expect(await turn.call(envelope('c', 'pay'))).toEqual(outcome);
    expect(await eventTypes(runtime, 'c')).toEqual([
      'tool.requested',
      'tool.decided',
      'tool.started',
      'tool.responded',
      'tool.late',
      'tool.recalled',
    ]);
    await expectSettledOnce(runtime);
  });

  it('[late-is-kept] an error that a body throws after its timeout', async () => {
    const { body, runtime } = await timedOut();
    body.reject(new Error('the bank said no'));
    await quiet();
    expect(await eventsOf(runtime, 'tool.late')).toMatchObject([
      { callId: 'c', result: { type: 'threw', error: 'the bank said no' } },
    ]);
  });

  it('[late-is-kept] a value that JSON cannot hold, as a note about it', async () => {
    const { body, runtime } = await timedOut();
    body.resolve({ big: 10n });
    await quiet();
    const [late] = await eventsOf(runtime, 'tool.late');
    expect(late?.result).toMatchObject({ type: 'threw', error: expect.stringContaining('BigInt') as string });
    await expectSettledOnce(runtime);
  });

  it('[late-is-kept] a very long one, cut, with its length', async () => {
    const { body, runtime } = await timedOut();
    body.resolve('x'.repeat(1_000_000));
    await quiet();
    const [late] = await eventsOf(runtime, 'tool.late');
    expect(late?.result).toMatchObject({ type: 'returned', cutFromChars: 1_000_002 });
    expect(JSON.stringify(late).length).toBeLessThan(150_000);
  });

  it('[late-is-kept] the result of a body that blocked the thread past its deadline', async () => {
    const { clock, runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'crunch',
          timeoutMs: 100,
          run: () => {
            clock.advance(101);
            return 'too late';
          },
        }),
        defineTool({
          name: 'crash',
          timeoutMs: 100,
          run: () => {
            clock.advance(101);
            throw new Error('too late to fail');
          },
        }),
      ],
    });
    expect(await turn.call(envelope('a', 'crunch'))).toMatchObject({ type: 'ToolTimeout', elapsedMs: 101 });
    expect(await turn.call(envelope('b', 'crash'))).toMatchObject({ type: 'ToolTimeout', elapsedMs: 101 });
    await quiet();
    expect((await eventsOf(runtime, 'tool.late')).map(({ result }) => result)).toEqual([
      { type: 'returned', output: 'too late' },
      { type: 'threw', error: 'too late to fail' },
    ]);
    await expectSettledOnce(runtime);
  });

  it('[late-is-kept] the result of a body that ended between its deadline and the timer', async () => {
    const body = deferred<string>();
    const manual = createManualClock();
    let blockedMs = 0; // other work on the thread blocks it, so that no timer can fire
    const { runtime, turn } = setStage({
      clock: { ...manual, monotonicMs: () => manual.monotonicMs() + blockedMs },
      tools: [defineTool({ name: 'pay', timeoutMs: 100, run: () => body.promise })],
    });
    const asked = turn.call(envelope('c', 'pay'));
    await quiet();
    blockedMs = 101;
    body.resolve('done');
    expect(await asked).toMatchObject({ type: 'ToolTimeout', elapsedMs: 101 });
    await quiet();
    expect(await eventsOf(runtime, 'tool.late')).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('[late-is-kept] the result of a call that was cancelled and continued', async () => {
    const body = deferred<string>();
    const { clock, runtime, turn } = setStage({
      cancelGraceMs: 10,
      tools: [defineTool({ name: 'pay', run: () => body.promise })],
    });
    const asked = turn.call(envelope('c', 'pay'));
    await quiet();
    turn.cancel('c');
    clock.advance(10);
    expect(await asked).toMatchObject({ code: 'tool.indeterminate' });
    body.resolve('it went through');
    await quiet();
    expect((await eventsOf(runtime, 'tool.late')).map(({ result }) => result)).toEqual([
      { type: 'returned', output: 'it went through' },
    ]);
    await expectSettledOnce(runtime);
  });

  it.each([
    ['returned', { type: 'returned', output: { receipt: 'r1' } }],
    ['threw', { type: 'threw', error: 'no receipt' }],
  ] as const)(
    '[late-is-kept] what a body %s whose slow owner was taken for dead by another process',
    async (how, result) => {
      const body = deferred<unknown>();
      const tools = [defineTool({ name: 'pay', run: () => body.promise })];
      const { clock, ledger, runtime, turn } = setStage({ tools });
      const asked = turn.call(envelope('c', 'pay'));
      await quiet();
      const elsewhere = alterLedger(ledger, {
        ownerId: 'own_elsewhere',
        runtimes: new Set(),
        statusOf: async () => 'gone',
      });
      const other = createRuntime({ tools, ledger: elsewhere, clock });
      expect(await other.recover()).toMatchObject([{ callId: 'c', how: 'indeterminate' }]);
      if (how === 'returned') body.resolve({ receipt: 'r1' });
      else body.reject(new Error('no receipt'));
      expect(await asked).toMatchObject({ code: 'tool.indeterminate' });
      await quiet();
      expect((await eventsOf(runtime, 'tool.late')).map((late) => late.result)).toEqual([result]);
      await expectSettledOnce(runtime);
    },
  );

  it('[late-is-kept] each separately when many arrive together', async () => {
    const bodies = Array.from({ length: 20 }, () => deferred<number>());
    const { clock, runtime, turn } = setStage({
      tools: [
        defineTool({ name: 'pay', timeoutMs: 100, run: ({ n }) => bodies[Number(n)]?.promise ?? null }),
      ],
    });
    const asked = bodies.map((_, n) => turn.call(envelope(`c${n}`, 'pay', { n })));
    await quiet();
    clock.advance(100);
    await Promise.all(asked);
    for (const [n, body] of [...bodies.entries()].reverse()) body.resolve(n);
    await quiet();
    for (const call of await runtime.calls.list({ sessionId: 's' }))
      expect(call.late.map(({ result }) => result)).toEqual([
        { type: 'returned', output: Number(call.callId.slice(1)) },
      ]);
    await expectSettledOnce(runtime);
  });

  it('[late-is-kept] but output of a body after its attempt is not part of it', async () => {
    const body = deferred();
    const { clock, runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          timeoutMs: 100,
          costMicros: 5,
          run: async (_, context) => {
            context.log('before');
            context.reached('bank');
            await body.promise;
            context.log('afterwards');
            context.reached('moon');
            context.charge(1_000);
            context.record({ afterwards: true });
            context.progress({ message: 'afterwards' });
            context.attach({ mimeType: 'text/plain', content: 'afterwards' });
          },
        }),
      ],
    });
    const heard: unknown[] = [];
    const asked = turn.call(envelope('c', 'pay'), { onProgress: (update) => heard.push(update) });
    await quiet();
    clock.advance(100);
    await asked;
    body.resolve();
    await quiet();
    const [responded] = await eventsOf(runtime, 'tool.responded');
    expect(responded).toMatchObject({ costMicros: 5, reached: ['bank'], log: [{ message: 'before' }] });
    expect(heard).toEqual([]);
    expect(JSON.stringify(await runtime.calls.list({ sessionId: 's' }))).not.toContain('afterwards');
  });
});
