import type { JsonObject, RuntimeOptions } from 'quittance';
import type { GrantRequest } from 'quittance/runtime';
import { createRuntime, defineTool, isQuittanceError, ToolDecision } from 'quittance';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

const day = 86_400_000;

/** The error that a promise rejects with. */
const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

type Options = Partial<Omit<RuntimeOptions<never>, 'tools' | 'clock'>>;

function stage(options: Options = {}) {
  const ran: unknown[] = [];
  const made = setStage({
    tools: [
      defineTool({
        name: 'delete_user',
        input: z.object({ userId: z.string(), cents: z.number().optional(), token: z.string().optional() }),
        run: (args) => ran.push(args),
      }),
      defineTool({ name: 'read_user', run: () => 'somebody' }),
    ],
    ...options,
  });
  const give = (request: Partial<GrantRequest> = {}) =>
    made.runtime.grants.give({ sessionId: 's', toolName: 'delete_user', by: 'ada', ...request });
  /** Does a call run without an approval? */
  const runs = async (id: string, args: JsonObject = { userId: 'u' }, name = 'delete_user') => {
    const turn = made.runtime.turn({ sessionId: 's' });
    const handle = turn.submit(envelope(id, name, args));
    await quiet();
    await quiet();
    const [call] = await made.runtime.calls.list({ sessionId: 's', callId: id });
    void handle.outcome().catch(() => undefined);
    return call?.confirmation === undefined && call?.settled?.outcome.type === 'ToolExecutionResult';
  };
  return { ...made, ran, give, runs };
}

describe('a standing grant', () => {
  it('approves calls that would need a person, and is named on each', async () => {
    const { runtime, turn, ran, give } = stage();
    const grant = await give({ reason: 'clean-up' });
    expect(grant).toMatchObject({ status: 'active', used: 0, by: 'ada', toolName: 'delete_user' });
    expect(await turn.call(envelope('c', 'delete_user', { userId: 'u' }))).toMatchObject({
      type: 'ToolExecutionResult',
    });
    expect(ran).toHaveLength(1);
    const [call] = await runtime.calls.list({ sessionId: 's', callId: 'c' });
    expect(call).toMatchObject({
      grantId: grant.grantId,
      decidedBy: { type: 'person', name: 'ada' },
      confirmation: undefined,
    });
    const [decided] = await eventsOf(runtime, 'tool.decided');
    expect(decided).toMatchObject({ decision: 'allow', grantId: grant.grantId });
    expect(await runtime.grants.list({ sessionId: 's' })).toEqual([{ ...grant, used: 1 }]);
    await expectSettledOnce(runtime);
  });

  it('applies to one session, one tool and its arguments', async () => {
    const { runtime, give, runs } = stage();
    await give({ where: { 'args.cents': { lte: 500 } } });
    expect(await runs('a', { userId: 'u', cents: 500 })).toBe(true);
    expect(await runs('b', { userId: 'u', cents: 501 })).toBe(false);
    expect(await runs('c', { userId: 'u' })).toBe(false);
    const elsewhere = runtime.turn({ sessionId: 'other' });
    elsewhere.submit(envelope('x', 'delete_user', { userId: 'u', cents: 1 }));
    await quiet();
    expect((await runtime.calls.list({ sessionId: 'other' }))[0]?.status).toBe('held');
  });

  it('applies to every tool that its glob matches', async () => {
    const { give, runs } = stage();
    await give({ toolName: 'read_*' });
    expect(await runs('a')).toBe(false);
    await give({ toolName: 'delete_*' });
    expect(await runs('b', { userId: 'v' })).toBe(true);
  });

  it('ends when its time is up', async () => {
    const { clock, runtime, give, runs } = stage();
    await give({ forMs: 1_000 });
    clock.advance(999);
    expect(await runs('a')).toBe(true);
    clock.advance(1);
    expect(await runs('b', { userId: 'v' })).toBe(false);
    expect(await runtime.grants.list({ sessionId: 's', active: true })).toEqual([]);
    expect((await runtime.grants.list({ sessionId: 's', active: false }))[0]?.status).toBe('expired');
  });

  it('approves as many calls as it states, however many come at once', async () => {
    const { runtime, ran, give } = stage();
    const { grantId } = await give({ uses: 3 });
    const turn = runtime.turn({ sessionId: 's' });
    for (let n = 0; n < 10; n++) turn.submit(envelope(`c${n}`, 'delete_user', { userId: `u${n}` }));
    await quiet();
    await quiet();
    expect(ran).toHaveLength(3);
    const calls = await runtime.calls.list({ sessionId: 's' });
    expect(calls.filter((call) => call.grantId === grantId)).toHaveLength(3);
    expect(calls.filter(({ status }) => status === 'held')).toHaveLength(7);
    expect(await runtime.grants.list({ sessionId: 's' })).toMatchObject([{ status: 'used_up', used: 3 }]);
  });

  it('answers hooks that ask, but not hooks that block', async () => {
    const asking = stage({ onPreToolUse: () => ToolDecision.requiresConfirmation('sure?') });
    await asking.give();
    expect(await asking.runs('a')).toBe(true);
    const blocking = stage({ onPreToolUse: () => ToolDecision.block('no') });
    await blocking.give();
    expect(await blocking.turn.call(envelope('a', 'delete_user', { userId: 'u' }))).toMatchObject({
      type: 'ToolDenied',
    });
  });

  it('answers an ask about a read with an intent, so that it is checked at the last moment', async () => {
    const { runtime, give, runs } = stage({ treatments: { read: 'ask' } });
    await give({ toolName: 'read_user', uses: 1 });
    expect(await runs('a', {}, 'read_user')).toBe(true);
    expect((await eventsOf(runtime, 'tool.started'))[0]).toMatchObject({ reserved: [{ amount: 1 }] });
    expect(await runs('b', { again: true }, 'read_user')).toBe(false);
  });

  it('plays no part in calls that need no approval', async () => {
    const { runtime, give, runs } = stage();
    await give({ toolName: '*' });
    expect(await runs('a', {}, 'read_user')).toBe(true);
    const [call] = await runtime.calls.list({ sessionId: 's', callId: 'a' });
    expect(call?.grantId).toBeUndefined();
  });

  it('a standing grant with limited uses is spent only if no unlimited grant covers the call', async () => {
    const { runtime, give, runs } = stage();
    await give({ uses: 1 });
    await give();
    expect(await runs('a')).toBe(true);
    expect((await runtime.grants.list({ sessionId: 's' })).map(({ used }) => used)).toEqual([0, 1]);
  });

  it('does not answer questions that were asked before it was given', async () => {
    const { runtime, give, runs } = stage();
    expect(await runs('a')).toBe(false);
    await give();
    await quiet();
    expect((await runtime.calls.list({ sessionId: 's', callId: 'a' }))[0]?.status).toBe('held');
  });
});

