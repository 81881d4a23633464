import { createRuntime, defineTool, isQuittanceError, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import {
  auditKinds,
  deferred,
  envelope,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';
import { thrownBy } from '../../../../test/thrown-by.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';

const pay = defineTool({ name: 'pay', run: ({ n }) => n ?? 'paid' });

describe('a runtime', () => {
  it.each<[string, object, RegExp]>([
    ['a misspelt option', { tools: [pay], onPreTooluse: () => 1 }, /onPreToolUse/],
    ['no tools', {}, /tools/],
    ['tools that are none', { tools: [{ name: 'x', run: () => 1 }] }, /tools\[0\].*defineTool/],
    ['two tools of one name', { tools: [pay, pay] }, /"pay"/],
    [
      'a tool with the name of ours',
      { tools: [defineTool({ name: 'read_artifact', run: () => 1 })] },
      /read_artifact/,
    ],
    ['a hook that is not a function', { tools: [pay], onPreToolUse: [ToolDecision.allow] }, /onPreToolUse/],
    ['a decider that is not a function', { tools: [pay], onConfirm: true }, /onConfirm/],
    ['a success check that is not a function', { tools: [pay], successCheck: 'ok' }, /successCheck/],
    ['a repair of another shape', { tools: [pay], repair: { attempts: 2 } }, /repair/],
    ['an unknown treatment', { tools: [pay], treatments: { destructive: 'maybe' } }, /destructive/],
    ['an unknown mode', { tools: [pay], treatments: { deadly: 'ask' } }, /deadly/],
    ['a timeout of nothing', { tools: [pay], defaultTimeoutMs: 0 }, /defaultTimeoutMs/],
    ['half a call at a time', { tools: [pay], concurrency: 0.5 }, /concurrency/],
    ['a budget that limits nothing', { tools: [pay], budgets: [{ scope: 'turn' }] }, /limits nothing/],
    ['a budget that is nothing', { tools: [pay], budgets: [null] }, /scope/],
    ['a budget without a scope', { tools: [pay], budgets: [{ toolCalls: 1 }] }, /scope/],
    ['half a tool call', { tools: [pay], budgets: [{ scope: 'turn', toolCalls: 1.5 }] }, /toolCalls/],
    ['a budget per week', { tools: [pay], budgets: [{ scope: 'x', per: 'week', toolCalls: 1 }] }, /day/],
    [
      'a misspelt budget',
      { tools: [pay], budgets: [{ scope: 'turn', toolCalls: 1, toolcalls: 1 }] },
      /toolcalls/,
    ],
    [
      'an invalid pattern',
      { tools: [pay], redaction: { patterns: [{ name: 'x', pattern: 'y' }] } },
      /RegExp/,
    ],
    ['an invalid ledger', { tools: [pay], ledger: {} }, /ledger/],
  ])('is not created with %s, and the error says what to change', (_, options, message) => {
    const thrown = thrownBy(() => createRuntime(options as never));
    expect(isQuittanceError(thrown, 'config.invalid')).toBe(true);
    expect((thrown as Error).message).toMatch(message);
  });

  it.each<[string, object]>([
    ['no session', {}],
    ['an empty session', { sessionId: '' }],
    ['a session that is not a text', { sessionId: 7 }],
    ['half a character as session', { sessionId: '\ud800' }],
    ['an empty turn id', { sessionId: 's', turnId: '' }],
    ['an invalid deadline', { sessionId: 's', deadlineMs: Number.NaN }],
    ['a duration as deadline', { sessionId: 's', deadlineMs: 30_000 }],
    ['a timeout without end', { sessionId: 's', timeoutMs: Number.POSITIVE_INFINITY }],
    ['a misspelt option', { sessionId: 's', timeout: 5 }],
    ['attrs that JSON cannot hold', { sessionId: 's', attrs: { n: 10n } }],
    ['a principal that is text', { sessionId: 's', principal: 'ada' }],
    ['a budget that limits nothing', { sessionId: 's', budgets: [{ scope: 'turn' }] }],
  ])('opens no turn with %s', (_, options) => {
    const runtime = createRuntime({ tools: [pay] });
    expect(
      isQuittanceError(
        thrownBy(() => runtime.turn(options as never)),
        'config.invalid',
      ),
    ).toBe(true);
  });

  it.each<[string, object]>([
    ['a misspelt option', { onprogress: () => 1 }],
    ['attrs that JSON cannot hold', { attrs: { n: 10n } }],
    ['a principal that is text', { principal: 'ada' }],
    ['an invalid signal', { signal: null }],
    ['an onProgress that is not a function', { onProgress: 'aloud' }],
  ])('makes no call with %s, but makes the same call without it', async (_, options) => {
    const { runtime, turn } = setStage({ tools: [pay] });
    const thrown = await turn.call(envelope('c', 'pay'), options).catch((error: unknown) => error);
    expect(isQuittanceError(thrown, 'config.invalid')).toBe(true);
    expect(await runtime.events.list({ sessionId: 's' })).toEqual([]);
    expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ type: 'ToolExecutionResult' });
  });

  it('writes nothing when a turn is opened, and opens it with its first call', async () => {
    const { runtime } = setStage({ tools: [pay] });
    const turn = runtime.turn({
      sessionId: 's',
      turnId: 't',
      principal: { userId: 'ada' },
      timeoutMs: 1_000,
    });
    expect(await runtime.events.list({ sessionId: 's' })).toEqual([]);
    await Promise.all(['a', 'b'].map((id) => turn.call(envelope(id, 'pay'))));
    const opened = (await runtime.events.list({ sessionId: 's' })).filter(
      ({ type }) => type === 'turn.opened',
    );
    expect(opened).toMatchObject([
      { turnId: 't', principal: { userId: 'ada' }, deadlineMs: 1_700_000_001_000 },
    ]);
  });
});

