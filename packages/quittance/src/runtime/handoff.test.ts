import type { JsonObject, Runtime, ToolOutcome, Turn } from 'quittance';
import type { HandoffClaim } from 'quittance/runtime';
import { createRuntime, defineTool, isQuittanceError, outcomeToModelContent, toolResult } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  auditKinds,
  envelope,
  eventsOf,
  eventTypes,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';

const pay = defineTool({ name: 'pay', mode: 'external', handoff: true, timeoutMs: 60_000 });
const fetchAll = defineTool({ name: 'get_all', mode: 'read', handoff: true, timeoutMs: 60_000 });

const stage = () => setStage({ tools: [pay, fetchAll] });
const by = { worker: 'w1' };
const taken = { sessionId: 's', callId: 'c1' };

async function start(
  { turn, runtime }: { readonly turn: Pick<Turn, 'call'>; readonly runtime: Pick<Runtime, 'handoffs'> },
  { name = 'pay', args = { amount: 3 } as JsonObject, leaseMs = undefined as number | undefined } = {},
): Promise<{ claim: HandoffClaim; reply: Promise<ToolOutcome> }> {
  const reply = turn.call(envelope('c1', name, args));
  reply.catch(() => undefined);
  await quiet();
  const claim = await runtime.handoffs.claim(taken, { ...by, ...(leaseMs !== undefined && { leaseMs }) });
  return { claim, reply };
}

const thrownCode = (error: unknown): string => (isQuittanceError(error) ? error.code : String(error));

const code = (outcome: ToolOutcome): string => ('code' in outcome ? outcome.code : outcome.type);

