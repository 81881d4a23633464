/** The deadline of a call also bounds everything after its body. */
import type { SuccessCheck, ToolContext } from 'quittance';
import { createRuntime, defineTool, outcomeBlocksTool, outcomeToModelContent } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { contracts } from 'quittance/contracts';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';

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
  ])(
    '%s: the call ends at its deadline, a repeat is held, and its result is stored as late',
    async (_, traits) => {
      const { call, runtime, turn } = stageOf(traits);
      const outcome = await call('a', { to: 'ada' }, 1_000);
      expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.invalid_output', retryable: false });
      const content = JSON.parse(outcomeToModelContent(outcome)) as { error: string };
      expect(content).toMatchObject({ status: 'error', retryable: false });
      expect(content.error).toMatch(/ran, but its result could not be checked.*do not repeat/);
      expect(outcomeBlocksTool(outcome)).toBe(false);
      await quiet();
      expect(await eventsOf(runtime, 'tool.late')).toMatchObject([
        { result: { type: 'returned', output: 'paid' } },
      ]);
      expect((await eventsOf(runtime, 'tool.responded'))[0]).toMatchObject({ unsettledEffect: true });
      expect((await runtime.calls.unresolved()).rows).toEqual([]);
      await expectSettledOnce(runtime);
      const repeat = await turn.call(envelope('a2', 'pay', { to: 'ada' }), { ifHeld: 'return' });
      expect(repeat).toMatchObject({
        type: 'pending',
        waitsFor: expect.stringContaining('Call a ') as string,
      });
      const other = turn.call(envelope('b', 'pay', { to: 'bob' }), { ifHeld: 'return' });
      await quiet();
      expect((await eventsOf(runtime, 'tool.started')).map(({ callId }) => callId)).toEqual(['a', 'b']);
      void other;
    },
  );

  it('is not worth a retry even if the tool may run again', async () => {
    const { call } = stageOf({ idempotent: true, successCheck: () => never<boolean>() });
    expect(await call('a', {}, 1_000)).toMatchObject({ code: 'tool.invalid_output', retryable: false });
  });

  it('has the rest of the body’s time, and a short grace period if none is left', async () => {
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
    expect(await asked).toMatchObject({ code: 'tool.invalid_output' });
  });

  it('counts if it ends in time', async () => {
    const verdict = deferred<boolean>();
    const { turn, clock } = stageOf({ successCheck: () => verdict.promise });
    const asked = turn.call(envelope('a', 'pay'));
    await quiet();
    clock.advance(999);
    verdict.resolve(true);
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult', output: 'paid' });
  });

  it('a judgement that does not end in time of a body that never ended leaves its effect unknown', async () => {
    const { turn, clock, runtime } = stageOf({}, () => never<string>());
    const asked = turn.call(envelope('a', 'pay'));
    await quiet();
    clock.advance(1_000);
    expect(await asked).toMatchObject({ type: 'ToolTimeout', inDoubt: true });
    expect((await runtime.calls.unresolved()).rows).toHaveLength(1);
  });
});

describe('other work after a body', () => {
  type Hangs = { readonly rule?: (output: unknown) => boolean; readonly artifact?: boolean };

  /** A runtime whose rule on results, or whose artifact writes, never end. */
  function hanging({ rule, artifact = false }: Hangs, run: (args: unknown, context: ToolContext) => unknown) {
    const clock = createManualClock();
    const memory = createMemoryLedger({ clock });
    const ledger = artifact ? alterLedger(memory, { putArtifact: () => never<never>() }) : memory;
    const runtime = createRuntime({
      ledger,
      clock,
      tools: [defineTool({ name: 'pay', mode: 'external', timeoutMs: 1_000, run })],
      ...(rule !== undefined && {
        contracts: contracts({
          rules: [{ id: 'slow', after: (_call, output) => (rule(output) ? never<undefined>() : undefined) }],
        }),
      }),
    });
    const call = async () => {
      const asked = runtime.turn({ sessionId: 's' }).call(envelope('a', 'pay'));
      await quiet();
      clock.advance(1_000);
      await quiet();
      clock.advance(1_000);
      return asked;
    };
    return { runtime, clock, call };
  }

  it.each<[string, Hangs, () => unknown, unknown]>([
    // A value that no rule has passed is not stored.
    ['a rule on results', { rule: () => true }, () => 'paid', '[WITHHELD]'],
    ['the write of an artifact', { artifact: true }, () => 'x'.repeat(20_000), 'x'.repeat(20_000)],
  ])(
    '%s that hangs: one outcome at the deadline, and the result is stored as late',
    async (_, hangs, run, late) => {
      const { runtime, call, clock } = hanging(hangs, run);
      expect(await call()).toMatchObject({ code: 'tool.invalid_output', retryable: false });
      await quiet();
      clock.advance(1_000);
      await quiet();
      expect(await eventsOf(runtime, 'tool.late')).toMatchObject([
        { result: { type: 'returned', output: late } },
      ]);
      expect((await runtime.calls.unresolved()).rows).toEqual([]);
      await expectSettledOnce(runtime);
    },
  );

  it('a rule that hangs on an error: one outcome at the deadline', async () => {
    const { runtime, call } = hanging({ rule: () => true }, () => {
      throw new Error('It broke.');
    });
    expect(await call()).toMatchObject({ code: 'tool.invalid_output', retryable: false });
    await quiet();
    await expectSettledOnce(runtime);
  });

  it('a file whose write hangs', async () => {
    const { runtime, call } = hanging({ artifact: true }, (_, { attach }) => {
      attach({ mimeType: 'text/plain', content: 'a file' } as never);
      return 'paid';
    });
    expect(await call()).toMatchObject({ code: 'tool.invalid_output' });
    await quiet();
    expect((await runtime.calls.unresolved()).rows).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it.each<[string, (context: ToolContext) => void]>([
    ['a log line', ({ log }) => log('beside')],
    ['a place that was reached', ({ reached }) => reached('beside')],
    ['what was recorded', ({ record }) => record({ so: 'beside' })],
  ])('a rule that hangs on %s keeps that off the record, but not the result', async (_, leave) => {
    const { runtime, call } = hanging(
      { rule: (output) => JSON.stringify(output).includes('beside') },
      (_args, context) => {
        leave(context);
        return 'paid';
      },
    );
    expect(await call()).toMatchObject({ type: 'ToolExecutionResult', output: 'paid' });
    const [ended] = await eventsOf(runtime, 'tool.responded');
    expect(JSON.stringify(ended)).not.toContain('beside');
    expect(ended?.log.map(({ message }) => message)).toEqual([
      expect.stringContaining('did not answer in time'),
    ]);
    await expectSettledOnce(runtime);
  });
});