describe('two runtimes in one process', () => {
  it('two runtimes in one process on two ledgers share nothing', async () => {
    const runtimes = [1, 2].map(() =>
      createRuntime({ tools: [pay], budgets: [{ scope: 'team', toolCalls: 1 }] }),
    );
    const outcomes = await Promise.all(
      runtimes.map((runtime, n) => runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay', { n }))),
    );
    expect(outcomes).toMatchObject([{ output: 0 }, { output: 1 }]);
    for (const [n, runtime] of runtimes.entries()) {
      expect(await runtime.calls.list({ sessionId: 's' })).toMatchObject([{ requestedInput: { n } }]);
      await expectSettledOnce(runtime);
    }
  });

  it('two runtimes in one process on one ledger show the same, including hidden inputs', async () => {
    const ledger = createMemoryLedger();
    const [one, two] = [1, 2].map(() => createRuntime({ ledger, tools: [pay] }));
    const args = { password: 'hunter2', n: 1 };
    const first = await one?.turn({ sessionId: 's' }).call(envelope('c', 'pay', args));
    expect(await two?.turn({ sessionId: 's' }).call(envelope('c', 'pay', args))).toEqual(first);
    expect(await two?.events.list({ sessionId: 's' })).toEqual(await one?.events.list({ sessionId: 's' }));
  });

  it('may have different tools, hooks and people', async () => {
    const ledger = createMemoryLedger();
    const strict = createRuntime({ ledger, tools: [pay], onPreToolUse: () => ToolDecision.block('no') });
    const lax = createRuntime({ ledger, tools: [pay] });
    expect(await strict.turn({ sessionId: 's' }).call(envelope('a', 'pay'))).toMatchObject({
      reason: 'pre_hook',
    });
    expect(await lax.turn({ sessionId: 's' }).call(envelope('b', 'pay'))).toMatchObject({ output: 'paid' });
  });
});

describe('the record', () => {
  it('is shown per session and per call, in the order it was stored', async () => {
    const bodies = new Map(['a', 'b'].map((id) => [id, deferred()]));
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'work', run: (_, { callId }) => bodies.get(callId)?.promise })],
    });
    const asked = ['a', 'b'].map((id) => turn.call(envelope(id, 'work', { id })));
    await quiet();
    bodies.get('b')?.resolve();
    await asked[1];
    bodies.get('a')?.resolve();
    await asked[0];
    expect((await runtime.calls.list({ sessionId: 's' })).map(({ callId }) => callId)).toEqual(['a', 'b']);
    expect((await runtime.calls.audit({ sessionId: 's' })).map(({ callId }) => callId)).toEqual(['b', 'a']);
    expect((await runtime.calls.list({ sessionId: 's', callId: 'b' })).map(({ callId }) => callId)).toEqual([
      'b',
    ]);
    expect(await runtime.calls.list({ sessionId: 'other' })).toEqual([]);
    expect(await runtime.events.list({ sessionId: 's', callId: 'nobody' })).toEqual([]);
  });

  it('stays in order when the wall clock is set back and forth', async () => {
    const clock = createManualClock();
    const { runtime, turn } = setStage({
      clock,
      tools: [defineTool({ name: 'delete_it', timeoutMs: 100, run: () => (clock.jumpTo(5_000), 'gone') })],
      onConfirm: () => {
        clock.jumpTo(1_000);
        return { decision: 'approve', by: 'ada' };
      },
    });
    clock.jumpTo(9_000_000);
    expect(await turn.call(envelope('a', 'delete_it'))).toMatchObject({ output: 'gone', elapsedMs: 0 });
    clock.jumpTo(10);
    await turn.call(envelope('b', 'nope'));
    expect(await auditKinds(runtime, 'a')).toEqual(['requires_confirmation', 'completed']);
    expect((await runtime.calls.audit({ sessionId: 's' })).map(({ callId, at }) => [callId, at])).toEqual([
      ['a', 9_000_000],
      ['a', 5_000],
      ['b', 10],
    ]);
    await expectSettledOnce(runtime);
  });

  it('names the cause of each event: one chain per call, from its request on', async () => {
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
      onConfirm: () => ({ decision: 'approve', by: 'ada' }),
    });
    await turn.call(envelope('c', 'delete_it'));
    const events = await runtime.events.list({ sessionId: 's', callId: 'c' });
    expect(events.map(({ cause }) => cause)).toEqual([undefined, ...events.slice(0, -1).map(({ id }) => id)]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  it('carries the principal, the model, and the source of the mode', async () => {
    const { runtime } = setStage({ tools: [pay, defineTool({ name: 'get_it', run: () => 1 })] });
    const turn = runtime.turn({ sessionId: 's', provenance: { provider: 'p', model: 'm' }, attrs: { a: 1 } });
    await turn.call(envelope('a', 'pay'), { provenance: { model: 'other' } });
    await turn.call(envelope('b', 'get_it'));
    const records = await runtime.calls.audit({ sessionId: 's' });
    expect(records).toMatchObject([
      { mode: 'external', modeOrigin: 'default', provenance: { model: 'other' } },
      { mode: 'read', modeOrigin: 'inferred', provenance: { provider: 'p', model: 'm' } },
    ]);
  });
});

