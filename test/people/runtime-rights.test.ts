/** Who may do what is decided by the runtime: the library, the command line and HTTP get the same answer. */
import { createRuntime, defineTool, isQuittanceError, ToolError } from 'quittance';
import type { DirectIdentity } from 'quittance/events';
import { createMemoryLedger } from 'quittance/ledger';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/runtime/host/limits.ts';
import { apiSchemas } from '../../src/http/api-schemas.ts';
import { repeatCalls } from '../../src/replay/repeat-calls.ts';
import type { CallRef } from '../../src/runtime/state/gate.ts';
import { eventually } from '../eventually.ts';
import { payRule, person, quorumStage, ruleset } from './quorum-stage.ts';

const dayMs = 86_400_000;
const finance = (name: string) => person(name, ['finance']);
const token = (name: string, role: string) =>
  ({ kind: 'token', id: `t-${name}`, name, via: 'bearer', roles: [role] }) as const;
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'accepted',
    (error: unknown) => (isQuittanceError(error) ? error.code : String(error)),
  );

describe('[bound-approval] the runtime checks rights for every caller', () => {
  const one = ruleset(payRule('{ quorum: 1 }'));

  test.each<[string, DirectIdentity | undefined, string]>([
    ['a self-asserted name', undefined, 'confirmation.forbidden'],
    ['a name that equals the delegator, unverified', { kind: 'self_asserted' }, 'confirmation.forbidden'],
    ['another person of the group', finance('eve'), 'confirmation.forbidden'],
    ['the display name of the delegate', { ...finance('mal'), name: 'dan' }, 'confirmation.forbidden'],
    ['an approver who is a stranger', token('mal', 'approver'), 'confirmation.forbidden'],
    ['an OS user who is a stranger', { kind: 'os_user', user: 'mallory' }, 'confirmation.forbidden'],
    ['the delegator', finance('ada'), 'accepted'],
    ['the delegate', person('dan'), 'accepted'],
    ['an admin', token('root', 'admin'), 'accepted'],
  ])('%s revokes a delegation', async (_, identity, expected) => {
    const { runtime, clock } = quorumStage(one);
    const until = clock.now() + dayMs;
    const { delegationId } = await runtime.delegations.give({
      by: 'ada',
      identity: finance('ada'),
      to: 'dan',
      until,
    });
    const ref = { delegationId, by: 'ada', ...(identity !== undefined && { identity }) };
    expect(await codeOf(runtime.delegations.revoke(ref))).toBe(expected);
    const [listed] = await runtime.delegations.list();
    expect(listed?.status).toBe(expected === 'accepted' ? 'revoked' : 'active');
  });

  test.each(['viewer', 'operator'])(
    'a token with the role %s decides, grants and delegates nothing',
    async (role) => {
      const stage = quorumStage(one);
      const { runtime, ran, clock } = stage;
      const identity = token('mal', role);
      const question = await stage.ask('c');
      const until = clock.now() + dayMs;
      expect(await codeOf(stage.approve(question, identity))).toBe('confirmation.forbidden');
      expect(
        await codeOf(runtime.grants.give({ sessionId: 's', toolName: 'pay', by: 'mal', identity })),
      ).toBe('confirmation.forbidden');
      expect(await codeOf(runtime.delegations.give({ by: 'mal', identity, to: 'dan', until }))).toBe(
        'confirmation.forbidden',
      );
      expect(ran).toEqual([]);
    },
  );

  test('an approver undoes nothing', async () => {
    const { runtime } = quorumStage(one);
    const undo = runtime.calls.undo(
      { sessionId: 's', callId: 'c' },
      { by: 'mal', identity: token('mal', 'approver') },
    );
    expect(await codeOf(undo)).toBe('confirmation.forbidden');
  });
});