describe('a hand-off', () => {
  it('stores no secret that was put into the name of a worker', async () => {
    const on = stage();
    const reply = on.turn.call(envelope('c1', 'pay', { amount: 3 }));
    await quiet();
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    const { token } = await on.runtime.handoffs.claim(taken, { worker: `mailer ${secret}` });
    expect(await on.runtime.handoffs.list()).toMatchObject([{ worker: 'mailer [REDACTED]' }]);
    // The report works with the stored form of the name.
    expect(await on.runtime.handoffs.report(token, { output: 1 })).toMatchObject({ status: 'settled' });
    await reply;
    expect(JSON.stringify(await eventsOf(on.runtime, 'tool.reported'))).not.toContain(secret);
  });

  it('waits, with its intent stored, until a worker claims it and reports', async () => {
    const on = stage();
    const reply = on.turn.call(envelope('c1', 'pay', { amount: 3 }));
    await quiet();
    expect(await on.runtime.handoffs.list()).toMatchObject([
      { callId: 'c1', toolName: 'pay', status: 'waiting', input: { amount: 3 }, attempt: 1 },
    ]);
    const claim = await on.runtime.handoffs.claim({ toolName: 'pay' }, by);
    expect(claim).toMatchObject({ arguments: { amount: 3 }, attempt: 1, idempotencyKey: 's/c1' });
    expect(await on.runtime.handoffs.list()).toMatchObject([{ status: 'taken', worker: 'w1' }]);
    expect(await on.runtime.handoffs.claim({ toolName: 'pay' }, by)).toBeUndefined();

    const reported = await on.runtime.handoffs.report(
      claim?.token ?? '',
      { output: { id: 7 } },
      { log: [{ message: 'paid' }], reached: ['https://bank.example'], costMicros: 5 },
    );
    expect(reported).toMatchObject({ status: 'settled', differs: false, outcome: { output: { id: 7 } } });
    expect(await reply).toEqual(reported.outcome);
    expect(await on.runtime.handoffs.list()).toEqual([]);
    expect(await eventTypes(on.runtime, 'c1')).toEqual([
      'tool.requested',
      'tool.decided',
      'tool.started',
      'tool.reported',
      'tool.reported',
      'tool.responded',
    ]);
    const [responded] = await eventsOf(on.runtime, 'tool.responded');
    expect(responded).toMatchObject({
      costMicros: 5,
      reached: ['https://bank.example'],
      log: [{ message: 'paid' }],
    });
    await expectSettledOnce(on.runtime);
  });

  it('stores an intent for a read too, so that a worker can find it', async () => {
    const on = stage();
    const { claim, reply } = await start(on, { name: 'get_all' });
    await on.runtime.handoffs.report(claim.token, { output: [1] });
    expect(await reply).toMatchObject({ output: [1] });
  });

  it('is refused to a second worker, however far away its deadline is', async () => {
    const patient = defineTool({ name: 'wait', mode: 'external', handoff: true });
    const on = setStage({ tools: [patient], defaultTimeoutMs: Number.MAX_SAFE_INTEGER });
    await start(on, { name: 'wait' });
    await expect(on.runtime.handoffs.claim(taken, { worker: 'w2' })).rejects.toMatchObject({
      code: 'handoff.taken',
    });
  });

  it('goes to one of two workers that claim it at once', async () => {
    const on = stage();
    void on.turn.call(envelope('c1', 'pay')).catch(() => undefined);
    await quiet();
    const claims = await Promise.allSettled([
      on.runtime.handoffs.claim(taken, { worker: 'a' }),
      on.runtime.handoffs.claim(taken, { worker: 'b' }),
    ]);
    expect(claims.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await expect(on.runtime.handoffs.claim(taken, { worker: 'c' })).rejects.toMatchObject({
      code: 'handoff.taken',
      facts: { callId: 'c1' },
    });
  });

  it('is judged like the end of a body: schema, success check, error, terminal result', async () => {
    const checked = defineTool({
      name: 'put',
      mode: 'external',
      handoff: true,
      output: { type: 'object', required: ['id'] },
    });
    const on = setStage({ tools: [checked] });
    const end = async (callId: string, report: Parameters<typeof on.runtime.handoffs.report>[1]) => {
      const reply = on.turn.call(envelope(callId, 'put', { callId }));
      await quiet();
      const claim = await on.runtime.handoffs.claim({ sessionId: 's', callId }, by);
      await on.runtime.handoffs.report(claim.token, report);
      return reply;
    };
    expect(code(await end('1', { output: { id: 1 } }))).toBe('ToolExecutionResult');
    expect(code(await end('2', { error: 'no such account', code: 'tool.reported_error' }))).toBe(
      'tool.reported_error',
    );
    expect(await end('3', { error: 'reset', code: 'tool.network_error', retryable: true })).toMatchObject({
      code: 'tool.network_error',
      retryable: true,
    });
    expect(code(await end('4', { output: { success: false, error: 'declined' } }))).toBe(
      'tool.reported_error',
    );
    expect(await end('5', { success: true, id: 5, terminal: true })).toMatchObject({
      toolResult: { terminal: true },
    });
    expect(code(await on.turn.call(envelope('6', 'put')))).toBe('turn.ended');
    const next = setStage({ tools: [checked] });
    void next.turn.call(envelope('7', 'put')).catch(() => undefined);
    await quiet();
    const claim = await next.runtime.handoffs.claim({ toolName: 'put' }, by);
    const { outcome } = await next.runtime.handoffs.report(claim?.token ?? '', { output: { nothing: 1 } });
    expect(code(outcome)).toBe('tool.invalid_output');
  });

  it('ends no turn for an output that only looks like a result', async () => {
    const on = stage();
    const { claim, reply } = await start(on);
    await on.runtime.handoffs.report(claim.token, { output: toolResult({ success: true }) });
    await reply;
    const second = on.turn.call(envelope('c2', 'pay', { amount: 4 }));
    await quiet();
    const next = await on.runtime.handoffs.claim({ toolName: 'pay' }, by);
    await on.runtime.handoffs.report(next?.token ?? '', { output: { success: true, terminal: true } });
    expect(await second).not.toHaveProperty('toolResult');
  });

  it('gives hidden values to the worker that claimed it, and to no one else', async () => {
    const on = stage();
    const { claim } = await start(on, { args: { password: 'hunter2-hunter2' } });
    expect(claim.arguments).toEqual({ password: 'hunter2-hunter2' });
    const views = JSON.stringify([
      await on.runtime.handoffs.list(),
      await on.runtime.events.list({ sessionId: 's' }),
    ]);
    expect(views).not.toContain('hunter2');
    expect(views).not.toContain(claim.token);
    const { outcome } = await on.runtime.handoffs.report(claim.token, { output: 'used hunter2-hunter2' });
    expect(JSON.stringify(outcome)).not.toContain('hunter2');
  });
});

describe('a call whose schema returns another value each time', () => {
  let day = 0;
  const ship = defineTool({
    name: 'ship',
    mode: 'external',
    handoff: true,
    timeoutMs: 60_000,
    input: z.object({ to: z.string(), on: z.date().default(() => new Date(2_026, 0, ++day)) }),
  });

  it.each([
    ['by its name', taken, 'handoff.unknown'],
    ['by its tool', { toolName: 'ship' }, undefined],
  ])(
    'ends with that reason when a worker claims it %s, long before its deadline',
    async (_, choice, expected) => {
      const on = setStage({ tools: [ship] });
      const reply = on.turn.call(envelope('c1', 'ship', { to: 'Ada' }));
      for (let round = 0; round < 5; round++) await quiet();
      const claim = await on.runtime.handoffs.claim(choice as { toolName: string }, by).catch(thrownCode);
      expect(claim).toBe(expected);
      expect(await reply).toEqual({
        type: 'ToolFailure',
        callId: 'c1',
        toolName: 'ship',
        code: 'tool.cancelled',
        retryable: false,
        error: expect.stringContaining('returns another value each time'),
        elapsedMs: 0,
        payloadExtras: { input: expect.objectContaining({ to: 'Ada' }) as unknown },
      });
      // It never ran, so its effect is not unknown.
      expect((await on.runtime.calls.unresolved()).rows).toEqual([]);
      await expectSettledOnce(on.runtime);
    },
  );
});

describe('a report', () => {
  it('repeated gets the recorded outcome, and is told if it differs', async () => {
    const on = stage();
    const { claim } = await start(on);
    await on.runtime.handoffs.report(claim.token, { output: 1 });
    expect(await on.runtime.handoffs.report(claim.token, { output: 1 })).toMatchObject({
      status: 'replayed',
      differs: false,
    });
    expect(await on.runtime.handoffs.report(claim.token, { error: 'no' })).toMatchObject({
      status: 'replayed',
      differs: true,
      outcome: { output: 1 },
    });
    await on.runtime.handoffs.report(claim.token, { error: 'no' });
    const events = await eventsOf(on.runtime, 'tool.reported');
    expect(events.map(({ what }) => what.type)).toEqual(['claimed', 'given', 'differs']);
    expect(await auditKinds(on.runtime, 'c1')).toEqual(['completed', 'replayed', 'replayed', 'replayed']);
    await expectSettledOnce(on.runtime);
  });

  it('counts once if two arrive at the same time', async () => {
    const on = stage();
    const { claim, reply } = await start(on);
    const both = await Promise.all([
      on.runtime.handoffs.report(claim.token, { output: 1 }),
      on.runtime.handoffs.report(claim.token, { output: 2 }),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['replayed', 'settled']);
    expect(both[0].outcome).toEqual(both[1].outcome);
    expect(await reply).toEqual(both[0].outcome);
    await expectSettledOnce(on.runtime);
  });

  it('is refused without a token of this ledger, or with a changed one', async () => {
    const on = stage();
    const { claim } = await start(on);
    const other = stage();
    const { claim: foreign } = await start(other);
    for (const token of [
      '',
      'x',
      `${claim.token}A`,
      claim.token.slice(0, -2),
      foreign.token,
      undefined as unknown as string,
      '__proto__',
    ])
      await expect(on.runtime.handoffs.report(token, { output: 1 })).rejects.toMatchObject({
        code: 'handoff.unknown',
      });
    expect((await on.runtime.handoffs.list()).length).toBe(1);
  });

  it('is refused for another call of the same name on the same ledger', async () => {
    const on = stage();
    const { claim, reply } = await start(on);
    await on.runtime.handoffs.report(claim.token, { output: 1 });
    await reply;
    await on.turn.end();
    await on.ledger.dropSession({ sessionId: 's', by: 'ada', reason: 'test' });
    const turn = on.runtime.turn({ sessionId: 's' });
    const { claim: next } = await start({ ...on, turn });
    await expect(on.runtime.handoffs.report(claim.token, { output: 1 })).rejects.toMatchObject({
      code: 'handoff.unknown',
    });
    expect((await on.runtime.handoffs.report(next.token, { output: 2 })).status).toBe('settled');
  });

  it('a report that is malformed is refused and may be corrected', async () => {
    const on = stage();
    const { claim } = await start(on);
    const wrong: unknown[] = [null, 5, {}, { output: 1, more: 2 }, { error: 5 }, { success: true, data: 5 }];
    for (const report of wrong)
      await expect(on.runtime.handoffs.report(claim.token, report as never)).rejects.toMatchObject({
        code: 'config.invalid',
      });
    await expect(
      on.runtime.handoffs.report(claim.token, { output: 1 }, { costMicros: -1 }),
    ).rejects.toMatchObject({
      code: 'config.invalid',
    });
    expect((await on.runtime.handoffs.report(claim.token, { output: 1 })).status).toBe('settled');
  });

  it('a report in a list fails alone', async () => {
    const on = stage();
    const { claim } = await start(on);
    const answers = await on.runtime.handoffs.reportAll([
      { token: 'x', report: { output: 1 } },
      { token: claim.token, report: { output: 1 } },
      null as never,
      { token: claim.token, report: { output: 1 } },
    ]);
    expect(answers.map((answer) => (answer.ok ? answer.reported.status : 'refused'))).toEqual([
      'refused',
      'settled',
      'refused',
      'replayed',
    ]);
  });
});

describe('time', () => {
  it('runs out for an unclaimed call, whose effect is then not unknown', async () => {
    const on = stage();
    const reply = on.turn.call(envelope('c1', 'pay'));
    await quiet();
    on.clock.advance(60_000);
    expect(await reply).toMatchObject({
      type: 'ToolTimeout',
      modelNote: expect.stringContaining('did not run'),
    });
    expect((await on.runtime.calls.list({ sessionId: 's' }))[0]?.settled?.unsettledEffect).toBe(false);
    expect((await on.runtime.calls.unresolved()).rows).toEqual([]);
    await expect(on.runtime.handoffs.claim(taken, by)).rejects.toMatchObject({ code: 'handoff.unknown' });
  });

  it('runs out for a worker: the report is late, and the effect was unknown until then', async () => {
    const on = stage();
    const { claim, reply } = await start(on);
    on.clock.advance(60_000);
    expect((await reply).type).toBe('ToolTimeout');
    expect(await on.runtime.handoffs.report(claim.token, { output: 'done' })).toMatchObject({
      status: 'late',
    });
    expect(await on.runtime.handoffs.report(claim.token, { output: 'done' })).toMatchObject({
      status: 'late',
      differs: false,
    });
    expect(await on.runtime.handoffs.report(claim.token, { output: 'else' })).toMatchObject({
      differs: true,
    });
    const call = (await on.runtime.calls.list({ sessionId: 's' }))[0];
    expect(call?.late.map(({ result }) => result)).toEqual([{ type: 'returned', output: 'done' }]);
    expect(call?.settled?.unsettledEffect).toBe(true);
    await expectSettledOnce(on.runtime);
  });

  it('[no-silent-rerun] time of a lease runs out: a call that must not run twice goes to no other worker', async () => {
    const on = stage();
    const { claim, reply } = await start(on, { leaseMs: 1_000 });
    on.clock.advance(1_000);
    expect(code(await reply)).toBe('tool.indeterminate');
    expect(await on.runtime.handoffs.claim({ toolName: 'pay' }, by)).toBeUndefined();
    expect((await on.runtime.handoffs.report(claim.token, { output: 1 })).status).toBe('late');
  });

  it('time of a lease runs out: a call that may run again gets another attempt, which the first worker cannot report', async () => {
    const on = stage();
    const { claim, reply } = await start(on, { name: 'get_all', leaseMs: 1_000 });
    on.clock.advance(1_000);
    await expect(on.runtime.handoffs.report(claim.token, { output: 1 })).rejects.toMatchObject({
      code: 'handoff.expired',
    });
    const second = await on.runtime.handoffs.claim({ toolName: 'get_all' }, { worker: 'w2' });
    expect(second).toMatchObject({ attempt: 2, idempotencyKey: claim.idempotencyKey });
    expect(second?.deadlineMs).toBe(claim.deadlineMs);
    await expect(on.runtime.handoffs.report(claim.token, { output: 1 })).rejects.toMatchObject({
      code: 'handoff.expired',
    });
    await on.runtime.handoffs.report(second?.token ?? '', { output: 2 });
    expect(await reply).toMatchObject({ output: 2 });
    expect(await on.runtime.handoffs.report(claim.token, { output: 1 })).toMatchObject({
      status: 'late',
      outcome: { output: 2 },
    });
    await expectSettledOnce(on.runtime);
  });

  it('runs out, and the model learns whether the call may have taken effect', async () => {
    const toldOf = async (name: string, isTaken: boolean): Promise<string> => {
      const on = stage();
      const reply = on.turn.call(envelope('c1', name));
      await quiet();
      if (isTaken) await on.runtime.handoffs.claim(taken, by);
      on.clock.advance(60_000);
      const outcome = await reply;
      expect(code(outcome)).toBe('tool.timeout');
      return `${outcomeToModelContent(outcome)} ${outcome.modelNote ?? ''}`;
    };
    const claimed = await toldOf('pay', true);
    expect(claimed).toMatch(/may have happened; do not repeat/);
    expect(claimed).toContain('"retryable":false');
    const read = await toldOf('get_all', true);
    expect(read).not.toMatch(/may have happened/);
    expect(read).toContain('"retryable":true');
    const untaken = await toldOf('pay', false);
    expect(untaken).toMatch(/did not run/);
    expect(untaken).not.toMatch(/may have happened/);
    expect(untaken).toContain('"retryable":true');
  });

  it('runs out for an unclaimed call: it costs nothing', async () => {
    const dear = defineTool({
      name: 'pay_dear',
      mode: 'external',
      handoff: true,
      timeoutMs: 60_000,
      costMicros: 5,
    });
    const costOf = async (isTaken: boolean): Promise<number | undefined> => {
      const on = setStage({ tools: [dear], budgets: [{ scope: 'session', costMicros: 100 }] });
      const reply = on.turn.call(envelope('c1', 'pay_dear'));
      await quiet();
      if (isTaken) await on.runtime.handoffs.claim(taken, by);
      on.clock.advance(60_000);
      expect(code(await reply)).toBe('tool.timeout');
      return (await eventsOf(on.runtime, 'tool.responded'))[0]?.costMicros;
    };
    expect([await costOf(false), await costOf(true)]).toEqual([0, 5]);
  });

  it('time of a lease that ended is charged: the first worker may have run the call', async () => {
    const dear = defineTool({
      name: 'get_dear',
      mode: 'read',
      handoff: true,
      timeoutMs: 60_000,
      costMicros: 5,
    });
    const on = setStage({ tools: [dear], budgets: [{ scope: 'session', costMicros: 100 }] });
    const { reply } = await start(on, { name: 'get_dear', leaseMs: 1_000 });
    on.clock.advance(1_000);
    const second = await on.runtime.handoffs.claim(taken, by);
    expect(second.attempt).toBe(2);
    await on.runtime.handoffs.report(second.token, { output: 1 });
    expect(await reply).toMatchObject({ output: 1 });
    const responded = (await eventsOf(on.runtime, 'tool.responded')).at(-1);
    expect(responded?.costMicros).toBe(10);
  });

  it('runs out for a call with hidden values: if its input cannot be read, the report is not shown', async () => {
    const on = stage();
    const secret = 'hunter2hunter2';
    const { claim } = await start(on, { args: { password: secret } });
    on.clock.advance(60_000);
    await quiet();
    const elsewhere = createRuntime({ tools: [], ledger: on.ledger, clock: on.clock });
    const late = await elsewhere.handoffs.report(claim.token, { output: { said: `it was ${secret}` } });
    expect(late.status).toBe('late');
    const [event] = await eventsOf(on.runtime, 'tool.late');
    expect(event?.result.type).toBe('returned');
    expect(JSON.stringify(event)).not.toContain(secret);
  });

  it('time of a lease is judged by the clock, not by which process looks first', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const tools = [pay];
    const asking = createRuntime({ tools, ledger, clock });
    const working = createRuntime({ tools, ledger, clock });
    const turn = asking.turn({ sessionId: 's' });
    void turn.call(envelope('c1', 'pay')).catch(() => undefined);
    await quiet();
    const claim = await working.handoffs.claim(taken, { worker: 'w', leaseMs: 10 });
    await asking.close();
    clock.advance(10);
    expect(await working.handoffs.report(claim.token, { output: 1 })).toMatchObject({
      status: 'late',
      outcome: { code: 'tool.indeterminate' },
    });
  });

  it('time that is up makes the runtime ask the tool first', async () => {
    const known = defineTool({
      name: 'wire',
      mode: 'external',
      handoff: true,
      reconcile: () => ({ status: 'succeeded', output: { id: 9 } }),
    });
    const on = setStage({ tools: [known] });
    const reply = on.turn.call(envelope('c1', 'wire'));
    await quiet();
    await on.runtime.handoffs.claim(taken, { worker: 'w', leaseMs: 10 });
    on.clock.advance(10);
    expect(await reply).toMatchObject({ type: 'ToolExecutionResult', output: { id: 9 } });
  });
});

describe('a budget', () => {
  const paid = defineTool({
    name: 'pay',
    mode: 'external',
    handoff: true,
    costMicros: 100,
    timeoutMs: 60_000,
  });
  const create = () =>
    setStage({ tools: [paid], budgets: [{ scope: 'all', toolCalls: 1, costMicros: 150 }] });

  it('gets back the reservation of a call that never ran', async () => {
    const on = create();
    const reply = on.turn.call(envelope('c1', 'pay'));
    await quiet();
    on.clock.advance(60_000);
    await reply;
    const second = on.turn.call(envelope('c2', 'pay', { again: true }));
    await quiet();
    expect(await on.runtime.handoffs.list()).toMatchObject([{ callId: 'c2' }]);
    on.turn.cancel('c2');
    await second;
  });

  it('is charged for work that a worker did or may have done', async () => {
    const on = create();
    const { reply } = await start(on);
    on.clock.advance(60_000);
    await reply;
    const [call] = await on.runtime.calls.list({ sessionId: 's' });
    expect(call?.settled?.costMicros).toBe(100);
    expect(await on.turn.call(envelope('c2', 'pay', { again: true }))).toMatchObject({ reason: 'budget' });
  });
});

describe('a cancellation', () => {
  it('a cancellation of an unclaimed call says that it did not run', async () => {
    const on = stage();
    const reply = on.turn.call(envelope('c1', 'pay'));
    await quiet();
    on.turn.cancel('c1', 'enough');
    expect(code(await reply)).toBe('tool.cancelled');
    expect((await on.runtime.calls.list({ sessionId: 's' }))[0]?.settled?.unsettledEffect).toBe(false);
  });

  it('a cancellation of a claimed call gives the worker a grace period, then the effect is unknown', async () => {
    const on = stage();
    const { claim, reply } = await start(on);
    on.turn.cancel('c1', 'enough');
    await quiet();
    on.clock.advance(5_000);
    expect(code(await reply)).toBe('tool.indeterminate');
    expect((await on.runtime.handoffs.report(claim.token, { output: 1 })).status).toBe('late');
  });

  it('a cancellation that a report overtakes changes nothing', async () => {
    const on = stage();
    const { claim, reply } = await start(on);
    on.turn.cancel('c1', 'enough');
    await quiet();
    await on.runtime.handoffs.report(claim.token, { output: 1 });
    expect(await reply).toMatchObject({ output: 1 });
  });
});

describe('the caller of a hand-off', () => {
  it('may close its runtime: the call continues, and is found again by its id', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const first = createRuntime({ tools: [pay], ledger, clock });
    const reply = first.turn({ sessionId: 's' }).call(envelope('c1', 'pay'));
    const heard = reply.catch((error: unknown) => error);
    await quiet();
    await first.close();
    expect(await heard).toMatchObject({ code: 'call.pending' });
    const second = createRuntime({ tools: [pay], ledger, clock });
    const again = second.turn({ sessionId: 's' }).call(envelope('c1', 'pay'));
    const claim = await second.handoffs.claim(taken, by);
    await second.handoffs.report(claim.token, { output: 1 });
    expect(await again).toMatchObject({ output: 1 });
    await expectSettledOnce(second);
  });

  it('may be gone: a repeat ends the call when its time is up', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const first = createRuntime({ tools: [pay], ledger, clock });
    void first
      .turn({ sessionId: 's' })
      .call(envelope('c1', 'pay'))
      .catch(() => undefined);
    await quiet();
    await first.handoffs.claim(taken, by);
    await first.close();
    const second = createRuntime({ tools: [pay], ledger, clock });
    const again = second.turn({ sessionId: 's' }).call(envelope('c1', 'pay'));
    await quiet();
    clock.advance(60_000);
    expect((await again).type).toBe('ToolTimeout');
    await expectSettledOnce(second);
  });
});