describe('a runtime that is closed', () => {
  it('accepts no more calls, and waits for active ones', async () => {
    const body = deferred<string>();
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'work', run: () => body.promise })] });
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    let closed = false;
    const closing = runtime.close().then(() => (closed = true));
    const thrown = await turn.call(envelope('d', 'work')).catch((error: unknown) => error);
    expect(isQuittanceError(thrown, 'runtime.closed')).toBe(true);
    await quiet();
    expect(closed).toBe(false);
    body.resolve('done');
    await closing;
    expect(await asked).toMatchObject({ output: 'done' });
    expect(await runtime.calls.list({ sessionId: 's' })).toHaveLength(1);
    await runtime.close();
  });

  it('leaves held calls held, and waits for one that was approved', async () => {
    const answers = [1, 2].map(() => deferred<{ decision: 'approve'; by: string }>());
    const body = deferred<string>();
    let question = 0;
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => body.promise })],
      onConfirm: () => answers[question++]?.promise ?? Promise.reject(new Error('no third')),
    });
    const approved = turn.call(envelope('a', 'delete_it', { n: 1 }));
    void turn.call(envelope('b', 'delete_it', { n: 2 })).catch(() => undefined);
    await quiet();
    answers[0]?.resolve({ decision: 'approve', by: 'ada' });
    await quiet();
    let closed = false;
    const closing = runtime.close().then(() => (closed = true));
    await quiet();
    expect(closed).toBe(false);
    body.resolve('gone');
    await closing;
    expect(await approved).toMatchObject({ output: 'gone' });
    const statuses = (await runtime.calls.list({ sessionId: 's' })).map(({ callId, status }) => [
      callId,
      status,
    ]);
    expect(statuses).toEqual([
      ['a', 'settled'],
      ['b', 'held'],
    ]);
  });

  it('settles calls that the ledger could not store before', async () => {
    const inner = createMemoryLedger();
    let broken = true;
    const ledger = alterLedger(inner, {
      append: (entry) => {
        if (broken && entry.events.some(({ type }) => type === 'tool.responded'))
          throw new Error('disk full');
        return inner.append(entry);
      },
    });
    const { runtime, turn } = setStage({ ledger, tools: [pay] });
    expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ code: 'tool.indeterminate' });
    broken = false;
    await runtime.close();
    await expectSettledOnce(runtime);
  });
});

describe('a day and a deadline', () => {
  it('use the ledger’s clock and the runtime’s, each its own', async () => {
    const ledgerClock = createManualClock(Date.parse('2026-01-01T23:59:59.999Z'));
    const clock = createManualClock();
    const { turn } = setStage({
      clock,
      ledger: createMemoryLedger({ clock: ledgerClock }),
      tools: [pay],
      budgets: [{ scope: 'team', per: 'day', toolCalls: 1 }],
    });
    await turn.call(envelope('a', 'pay', { n: 1 }));
    clock.advance(86_400_000);
    expect(await turn.call(envelope('b', 'pay', { n: 2 }))).toMatchObject({ reason: 'budget' });
    ledgerClock.advance(1);
    expect(await turn.call(envelope('c', 'pay', { n: 3 }))).toMatchObject({ output: 3 });
  });
});
