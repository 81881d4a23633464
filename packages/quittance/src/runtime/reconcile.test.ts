import type { Reconciliation } from 'quittance';
import { createRuntime, defineTool, QuittanceError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { contractsFromYamlString } from 'quittance/contracts';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { createMortalLedger } from '../../../../test/mortal-ledger.ts';
import { envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';
import { readSealed, readClaim } from '../ledger/reads.ts';

const lost = { sessionId: 's', callId: 'a' };

/** A call that timed out, so that its effect is unknown. */
async function loseCall(
  options: Partial<Parameters<typeof setStage>[0]> = {},
  args: Readonly<Record<string, unknown>> = { to: 'Ada' },
) {
  const asked: unknown[] = [];
  const answers: Reconciliation[] = [];
  const pay = defineTool({
    name: 'pay',
    mode: 'external',
    timeoutMs: 1_000,
    run: () => new Promise(() => undefined),
    reconcile: (attempt) => {
      asked.push(attempt);
      return answers.shift() ?? { status: 'unknown' };
    },
  });
  const on = setStage({ tools: [pay], ...options });
  const reply = on.turn.call(envelope('a', 'pay', args), { principal: { userId: 'bob' } });
  await quiet();
  on.clock.advance(1_000);
  const outcome = await reply;
  return { ...on, asked, answers, outcome };
}

describe('unresolved calls', () => {
  it('are listed with their facts until a person resolves them', async () => {
    const { runtime, outcome } = await loseCall();
    const { rows, next } = await runtime.calls.unresolved();
    expect(next).toBeUndefined();
    expect(rows).toMatchObject([
      {
        callId: 'a',
        toolName: 'pay',
        effectiveInput: { to: 'Ada' },
        outcome,
        attempts: 1,
        canAskTool: true,
        late: [],
      },
    ]);
    expect((await runtime.calls.unresolved({ toolName: 'other' })).rows).toEqual([]);
    await expect(runtime.calls.unresolved({ tool: 'pay' } as never)).rejects.toMatchObject({
      code: 'config.invalid',
    });
    await runtime.calls.reconcile(lost, { resolution: 'failed', by: 'Ada' });
    expect((await runtime.calls.unresolved({ sessionId: 's' })).rows).toEqual([]);
  });
});

describe('the tool', () => {
  it('is asked first on request; an answer of "unknown" is not recorded', async () => {
    const { runtime, asked, answers, outcome } = await loseCall();
    const before = await runtime.calls.reconcile(lost, { ask: 'tool', by: 'Ada' });
    expect(before.resolution).toBeUndefined();
    expect(asked).toMatchObject([{ args: { to: 'Ada' }, callId: 'a', attempt: 1, idempotencyKey: 's/a' }]);
    answers.push({ status: 'succeeded', output: { receipt: 7 } });
    const call = await runtime.calls.reconcile(lost, { ask: 'tool', by: 'Ada' });
    expect(call.resolution).toMatchObject({
      resolution: 'succeeded',
      by: { type: 'hook', name: 'reconcile' },
      reason: 'Asked by Ada.',
      result: { receipt: 7 },
    });
    expect(call.settled?.outcome).toEqual(outcome);
    await expect(runtime.calls.reconcile(lost, { ask: 'tool', by: 'Ada' })).rejects.toMatchObject({
      code: 'call.resolved',
    });
    expect(asked).toHaveLength(2);
    await expectSettledOnce(runtime);
  });

  it('gets the hidden input, which is dropped once the call is resolved', async () => {
    const { runtime, asked, answers, ledger } = await loseCall({}, { password: 'hunter2-hunter2' });
    expect(await readSealed(ledger, 's', 'a')).toBeDefined();
    answers.push({ status: 'succeeded', output: 'paid with hunter2-hunter2' });
    const call = await runtime.calls.reconcile(lost, { ask: 'tool', by: 'Ada' });
    expect(asked).toMatchObject([{ args: { password: 'hunter2-hunter2' } }]);
    expect(JSON.stringify(call)).not.toContain('hunter2');
    expect(await readSealed(ledger, 's', 'a')).toBeUndefined();
  });

  it('the tool without reconcile cannot be asked, and the error says so', async () => {
    const { ledger, clock } = await loseCall();
    const other = createRuntime({ ledger, clock, tools: [] });
    expect((await other.calls.unresolved()).rows[0]?.canAskTool).toBe(false);
    await expect(other.calls.reconcile(lost, { ask: 'tool', by: 'Ada' })).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('"pay"'),
    });
  });
});