describe('a claim of a call by its id', () => {
  it('says whether the call was never handed off or already has its outcome', async () => {
    const on = setStage({ tools: [pay, defineTool({ name: 'delete_it', run: () => 'gone' })] });
    const claim = (callId: string) => on.runtime.handoffs.claim({ sessionId: 's', callId }, by);
    void on.turn.call(envelope('held', 'delete_it')).catch(() => undefined);
    await quiet();
    await expect(claim('held')).rejects.toMatchObject({
      code: 'handoff.unknown',
      message: 'Call held was not handed over.',
    });
    const { claim: first } = await start(on);
    await on.runtime.handoffs.report(first.token, { output: 1 });
    await expect(claim('c1')).rejects.toMatchObject({
      code: 'handoff.unknown',
      message: 'Call c1 has its outcome; there is nothing left to run.',
    });
    await expect(claim('none')).rejects.toMatchObject({ code: 'call.unknown' });
  });
});

describe('a cancelled call that a worker has', () => {
  it('is released at once if its runtime is closed during the worker’s grace period', async () => {
    const on = stage();
    const cancel = new AbortController();
    const reply = on.turn.call(envelope('c1', 'pay', { amount: 3 }), { signal: cancel.signal });
    let thrown: unknown;
    reply.catch((error: unknown) => (thrown = error));
    await quiet();
    await on.runtime.handoffs.claim(taken, by);
    cancel.abort();
    for (let round = 0; round < 5; round++) await quiet();
    void on.runtime.close();
    for (let round = 0; round < 5; round++) await quiet();
    expect(thrown).toMatchObject({ code: 'call.pending' });
  });
});