describe('revoking', () => {
  it('ends a grant at once, and records who did it', async () => {
    const { clock, runtime, give, runs } = stage();
    const { grantId } = await give();
    clock.advance(5);
    const revoked = await runtime.grants.revoke({ sessionId: 's', grantId, by: 'bob', reason: 'enough' });
    expect(revoked).toMatchObject({ status: 'revoked', revoked: { by: 'bob', reason: 'enough' } });
    expect(await runs('a')).toBe(false);
    expect(await runtime.grants.list({ sessionId: 's' })).toEqual([revoked]);
    expect((await eventsOf(runtime, 'grant.revoked'))[0]).toMatchObject({
      grantId,
      by: 'bob',
      reason: 'enough',
    });
  });

  it('twice changes nothing', async () => {
    const { runtime, give } = stage();
    const { grantId } = await give();
    const first = await runtime.grants.revoke({ sessionId: 's', grantId, by: 'bob' });
    expect(await runtime.grants.revoke({ sessionId: 's', grantId, by: 'eve' })).toEqual(first);
    expect(await eventsOf(runtime, 'grant.revoked')).toHaveLength(1);
  });

  it('refuses a grant of another session', async () => {
    const { runtime, give } = stage();
    const { grantId } = await give();
    expect(await refusal(runtime.grants.revoke({ sessionId: 'other', grantId, by: 'bob' }))).toMatchObject({
      code: 'grant.unknown',
    });
  });
});

describe('who may give a grant', () => {
  it('is decided by mayGrant; with mayDecide alone, grants are disabled', async () => {
    const silent = stage({ mayDecide: () => true });
    const error = await refusal(silent.give());
    expect(error).toMatchObject({ code: 'confirmation.forbidden' });
    expect(String(error)).toContain('mayGrant');
    const { give, runtime } = stage({
      mayGrant: (actor, { toolName }, action) =>
        action === 'revoke' || (actor === 'ada' && toolName === 'delete_user') || `${actor} is not on duty`,
    });
    expect(String(await refusal(give({ by: 'eve' })))).toContain('eve is not on duty');
    expect(await eventsOf(runtime, 'grant.given')).toEqual([]);
    const { grantId } = await give();
    await runtime.grants.revoke({ sessionId: 's', grantId, by: 'eve' });
  });

  it.each(['', 0, null, undefined, {}, 'yes'])('is no one if mayGrant answers %j', async (answer) => {
    const { give } = stage({ mayGrant: () => answer as unknown as boolean });
    expect(await refusal(give())).toMatchObject({ code: 'confirmation.forbidden' });
  });

  it('is not the requester, with separate duties', async () => {
    const { runtime, give } = stage({ separateDuties: true });
    await give();
    for (const [id, userId, status] of [
      ['a', 'Ada ', 'held'],
      ['b', 'bob', 'settled'],
    ] as const) {
      const turn = runtime.turn({ sessionId: 's', principal: { userId } });
      turn.submit(envelope(id, 'delete_user', { userId: id }));
      await quiet();
      expect((await runtime.calls.list({ sessionId: 's', callId: id }))[0]?.status).toBe(status);
    }
  });
});

