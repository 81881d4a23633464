import { defineTool, ToolDecision } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { deferred, envelope, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

describe('a turn that has ended', () => {
  it('denies calls after its deadline, given as a duration or as a date', async () => {
    let runs = 0;
    const clock = createManualClock(1_000_000);
    const { runtime } = setStage({ clock, tools: [defineTool({ name: 'pay', run: () => ++runs })] });
    for (const options of [
      { timeoutMs: 50 },
      { deadlineMs: 1_000_050 },
      { timeoutMs: 50, deadlineMs: 9_000_000 },
    ]) {
      clock.jumpTo(1_000_000);
      const turn = runtime.turn({ sessionId: 's', ...options });
      clock.advance(49);
      expect(
        await turn.call(envelope(`${JSON.stringify(options)} in time`, 'pay', { options })),
      ).toMatchObject({
        type: 'ToolExecutionResult',
      });
      clock.advance(1);
      expect(await turn.call(envelope(`${JSON.stringify(options)} late`, 'pay', { options }))).toMatchObject({
        type: 'ToolDenied',
        reason: 'deadline',
        code: 'turn.deadline',
      });
    }
    expect(runs).toBe(3);
    await expectSettledOnce(runtime);
  });

  it('has ended from the start when its timeout is zero', async () => {
    const { runtime } = setStage({ tools: [defineTool({ name: 'pay', run: () => 1 })] });
    for (const options of [{ timeoutMs: 0 }, { timeoutMs: -5 }, { deadlineMs: 1_600_000_000_000 }])
      expect(
        await runtime.turn({ sessionId: JSON.stringify(options), ...options }).call(envelope('c', 'pay')),
      ).toMatchObject({ reason: 'deadline' });
  });

  it('denies calls after it was ended', async () => {
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'pay', run: () => 1 })] });
    await turn.call(envelope('a', 'pay'));
    await turn.end();
    expect((await runtime.events.list({ sessionId: 's' })).at(-1)?.type).toBe('turn.ended');
    await turn.end();
    expect(await turn.call(envelope('b', 'pay'))).toMatchObject({ reason: 'ended', code: 'turn.ended' });
    const types = (await runtime.events.list({ sessionId: 's' })).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith('turn.'))).toEqual(['turn.opened', 'turn.ended']);
  });

  it('records nothing about itself when it made no call', async () => {
    const { runtime, turn } = setStage({ tools: [] });
    await turn.end();
    expect(await runtime.events.list({ sessionId: 's' })).toEqual([]);
  });

  it('stops a call whose gates are still running at the deadline', async () => {
    let runs = 0;
    const hook = deferred();
    const { clock, runtime } = setStage({
      tools: [defineTool({ name: 'pay', run: () => ++runs })],
      onPreToolUse: async () => {
        await hook.promise;
        return ToolDecision.allow;
      },
    });
    const asked = runtime.turn({ sessionId: 's', timeoutMs: 50 }).call(envelope('c', 'pay'));
    await quiet();
    clock.advance(51);
    hook.resolve();
    expect(await asked).toMatchObject({ type: 'ToolDenied', reason: 'deadline' });
    expect(runs).toBe(0);
  });

  it('stops a call whose gates are still running when the turn is ended', async () => {
    let runs = 0;
    const hook = deferred();
    const { turn } = setStage({
      tools: [defineTool({ name: 'pay', run: () => ++runs })],
      onPreToolUse: async () => {
        await hook.promise;
        return ToolDecision.allow;
      },
    });
    const asked = turn.call(envelope('c', 'pay'));
    await quiet();
    await turn.end();
    hook.resolve();
    expect(await asked).toMatchObject({ type: 'ToolDenied', reason: 'ended' });
    expect(runs).toBe(0);
  });

  it('does not wait for a check that never answers', async () => {
    const { clock, runtime } = setStage({
      tools: [defineTool({ name: 'pay', run: () => 1 })],
      onPreToolUse: () => new Promise(() => undefined),
    });
    const turn = runtime.turn({ sessionId: 's', timeoutMs: 50 });
    const asked = turn.call(envelope('c', 'pay'));
    await quiet();
    clock.advance(50);
    expect(await asked).toMatchObject({ type: 'ToolDenied', reason: 'deadline' });
    await expectSettledOnce(runtime);
  });

  it('limits a body to its remaining time, if that is less than the tool’s timeout', async () => {
    const { clock, runtime } = setStage({
      tools: [defineTool({ name: 'hang', timeoutMs: 1_000, run: () => new Promise(() => undefined) })],
    });
    const turn = runtime.turn({ sessionId: 's', timeoutMs: 80 });
    clock.advance(30);
    const asked = turn.call(envelope('c', 'hang'));
    await quiet();
    clock.advance(50);
    expect(await asked).toMatchObject({ type: 'ToolTimeout', elapsedMs: 50, deadlineMs: clock.now() });
  });

  it('ends by the monotonic clock, even if the wall clock is changed', async () => {
    const { clock, runtime } = setStage({ tools: [defineTool({ name: 'pay', run: ({ n }) => n })] });
    const turn = runtime.turn({ sessionId: 's', deadlineMs: clock.now() + 1_000 });
    clock.jumpTo(clock.now() + 86_400_000);
    expect(await turn.call(envelope('a', 'pay', { n: 1 }))).toMatchObject({ output: 1 });
    clock.jumpTo(clock.now() - 10 * 86_400_000);
    clock.advance(1_000);
    expect(await turn.call(envelope('b', 'pay', { n: 2 }))).toMatchObject({ reason: 'deadline' });
  });

  it('limits its child turns', async () => {
    const { clock, runtime } = setStage({ tools: [defineTool({ name: 'pay', run: () => 1 })] });
    const child = runtime.turn({ sessionId: 's', timeoutMs: 50 }).child({ sessionId: 'c', timeoutMs: 5_000 });
    clock.advance(50);
    expect(await child.call(envelope('c', 'pay'))).toMatchObject({ reason: 'deadline' });
  });
});