describe('a late report to a process without the tool', () => {
  const withCode = defineTool({
    name: 'pay_by_code',
    mode: 'external',
    handoff: true,
    timeoutMs: 60_000,
    redact: { input: ['$.code'] },
    input: z.object({ amount: z.number(), code: z.string().default('k-4711-xyz') }),
  });

  it.each([
    ['pay', { amount: 3 }, 'shown'],
    ['pay', { amount: 3, password: 'hunter2hunter2' }, 'withheld'],
    // [secrets-stay-out] A hidden value need not be in the request: the schema adds the code.
    ['pay_by_code', { amount: 3 }, 'withheld'],
  ])('is stored unchanged if no part of the input is hidden: %s %j is %s', async (name, args, expected) => {
    const on = setStage({ tools: [pay, withCode] });
    const { claim } = await start(on, { name, args });
    on.clock.advance(60_000);
    await quiet();
    const elsewhere = createRuntime({ tools: [], ledger: on.ledger, clock: on.clock });
    const report = { output: 'it was paid by k-4711-xyz' };
    expect(await elsewhere.handoffs.report(claim.token, report)).toMatchObject({ status: 'late' });
    const [event] = await eventsOf(on.runtime, 'tool.late');
    const output = event?.result.type === 'returned' ? event.result.output : undefined;
    expect(output).toBe(expected === 'shown' ? report.output : '[WITHHELD]');
  });
});

