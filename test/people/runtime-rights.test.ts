/** Who may do what is decided by the runtime: the library, the command line and HTTP get the same answer. */
import { isQuittanceError } from 'quittance';
import type { DirectIdentity } from 'quittance/events';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/runtime/host/limits.ts';
import { apiSchemas } from '../../src/http/api-schemas.ts';
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