describe('the person who resolves', () => {
  it('needs the permission: mayDecide is asked about the call, with the word resolve', async () => {
    const seen: unknown[] = [];
    const { runtime } = await loseCall({
      mayDecide: (actor, { toolName }, decision) => {
        seen.push([actor, toolName, decision]);
        return actor === 'ada' || 'not on duty';
      },
    });
    await expect(
      runtime.calls.reconcile(lost, { resolution: 'safe_to_retry', by: 'eve' }),
    ).rejects.toMatchObject({
      code: 'confirmation.forbidden',
      message: expect.stringContaining('not on duty'),
    });
    await runtime.calls.reconcile(lost, { resolution: 'safe_to_retry', by: 'ada' });
    expect(seen).toEqual([
      ['eve', 'pay', 'resolve'],
      ['ada', 'pay', 'resolve'],
    ]);
  });

  it('is not the requester, with separate duties', async () => {
    const { runtime } = await loseCall({ separateDuties: true });
    for (const found of [{ resolution: 'failed', by: ' BOB ' } as const, { ask: 'tool', by: 'bob' } as const])
      await expect(runtime.calls.reconcile(lost, found)).rejects.toMatchObject({
        code: 'confirmation.forbidden',
      });
    await runtime.calls.reconcile(lost, { resolution: 'failed', by: 'ada' });
  });

  it('gives a name and a value that can be stored', async () => {
    const { runtime } = await loseCall();
    const wrong: unknown[] = [
      null,
      {},
      { resolution: 'failed', by: ' ' },
      { resolution: 'maybe', by: 'ada' },
      { resolution: 'failed', by: 'ada', result: 1n },
      { resolution: 'failed', by: 'ada', more: 1 },
      { ask: 'model', by: 'ada' },
      { ask: 'tool' },
    ];
    for (const found of wrong)
      await expect(runtime.calls.reconcile(lost, found as never)).rejects.toBeInstanceOf(QuittanceError);
    await expect(
      runtime.calls.reconcile({ sessionId: 's', callId: 'x' }, { resolution: 'failed', by: 'ada' }),
    ).rejects.toMatchObject({ code: 'call.unknown' });
    expect(await eventsOf(runtime, 'tool.resolved')).toEqual([]);
  });
});

describe('the evidence of a call for a workflow', () => {
  const contracts = () =>
    contractsFromYamlString(`
apiVersion: edictum/v1
kind: Workflow
metadata: { name: release, version: "1" }
stages:
  - id: check
    tools: [Bash]
    exit: [{ condition: 'command_matches("^make test$")', message: Let make test succeed first }]
  - { id: push, tools: [push] }
`);
  const push = defineTool({ name: 'push', mode: 'external', run: () => 'pushed' });

  it('counts once the call is known to have taken effect', async () => {
    const bash = defineTool({
      name: 'Bash',
      mode: 'external',
      timeoutMs: 1_000,
      run: () => new Promise(() => undefined),
    });
    const on = setStage({ tools: [bash, push], contracts: contracts() });
    const reply = on.turn.call(envelope('a', 'Bash', { command: 'make test' }));
    await quiet();
    on.clock.advance(1_000);
    await reply;
    expect(await on.turn.call(envelope('b', 'push'))).toMatchObject({ type: 'ToolDenied' });
    await on.runtime.calls.reconcile(lost, { resolution: 'succeeded', by: 'ada' });
    expect(await on.turn.call(envelope('c', 'push'))).toMatchObject({ output: 'pushed' });
    await expectSettledOnce(on.runtime);
  });

  it('counts for the stage that let it run, whichever process writes its end', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const bash = defineTool({ name: 'Bash', mode: 'external', handoff: true });
    const create = () => createRuntime({ clock, ledger, tools: [bash, push], contracts: contracts() });
    const [asking, working] = [create(), create()];
    const turn = asking.turn({ sessionId: 's' });
    const reply = turn.call(envelope('a', 'Bash', { command: 'make test' }));
    await quiet();
    const claim = await working.handoffs.claim(lost, { worker: 'w' });
    await working.handoffs.report(claim.token, { output: 'ok' });
    await reply;
    expect(await turn.call(envelope('c', 'push'))).toMatchObject({ output: 'pushed' });
  });
});

describe('a process without the tool', () => {
  it.each(['safe_to_retry', 'failed'] as const)(
    'a process without the tool that resolves a call as %s releases its key',
    async (resolution) => {
      const clock = createManualClock();
      const ledger = createMemoryLedger({ clock });
      const ran: unknown[] = [];
      const order = (run: () => unknown) =>
        defineTool({
          name: 'order',
          mode: 'external',
          timeoutMs: 1_000,
          idempotencyKey: (args) => (args as { key: string }).key,
          run,
        });
      const first = createRuntime({ clock, ledger, tools: [order(() => new Promise(() => undefined))] });
      const reply = first.turn({ sessionId: 's' }).call(envelope('a', 'order', { key: 'k' }));
      await quiet();
      clock.advance(1_000);
      expect(await reply).toMatchObject({ type: 'ToolTimeout' });
      const state = createRuntime({ clock, ledger, tools: [] });
      await state.calls.reconcile(lost, { resolution, by: 'ada' });
      const stored = await ledger.readCall('s', 'a');
      expect(await readClaim(ledger, stored?.claimKey ?? '')).toBeUndefined();
      const next = createRuntime({ clock, ledger, tools: [order(() => ran.push('ran'))] });
      // With other arguments the key would be refused while the first call holds it.
      expect(
        await next.turn({ sessionId: 's' }).call(envelope('b', 'order', { key: 'k', note: 'other' })),
      ).toMatchObject({ type: 'ToolExecutionResult' });
      expect(ran).toEqual(['ran']);
    },
  );
});

it('a call of a dead process that its tool knows did not take effect may be repeated', async () => {
  const clock = createManualClock();
  const file = createMortalLedger(clock);
  const pay = defineTool({
    name: 'pay',
    mode: 'external',
    run: () => new Promise(() => undefined),
    reconcile: () => ({ status: 'failed', reason: 'no such payment' }),
  });
  const owner = file.open();
  void createRuntime({ clock, ledger: owner.ledger, tools: [pay] })
    .turn({ sessionId: 's' })
    .call(envelope('a', 'pay'));
  await quiet();
  owner.kill();
  const runtime = createRuntime({ clock, ledger: file.open().ledger, tools: [pay] });
  await runtime.recover();
  const [call] = await runtime.calls.list(lost);
  expect(call?.settled?.outcome).toMatchObject({
    code: 'tool.execution_error',
    retryable: true,
    error: expect.stringContaining('no such payment') as string,
  });
  await expectSettledOnce(runtime);
});
