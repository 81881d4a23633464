/** The deadline of a call bounds everything after its body too. */
import type { SuccessCheck } from 'quittance';
import { defineTool, outcomeBlocksTool, outcomeToModelContent } from 'quittance';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../../test/stage.ts';

const never = <Value>(): Promise<Value> => new Promise(() => undefined);

type Traits = {
  readonly successCheck?: SuccessCheck;
  readonly output?: z.ZodType;
  readonly idempotent?: boolean;
};

function stageOf(traits: Traits, run: () => unknown = () => 'paid', timeoutMs = 1_000) {
  const stage = setStage({
    tools: [defineTool({ name: 'pay', mode: 'external', timeoutMs, ...traits, run } as never)],
  });
  const call = async (id: string, args: object, advanceMs: number) => {
    const asked = stage.turn.call(envelope(id, 'pay', { ...args }));
    await quiet();
    stage.clock.advance(advanceMs);
    return asked;
  };
  return { ...stage, call };
}

describe('a judgement that does not end in time', () => {
  it.each<[string, Traits]>([
    ['a success check', { successCheck: () => never<boolean>() }],
    ['an output schema', { output: z.string().refine(() => never<boolean>()) }],
  ])('%s: the call ends at its deadline, told as finished, its result stored as late', async (_, traits) => {
    const { call, runtime, turn } = stageOf(traits);
    const outcome = await call('a', { to: 'ada' }, 1_000);
    expect(outcome).toMatchObject({ type: 'ToolTimeout', finished: true, retryable: false });
    const content = JSON.parse(outcomeToModelContent(outcome)) as { error: string };
    expect(content).toMatchObject({ status: 'error', timed_out: true, retryable: false });
    expect(content.error).toMatch(/finished, but its result could not be checked.*Do not repeat/);
    expect(outcomeBlocksTool(outcome)).toBe(false);
    await quiet();
    expect(await eventsOf(runtime, 'tool.late')).toMatchObject([
      { result: { type: 'returned', output: 'paid' } },
    ]);
    expect((await eventsOf(runtime, 'tool.responded'))[0]).toMatchObject({ unsettledEffect: false });
    expect((await runtime.unresolved()).rows).toEqual([]);
    await expectSettledOnce(runtime);
    const other = turn.callOrPending(envelope('b', 'pay', { to: 'bob' }));
    await quiet();
    expect((await eventsOf(runtime, 'tool.started')).map(({ callId }) => callId)).toEqual(['a', 'b']);
    void other;
  });

  it('may be retried where the tool may run again', async () => {
    const { call } = stageOf({ idempotent: true, successCheck: () => never<boolean>() });
    expect(await call('a', {}, 1_000)).toMatchObject({ finished: true, retryable: true });
  });

  it('has the rest of the time of the body, and a little where none is left', async () => {
    const body = deferred<string>();
    const { turn, clock } = stageOf({ successCheck: () => never<boolean>() }, () => body.promise);
    let ended = false;
    const asked = turn.call(envelope('a', 'pay')).finally(() => (ended = true));
    await quiet();
    clock.advance(990);
    body.resolve('paid');
    await quiet();
    clock.advance(49);
    await quiet();
    expect(ended).toBe(false);
    clock.advance(1);
    expect(await asked).toMatchObject({ finished: true });
  });

  it('counts where it ends in time', async () => {
    const verdict = deferred<boolean>();
    const { turn, clock } = stageOf({ successCheck: () => verdict.promise });
    const asked = turn.call(envelope('a', 'pay'));
    await quiet();
    clock.advance(999);
    verdict.resolve(true);
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult', output: 'paid' });
  });

  it('of a body that never ended leaves it in doubt', async () => {
    const { turn, clock, runtime } = stageOf({}, () => never<string>());
    const asked = turn.call(envelope('a', 'pay'));
    await quiet();
    clock.advance(1_000);
    expect(await asked).toMatchObject({ type: 'ToolTimeout', inDoubt: true });
    expect((await runtime.unresolved()).rows).toHaveLength(1);
  });
});