describe('a worker that reports one call in many ways', () => {
  it('is recorded up to twenty times, each way once', async () => {
    const on = stage();
    const { claim } = await start(on);
    await on.runtime.handoffs.report(claim.token, { output: 0 });
    for (let n = 1; n <= 25; n++)
      for (let twice = 0; twice < 2; twice++)
        expect(await on.runtime.handoffs.report(claim.token, { output: n })).toMatchObject({ differs: true });
    const reported = await eventsOf(on.runtime, 'tool.reported');
    expect(reported.filter(({ what }) => what.type === 'differs')).toHaveLength(20);
  });
});

describe('a ledger that cannot be read while a worker has the call', () => {
  /** A memory ledger whose change signals fail while `isBroken` is set. */
  function create() {
    const clock = createManualClock();
    const inner = createMemoryLedger({ clock });
    const state = { isBroken: false, isDeaf: false, asked: 0 };
    const ledger = alterLedger(inner, {
      whenChanged: (...call) => {
        state.asked++;
        return state.isBroken || state.isDeaf
          ? Promise.reject(new Error('disk I/O error'))
          : inner.whenChanged(...call);
      },
      readCall: (...call) => {
        if (state.isBroken) throw new Error('disk I/O error');
        return inner.readCall(...call);
      },
      append: (entry) => {
        if (state.isBroken) throw new Error('disk I/O error');
        return inner.append(entry);
      },
    });
    const worker = createRuntime({ clock, ledger: inner, tools: [pay] });
    const claim = () => worker.handoffs.claim(taken, by);
    return { ...setStage({ clock, ledger, tools: [pay] }), state, claim };
  }

  it('ends nothing: the caller keeps waiting, and gets the report once the ledger can be read', async () => {
    const on = create();
    const reply = on.turn.call(envelope('c1', 'pay'));
    await quiet();
    on.state.isDeaf = true;
    // Any change of the call makes the caller look.
    const claim = await on.claim();
    await quiet();
    const before = on.state.asked;
    // It polls four times a second, not in a busy loop.
    on.clock.advance(249);
    await quiet();
    expect(on.state.asked).toBe(before);
    on.clock.advance(1);
    await quiet();
    expect(on.state.asked).toBe(before + 1);
    on.state.isDeaf = false;
    on.clock.advance(250);
    await quiet();
    await on.runtime.handoffs.report(claim.token, { output: 'done' });
    expect(await reply).toMatchObject({ type: 'ToolExecutionResult', output: 'done' });
    await expectSettledOnce(on.runtime);
  });

  it('says nothing about the end after the deadline: a report may be on its way', async () => {
    const on = create();
    const reply = on.turn.call(envelope('c1', 'pay'));
    reply.catch(() => undefined); // checked below
    await quiet();
    const claim = await on.runtime.handoffs.claim(taken, by);
    await quiet();
    on.state.isBroken = true;
    on.clock.advance(60_000);
    await quiet();
    on.clock.advance(250);
    await expect(reply).rejects.toMatchObject({ code: 'call.pending' });
    on.state.isBroken = false;
    // A repeat gets the recorded outcome.
    expect(await on.runtime.turn({ sessionId: 's' }).call(envelope('c1', 'pay'))).toMatchObject({
      type: 'ToolTimeout',
    });
    expect(await on.runtime.handoffs.report(claim.token, { output: 'done' })).toMatchObject({
      status: 'late',
    });
  });
});