it('a grant is not recorded on a call that was denied in the end', async () => {
  let given = false;
  const { clock, runtime } = setStage({
    tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
    mayGrant: () => {
      if (given) clock.advance(1_000);
      return true;
    },
  });
  await runtime.grants.give({ sessionId: 's', toolName: 'delete_it', by: 'ada' });
  given = true;
  // The turn ends while the giver of the grant is looked up.
  const outcome = await runtime.turn({ sessionId: 's', timeoutMs: 500 }).call(envelope('c', 'delete_it'));
  expect(outcome).toMatchObject({ type: 'ToolDenied', reason: 'deadline' });
  const [decided] = await eventsOf(runtime, 'tool.decided');
  expect(decided?.decision).toBe('deny');
  expect(decided?.grantId).toBeUndefined();
});

describe('what cannot be granted', () => {
  it.each<[string, object]>([
    ['it has no giver', { by: ' ' }],
    ['a misspelt field', { untill: 5 }],
    ['both ends', { until: day, forMs: day }],
    ['a time that is past', { until: 1 }],
    ['no time', { until: Number.NaN }],
    ['a time beyond all numbers', { forMs: Number.MAX_SAFE_INTEGER }],
    ['no uses', { uses: 0 }],
    ['half a use', { uses: 1.5 }],
    ['no tool', { toolName: '' }],
    ['no session', { sessionId: '' }],
    ['a session that is a place', { sessionId: '.' }],
    ['a session that is the place above', { sessionId: '..' }],
    ['a session that no turn can have', { sessionId: 's\uD800' }],
    ['an invalid condition', { where: { 'args.a': { equal: 1 } } }],
    ['a condition on who asks', { where: { 'principal.role': { equals: 'admin' } } }],
    ['a condition of nothing', { where: {} }],
    ['a condition that is not an object', { where: [] }],
    ['a reason that is not a text', { reason: 5 }],
    ['a very long condition', { where: { 'args.a': { equals: 'x'.repeat(20_000) } } }],
  ])('%s', async (_, wrong) => {
    const { runtime, give } = stage();
    expect(await refusal(give(wrong))).toMatchObject({
      code: 'config.invalid',
      // The message names the request, not the ledger that would refuse it later.
      message: expect.stringMatching(/^runtime\.grants\.give: /) as string,
    });
    expect(await runtime.grants.list({ sessionId: 's' })).toEqual([]);
  });

  it('a secret in a condition: grants are stored in plain text', async () => {
    const { give } = stage();
    for (const where of [
      { 'args.token': { equals: 'hunter2hunter2' } },
      { not: { 'args.note': { contains: 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789' } } },
    ]) {
      const error = await refusal(give({ where }));
      expect(isQuittanceError(error, 'config.invalid')).toBe(true);
      expect(String(error)).not.toContain('hunter2');
    }
    await give({ where: { 'args.token': { exists: false } } });
  });

  it('more than a hundred at a time', async () => {
    const { runtime, give } = stage();
    const grants = [];
    for (let n = 0; n < 100; n++) grants.push(await give({ toolName: `t${n}` }));
    expect(await refusal(give())).toMatchObject({ code: 'config.invalid' });
    await runtime.grants.revoke({ sessionId: 's', grantId: grants[0]?.grantId ?? '', by: 'ada' });
    await give();
  });
});

it('grants given at the same time are all stored', async () => {
  const { runtime, give, ledger } = stage();
  const other = createRuntime({ tools: [], ledger });
  await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      n % 2 === 0
        ? give({ toolName: `t${n}` })
        : other.grants.give({ sessionId: 's', toolName: `t${n}`, by: 'bob' }),
    ),
  );
  expect(new Set((await runtime.grants.list({ sessionId: 's' })).map(({ toolName }) => toolName)).size).toBe(
    10,
  );
});