test.each(['viewer', 'approver'])(
  'a worker whose token has the role %s claims and reports nothing, through the library too',
  async (role) => {
    const tool = defineTool({ name: 'render', mode: 'external', handoff: true, timeoutMs: 60_000 });
    const runtime = createRuntime({ tools: [tool], ledger: createMemoryLedger() });
    const told = runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'render', arguments: {} });
    const claim = await eventually(async () => {
      const found = await runtime.handoffs.claim(
        { toolName: 'render' },
        { worker: 'farm', identity: token('farm', 'operator') },
      );
      if (found === undefined) throw new Error('The call does not wait yet.');
      return found;
    });
    const identity = token('mal', role);
    for (const choice of [{ toolName: 'render' }, { sessionId: 's', callId: 'c' }])
      expect(await codeOf(runtime.handoffs.claim(choice as CallRef, { worker: 'mal', identity }))).toBe(
        'confirmation.forbidden',
      );
    expect(await codeOf(runtime.handoffs.report(claim.token, { output: 'forged' }, {}, identity))).toBe(
      'confirmation.forbidden',
    );
    await runtime.handoffs.report(claim.token, { output: 'true' }, {}, token('farm', 'operator'));
    expect(await told).toMatchObject({ output: 'true' });
    await runtime.close();
  },
);

test('an operator asks the tool what happened, and only an approver states it, through the library too', async () => {
  const tool = defineTool({
    name: 'pay',
    mode: 'external',
    run: (): string => {
      throw new ToolError('tool.indeterminate', 'The connection broke.');
    },
    reconcile: () => ({ status: 'unknown' }),
  });
  const runtime = createRuntime({ tools: [tool], ledger: createMemoryLedger() });
  const ref = { sessionId: 's', callId: 'c' };
  await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'pay', arguments: {} });
  const found = { by: 'mal', resolution: 'failed' } as const;
  for (const role of ['viewer', 'operator'])
    expect(await codeOf(runtime.calls.reconcile(ref, { ...found, identity: token('mal', role) }))).toBe(
      'confirmation.forbidden',
    );
  const asks = { ask: 'tool', by: 'mal' } as const;
  expect(await codeOf(runtime.calls.reconcile(ref, { ...asks, identity: token('mal', 'viewer') }))).toBe(
    'confirmation.forbidden',
  );
  expect(await codeOf(runtime.calls.reconcile(ref, { ...asks, identity: token('mal', 'operator') }))).toBe(
    'accepted',
  );
  expect(await codeOf(runtime.calls.reconcile(ref, { ...found, identity: token('grace', 'approver') }))).toBe(
    'accepted',
  );
});

test.each(['viewer', 'approver'])('a token with the role %s makes no call of a fork again', async (role) => {
  const ran: string[] = [];
  const tool = defineTool({ name: 'get_note', mode: 'read', run: () => void ran.push('get_note') });
  const runtime = createRuntime({ tools: [tool], ledger: createMemoryLedger() });
  const call = {
    turnId: 't',
    callId: 'c',
    toolName: 'get_note',
    arguments: {},
    principal: undefined,
    attrs: undefined,
    outcome: 'ToolExecutionResult',
  } as const;
  const repeat = repeatCalls(runtime, [call], {
    sessionId: 's2',
    parentSessionId: 's',
    askedBy: token('mal', role),
    goOn: false,
    signal: new AbortController().signal,
  });
  expect(await codeOf(repeat)).toBe('confirmation.forbidden');
  expect(ran).toEqual([]);
});

describe('the runtime checks limits for every caller', () => {
  test.each([
    ['a name of two lines', { by: 'ada\nApproved: yes' }],
    ['a name with an escape', { by: 'ada\u001b[2J' }],
    ['a name too long', { by: 'a'.repeat(limits.nameChars + 1) }],
    ['a reason too long', { reason: 'r'.repeat(limits.reasonChars + 1) }],
    ['a session grant that is too long', { forSession: { forMs: limits.forSession.longestMs + 1, uses: 1 } }],
    ['a session grant of too many uses', { forSession: { forMs: 1, uses: limits.forSession.uses + 1 } }],
  ])('%s is refused', async (_, more) => {
    const stage = quorumStage(ruleset(payRule('{ quorum: 1 }')));
    const question = await stage.ask('c');
    expect(await codeOf(stage.approve(question, finance('ada'), more))).toBe('config.invalid');
    expect(stage.ran).toEqual([]);
  });

  test('HTTP states the same numbers', () => {
    const text = JSON.stringify(apiSchemas);
    expect(text).toContain(`"maxLength":${limits.reasonChars}`);
    expect(text).toContain(`"maxLength":${limits.responseChars}`);
    expect(text).toContain(`At most ${limits.forSession.longestMs}`);
    expect(text).toContain(`At most ${limits.forSession.uses}.`);
  });
});
