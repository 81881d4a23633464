/** Approvals by policy, through the public API: who counts, how many, and when a call runs. */
import type { Runtime } from 'quittance';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger } from 'quittance/ledger';
import { describe, expect, test } from 'vitest';
import { createQuietTimes } from '../../packages/quittance/src/base/quiet-hours.ts';
import { describeGivers } from '../../packages/quittance/src/call/describe-identity.ts';
import { beginFork } from '../../packages/quittance/src/replay/fork-session.ts';
import { ReminderClock } from '../../packages/server/src/notifications/reminder-clock.ts';
import { eventually } from '../eventually.ts';
import { expectVerified, payRule, person, quorumStage, ruleset } from './quorum-stage.ts';

const finance = (name: string) => person(name, ['finance']);
const security = (name: string) => person(name, ['security']);
const two = ruleset(payRule('{ groups: [finance], quorum: 2, exclude: [asker] }'));

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'accepted',
    (error: unknown) => (isQuittanceError(error) ? `${error.code}: ${error.message}` : String(error)),
  );

describe('[bound-approval] a rule that needs two people of a group', () => {
  test('runs the call once, after the second of them', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    const half = await stage.approve(question, finance('ada'));
    expect(half).toMatchObject({
      status: 'pending',
      votes: [{ decision: 'approve', by: { name: 'ada', asker: 'other' } }],
      missing: [{ ruleId: 'big', who: 'group finance', missing: 1, quorum: 2 }],
    });
    expect(stage.ran).toEqual([]);
    expect(await stage.approve(question, finance('eve'))).toMatchObject({ status: 'approved', missing: [] });
    expect(await stage.ended('c')).toBe('ToolExecutionResult');
    expect(stage.ran).toHaveLength(1);
    const [call] = await stage.runtime.calls.list({ sessionId: 's', callId: 'c' });
    expect(call?.confirmation?.votes.map(({ by }) => by.name)).toEqual(['ada', 'eve']);
    await expectVerified(stage.ledger);
  });

  test.each([
    ['a person outside the group', person('mal', ['sales'])],
    ['a self-asserted name', 'ada'],
    ['the person who asked', finance('bob')],
    ['the person who asked, by another spelling', finance('Bob ')],
    ['a token without groups', { kind: 'token', id: 't1', name: 'mal', via: 'bearer' } as const],
    ['an OS user', { kind: 'os_user', user: 'root', uid: 0 } as const],
  ])('refuses %s, and nothing is recorded', async (_, who) => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    expect(await codeOf(stage.approve(question, who))).toContain('confirmation.forbidden');
    const { rows } = await stage.runtime.confirmations.list({ status: 'pending' });
    expect(rows[0]?.votes).toEqual([]);
    expect(stage.ran).toEqual([]);
  });

  test.each(['', ' ', '\u200b', '-', { userId: '', claims: { sub: '', email: ' ' } }])(
    'refuses everyone if the requester is %j, which is the name of no one',
    async (requester) => {
      const stage = quorumStage(two);
      const question = await stage.ask('c', requester);
      expect(await codeOf(stage.approve(question, finance('ada')))).toContain('does not say who requested');
    },
  );

  test('compares the requester with every exact name of a person', async () => {
    for (const requester of [
      'bob',
      'https://id.example#bob',
      'Bob Noyce',
      'BOB@example.com',
      { userId: 'u-17', claims: { email: 'bob@example.com' } },
      { serviceId: 'agent', claims: { sub: 'bob' } },
    ]) {
      const stage = quorumStage(two);
      const question = await stage.ask('c', requester);
      const bob = { ...finance('bob'), name: 'Bob Noyce', aliases: ['bob@example.com'] };
      expect([requester, await codeOf(stage.approve(question, bob))]).toEqual([
        requester,
        expect.stringContaining('requested by them'),
      ]);
    }
  });

  test('counts one person once, also with several tokens and under other names', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    await stage.approve(question, finance('ada'));
    expect(await codeOf(stage.approve(question, finance('ada')))).toContain('confirmation.decided');
    const token = (id: string, name: string, owner: string) =>
      ({ kind: 'token', id, name, via: 'bearer', person: owner, groups: ['finance'] }) as const;
    expect(await codeOf(stage.approve(question, token('t1', 'laptop', 'Ada')))).toContain(
      'confirmation.decided',
    );
    const { status } = await stage.approve(question, token('t2', 'phone', 'Eve'));
    expect(status).toBe('approved');
  });

  const token = (id: string, name: string, more: object = {}) =>
    ({ kind: 'token', id, name, via: 'bearer', groups: ['finance'], ...more }) as const;
  test.each([
    [
      'a sign-in, and a token named after the e-mail address',
      { ...person('u-9', ['finance']), name: 'Ada Lovelace', aliases: ['ada@example.com'] },
      token('t1', 'Ada@Example.com'),
    ],
    [
      'a token, and its successor of the same name without an owner',
      token('t1', 'ada', { person: 'Ada Lovelace' }),
      token('t2', 'ada'),
    ],
  ])('counts %s once', async (_, first, second) => {
    for (const [one, other] of [
      [first, second],
      [second, first],
    ] as const) {
      const stage = quorumStage(two);
      const question = await stage.ask('c');
      await stage.approve(question, one);
      expect(await codeOf(stage.approve(question, other))).toContain('confirmation.decided');
    }
  });

  test('counts a user of this machine once more only under a name that no other approver has', async () => {
    const anyone = ruleset(payRule('{ quorum: 2 }'));
    const stage = quorumStage(anyone);
    const question = await stage.ask('c');
    await stage.approve(question, { kind: 'os_user', user: 'alovelace', uid: 7 }, { by: 'Ada' });
    expect(await codeOf(stage.approve(question, token('t1', 'ada')))).toContain('confirmation.decided');
    expect((await stage.approve(question, token('t2', 'eve'))).status).toBe('approved');
  });

  test('counts users of machines that share a ledger once if the user or the typed name is the same', async () => {
    const user = (name: string, uid: number) => ({ kind: 'os_user', user: name, uid }) as const;
    const stage = quorumStage(ruleset(payRule('{ quorum: 2 }')));
    const question = await stage.ask('c');
    await stage.approve(question, user('ada', 1000), { by: 'Ada' });
    for (const [again, by] of [
      [user('ada', 1005), 'Ada Lovelace'],
      [user('alovelace', 501), 'ada'],
      [user('eve', 1000), 'Eve'],
    ] as const)
      expect([by, await codeOf(stage.approve(question, again, { by }))]).toEqual([
        by,
        expect.stringContaining('confirmation.decided'),
      ]);
    expect((await stage.approve(question, user('eve', 1001), { by: 'Eve' })).status).toBe('approved');
  });

  test('[secrets-stay-out] drops other names that the redaction hides, so that they make no two people one', async () => {
    const stage = quorumStage(two, {
      options: { redaction: { patterns: [{ name: 'mail', pattern: /\w+@example\.com/ }] } },
    });
    const question = await stage.ask('c');
    const named = (issuer: string, subject: string) => ({
      ...finance(subject),
      issuer,
      aliases: [`${subject}@example.com`, subject],
    });
    const half = await stage.approve(question, named('https://one.example', 'ada'));
    expect(half.votes[0]?.by.identity).toMatchObject({ aliases: ['ada'] });
    expect((await stage.approve(question, named('https://two.example', 'eve'))).status).toBe('approved');
  });

  test('one no ends it, also after an approval', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    await stage.approve(question, finance('ada'));
    expect(await codeOf(stage.deny(question, person('mal')))).toContain('confirmation.forbidden');
    expect((await stage.deny(question, finance('eve'))).status).toBe('denied');
    expect(await stage.ended('c')).toBe('ToolDenied');
    expect(stage.ran).toEqual([]);
  });

  test('an edit voids earlier approvals and needs the quorum for the new arguments', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    await stage.approve(question, finance('ada'));
    const edited = await stage.runtime.confirmations.decide(question.confirmationId, {
      decision: 'edit',
      by: 'eve',
      identity: finance('eve'),
      inputDigest: question.inputDigest,
      arguments: { cents: 5 },
    });
    expect(edited).toMatchObject({ status: 'pending', votes: [{ decision: 'edit', by: { name: 'eve' } }] });
    expect(edited.inputDigest).not.toBe(question.inputDigest);
    expect(await codeOf(stage.approve(question, finance('ada')))).toContain('confirmation.mismatch');
    expect((await stage.approve(edited, finance('ada'))).status).toBe('approved');
    expect(await stage.ended('c')).toBe('ToolExecutionResult');
    expect(stage.ran).toEqual([{ cents: 5 }]);
    await expectVerified(stage.ledger);
  });

  test('is void when the rule changes: the call asks again', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    await stage.approve(question, finance('ada'));
    const other = quorumStage(ruleset(payRule('{ groups: [finance], quorum: 3 }')), stage);
    await stage.runtime.close();
    expect((await other.approve(question, finance('eve'))).status).toBe('approved');
    await other.runtime.recover();
    const again = await other.ask('c');
    expect(again.confirmationId).not.toBe(question.confirmationId);
    expect(again).toMatchObject({ votes: [], missing: [{ missing: 3 }] });
    expect([...stage.ran, ...other.ran]).toEqual([]);
  });
});

describe('[bound-approval] seats', () => {
  const both = (more = '') =>
    ruleset(payRule(`{ all_of: [{ groups: [finance] }, { groups: [security] }]${more} }`));
  const ada = person('ada', ['finance', 'security']);

  test('one person in two groups fills one of them', async () => {
    const stage = quorumStage(both());
    const question = await stage.ask('c');
    expect((await stage.approve(question, ada)).missing).toHaveLength(1);
    expect((await stage.approve(question, finance('eve'))).status).toBe('approved');
  });

  test('same_person lets one person fill both', async () => {
    const stage = quorumStage(both(', same_person: true'));
    expect((await stage.approve(await stage.ask('c'), ada)).status).toBe('approved');
  });

  test('several rules that ask must all be satisfied, by the same approvals', async () => {
    const rules = ruleset(
      payRule('{ groups: [finance], quorum: 2 }'),
      payRule('{ groups: [security] }', { id: 'safe' }),
      `  - { id: plain, type: pre, tool: pay, then: { action: ask, message: Any., timeout: 86400 } }\n`,
    );
    const stage = quorumStage(rules);
    const question = await stage.ask('c');
    expect(await codeOf(stage.approve(question, person('mal')))).toContain('forbidden');
    await stage.approve(question, ada);
    const half = await stage.approve(question, security('sam'));
    expect(half.missing).toEqual([{ ruleId: 'big', who: 'group finance', missing: 1, quorum: 2 }]);
    expect((await stage.approve(question, finance('eve'))).status).toBe('approved');
    expect(await stage.ended('c')).toBe('ToolExecutionResult');
  });

  test('anyone may approve without a group, and self-asserted names count once', async () => {
    const stage = quorumStage(ruleset(payRule('{ quorum: 2 }')));
    const question = await stage.ask('c');
    await stage.approve(question, 'ada');
    expect(await codeOf(stage.approve(question, 'eve'))).toContain('confirmation.decided');
    expect((await stage.approve(question, person('ada'))).status).toBe('pending');
    expect((await stage.approve(question, person('eve'))).status).toBe('approved');
  });

  test('denials: two people must deny, and a person may change their mind', async () => {
    const stage = quorumStage(ruleset(payRule('{ groups: [finance], quorum: 2, denials: 2 }')));
    const question = await stage.ask('c');
    await stage.approve(question, finance('ada'));
    expect(await stage.deny(question, finance('ada'))).toMatchObject({
      status: 'pending',
      votes: [{ decision: 'deny' }],
      missing: [{ missing: 2 }],
    });
    const response = { decision: 'respond', by: 'eve', identity: finance('eve'), response: 'No.' } as const;
    expect(await codeOf(stage.runtime.confirmations.decide(question.confirmationId, response))).toContain(
      'One person alone',
    );
    expect((await stage.deny(question, finance('eve'))).status).toBe('denied');
  });

  test('denials: a verified person and a typed name are one, and they may be the same', async () => {
    const stage = quorumStage(ruleset(payRule('{ quorum: 2, denials: 2 }')));
    const question = await stage.ask('c');
    await stage.deny(question, person('ada'));
    expect((await stage.deny(question, 'eve')).status).toBe('pending');
    expect((await stage.deny(question, person('eve'))).status).toBe('denied');
  });

  test('denials: only the person takes a denial back, not one with a similar name and not a delegate', async () => {
    const token = (id: string, name: string) =>
      ({ kind: 'token', id, name, via: 'bearer', person: 'ada@example.com', groups: ['finance'] }) as const;
    const stage = quorumStage(ruleset(payRule('{ groups: [finance], quorum: 2, denials: 2 }')));
    const ada = token('t1', 'Ada');
    const until = stage.clock.now() + 60_000;
    await stage.runtime.delegations.give({ by: 'Ada', identity: ada, to: 'dan', until });
    for (const [index, [who, denials]] of [
      // Mal can choose the name that is shown.
      [{ ...finance('mal'), name: 'Ada' }, 1] as const,
      [person('dan'), 1] as const,
      [token('t2', 'Phone'), 0] as const,
    ].entries()) {
      const question = await stage.ask(`c${index}`);
      await stage.deny(question, ada);
      const { votes } = await stage.approve(question, who);
      expect([who, votes.filter(({ decision }) => decision === 'deny')]).toEqual([
        who,
        expect.toSatisfy((kept: readonly unknown[]) => kept.length === denials),
      ]);
    }
    await expectVerified(stage.ledger);
  });

  test('the owner of a session that is too far from its first one is unknown', async () => {
    const stage = quorumStage(ruleset(payRule('{ groups: [finance], exclude: [session_owner] }')));
    const open = (sessionId: string, parentSessionId: string | undefined, userId: string) =>
      stage.runtime
        .turn({ sessionId, principal: { userId }, ...(parentSessionId !== undefined && { parentSessionId }) })
        .submit({ id: `of-${sessionId}`, name: 'pay', arguments: { cents: 1 } }).accepted;
    await open('n0', undefined, 'ada');
    for (let depth = 1; depth <= 20; depth++) await open(`n${depth}`, `n${depth - 1}`, 'robot');
    const questionOf = (sessionId: string) =>
      eventually(async () => {
        const { rows } = await stage.runtime.confirmations.list({ status: 'pending', sessionId });
        if (rows[0] === undefined) throw new Error('not held yet');
        return rows[0];
      });
    const why = async (sessionId: string, name: string) =>
      codeOf(stage.approve(await questionOf(sessionId), finance(name)));
    expect(await why('n19', 'ada')).toContain('the session belongs to them');
    expect(await why('n20', 'ada')).toContain('does not say who');
    expect(await why('n19', 'eve')).toBe('accepted');
  });

  test('the owner of the session is excluded, also through a child session', async () => {
    const stage = quorumStage(ruleset(payRule('{ groups: [finance], exclude: [session_owner] }')));
    const first = await stage.ask('first', 'ada');
    await stage.deny(first, finance('eve'));
    const question = await stage.ask('c', 'robot');
    expect(await codeOf(stage.approve(question, finance('ada')))).toContain('the session belongs to them');
    expect((await stage.approve(question, finance('eve'))).by).toMatchObject({ owner: 'other' });
  });

  test('the owner of a session is excluded in its forks, and others may approve there', async () => {
    const stage = quorumStage(ruleset(payRule('{ groups: [finance], exclude: [session_owner] }')));
    const origin = stage.runtime.turn({ sessionId: 'origin', principal: { userId: 'ada' } });
    await origin.submit({ id: 'o', name: 'pay', arguments: { cents: 1 } }).accepted;
    const fork = { fromSessionId: 'origin', atCallId: undefined, position: 0, after: 'live' } as const;
    await beginFork(stage.ledger, 's', fork);
    const question = await stage.ask('c', 'robot');
    expect(await codeOf(stage.approve(question, finance('ada')))).toContain('the session belongs to them');
    expect((await stage.approve(question, finance('eve'))).status).toBe('approved');
  });
});

describe('[bound-approval] named people', () => {
  test('are known by the subject of their provider, never by a name that they can change', async () => {
    const named = (...people: string[]) =>
      quorumStage(ruleset(payRule(`{ people: ['${people.join("', '")}'] }`)));
    // Mal gives herself the subject and the name of Ada as her name.
    for (const name of ['ada', 'Ada Lovelace', 'https://id.example#ada']) {
      const stage = named('ada', 'Ada Lovelace', 'https://id.example#ada');
      const question = await stage.ask('c');
      const refused = await codeOf(stage.approve(question, { ...person('mal'), name }));
      expect([name, refused]).toEqual([name, expect.stringContaining('not among them')]);
    }
    for (const people of [['ada'], ['https://id.example#ada']]) {
      const stage = named(...people);
      expect((await stage.approve(await stage.ask('c'), person('ada'))).status).toBe('approved');
    }
  });

  test('are delegates by their subject, never by a name that they can change', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    const until = stage.clock.now() + 60_000;
    await stage.runtime.delegations.give({ by: 'ada', identity: finance('ada'), to: 'dan', until });
    expect(await codeOf(stage.approve(question, { ...person('mal'), name: 'dan' }))).toContain('forbidden');
    expect((await stage.approve(question, person('dan'))).votes).toHaveLength(1);
    const self = { by: 'ada', identity: { ...finance('ada'), name: 'Ada L.' }, to: 'Ada L.', until };
    expect(await codeOf(stage.runtime.delegations.give(self))).toContain('another person');
  });
});

describe('[bound-approval] links', () => {
  test('several links by one maker count once, and so does the maker', async () => {
    const stage = quorumStage(ruleset(payRule('{ groups: [finance], quorum: 2 }')));
    const question = await stage.ask('c');
    const link = (madeBy: string, by?: string) =>
      stage.runtime.confirmations.link(question.confirmationId, {
        madeBy,
        identity: finance(madeBy),
        ...(by !== undefined && { by }),
        decisions: ['approve'],
        expiresInMs: 60_000,
      });
    const [first, second] = [await link('ada'), await link('ada')];
    const use = (token: string, by: string) =>
      stage.runtime.confirmations.decideByLink(token, { decision: 'approve', by });
    expect((await use(first, 'tom')).status).toBe('pending');
    expect(await codeOf(use(second, 'kim'))).toContain('confirmation.decided');
    expect(await codeOf(stage.approve(question, finance('ada')))).toContain('confirmation.decided');
    // A named person must be an approver too, and a link says nothing about their groups.
    expect(await codeOf(link('eve', 'mal'))).toContain('confirmation.forbidden');
    expect((await use(await link('eve', 'eve'), 'eve')).status).toBe('approved');
  });
});

describe('[bound-approval] delegation', () => {
  const hour = 3_600_000;
  const give = (stage: ReturnType<typeof quorumStage>, from: ReturnType<typeof person>, to: string) =>
    stage.runtime.delegations.give({
      by: from.kind === 'provider' ? from.subject : '',
      identity: from,
      to,
      until: stage.clock.now() + hour,
    });

  test('lets another person approve until it ends, counted as both', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    const given = await give(stage, finance('ada'), 'dan');
    expect(given).toMatchObject({ status: 'active', by: 'ada', to: 'dan' });
    const half = await stage.approve(question, person('dan'));
    expect(half.votes[0]?.by).toMatchObject({ name: 'dan', behalf: [{ name: 'ada' }] });
    expect(await codeOf(stage.approve(question, finance('ada')))).toContain('confirmation.decided');
    expect((await stage.approve(question, finance('eve'))).status).toBe('approved');
    expect(await stage.ended('c')).toBe('ToolExecutionResult');
  });

  test('a delegate of two people counts once, and never in addition to the one they acted for', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    await give(stage, finance('ada'), 'dan');
    await give(stage, finance('eve'), 'dan');
    const half = await stage.approve(question, person('dan'));
    expect([half.status, half.missing]).toMatchObject(['pending', [{ missing: 1 }]]);
    expect(await codeOf(stage.approve(question, person('dan')))).toContain('confirmation.decided');
    const actedFor = half.votes[0]?.by.behalf?.[0]?.name ?? '';
    expect(['ada', 'eve']).toContain(actedFor);
    expect(await codeOf(stage.approve(question, finance(actedFor)))).toContain('confirmation.decided');
    expect(stage.ran).toEqual([]);
    const other = actedFor === 'ada' ? 'eve' : 'ada';
    expect((await stage.approve(question, finance(other))).status).toBe('approved');
    expect(await stage.ended('c')).toBe('ToolExecutionResult');
  });

  test('a delegate of several people acts for one whose approval counts and is missing', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    // The first asked for the call, and the second approves alone.
    for (const name of ['bob', 'ada', 'eve']) await give(stage, finance(name), 'dan');
    await stage.approve(question, finance('ada'));
    const { status, votes } = await stage.approve(question, person('dan'));
    expect([status, votes.at(-1)?.by.behalf?.[0]?.name]).toEqual(['approved', 'eve']);
  });

  test('ends at its time, and when it is revoked', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    await give(stage, finance('ada'), 'dan');
    stage.clock.advance(hour);
    expect(await codeOf(stage.approve(question, person('dan')))).toContain('forbidden');
    const { delegationId } = await give(stage, finance('ada'), 'dan');
    await stage.runtime.delegations.revoke({ delegationId, by: 'ada', identity: finance('ada') });
    expect(await codeOf(stage.approve(question, person('dan')))).toContain('forbidden');
    expect((await stage.runtime.delegations.list()).map(({ status }) => status)).toEqual([
      'ended',
      'revoked',
    ]);
  });

  test('passes on nothing that the delegator does not have, and the asker stays excluded', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    await give(stage, person('mal', ['sales']), 'dan');
    await give(stage, finance('bob'), 'tom');
    await give(stage, finance('ada'), 'bob');
    for (const name of ['dan', 'tom', 'bob'])
      expect(await codeOf(stage.approve(question, person(name)))).toContain('forbidden');
    expect(await codeOf(give(stage, finance('ada'), 'ADA'))).toContain('another person');
  });

  test('has no chains unless the rule says so', async () => {
    const chain = async (word: string) => {
      const stage = quorumStage(ruleset(payRule(`{ groups: [finance], delegation: ${word} }`)));
      const question = await stage.ask('c');
      await give(stage, finance('ada'), 'dan');
      await give(stage, person('dan'), 'tom');
      return Promise.all([
        codeOf(stage.approve(question, person('tom'))),
        codeOf(stage.approve(question, person('dan'))),
      ]);
    };
    expect((await chain('once'))[0]).toContain('forbidden');
    expect((await chain('chain'))[0]).toBe('accepted');
    expect((await chain('none'))[1]).toContain('forbidden');
  });

  test('needs a verified person and an end within 90 days', async () => {
    const { runtime, clock } = quorumStage(two);
    const until = clock.now() + hour;
    const given = { by: 'ada', to: 'dan', until };
    for (const wrong of [
      { ...given, identity: { kind: 'self_asserted' } as const },
      { ...given, identity: finance('ada'), until: clock.now() },
      { ...given, identity: finance('ada'), until: clock.now() + 91 * 24 * hour },
      { ...given, identity: finance('ada'), to: ' ' },
    ])
      expect(await codeOf(runtime.delegations.give(wrong))).toContain('config.invalid');
    expect(await codeOf(runtime.delegations.revoke({ delegationId: 'dlg_x', by: 'ada' }))).toContain(
      'delegation.unknown',
    );
  });
});

describe('time', () => {
  const rules = ruleset(
    payRule('{ groups: [finance], escalate: [{ after: 60, roles: [manager] }], reminders: [30, 90] }', {
      timeout: 120,
    }),
  );

  test('escalation adds approvers after its time', async () => {
    const stage = quorumStage(rules);
    const question = await stage.ask('c');
    const boss = person('boss', [], ['manager']);
    expect(await codeOf(stage.approve(question, boss))).toContain('forbidden');
    stage.clock.advance(60_000);
    expect((await stage.approve(question, boss)).status).toBe('approved');
  });

  test('never replaces the people, also if another rule of a merged document lets the call run', async () => {
    const soft = `apiVersion: quittance/v1
kind: Ruleset
metadata: { name: soft }
extends: approvals
defaults: { mode: enforce }
rules:
  - { id: soft, type: pre, tool: pay, then: { action: ask, message: Soft., timeout: 60, timeout_effect: allow } }
`;
    const contracts = contractsFromYamlString(soft, { parents: [two] });
    const stage = quorumStage(two, { options: { contracts } });
    const question = await stage.ask('c');
    expect(question.asks.map(({ by }) => by.name)).toEqual(['big', 'soft']);
    await stage.approve(question, finance('ada'));
    stage.clock.advance(60_000);
    expect(await stage.ended('c')).toBe('ToolDenied');
    expect(stage.ran).toEqual([]);
  });

  test('reminders and escalations are recorded once for each time, across runtimes', async () => {
    const stage = quorumStage(rules);
    const other = quorumStage(rules, stage);
    await stage.ask('c');
    for (let n = 0; n < 119; n++) {
      stage.clock.advance(1_000);
      await new Promise(setImmediate);
    }
    const reminded = async () =>
      (await other.runtime.events.list({ sessionId: 's', callId: 'c' })).flatMap((event) =>
        event.type === 'confirmation.reminded' ? [event] : [],
      );
    expect((await reminded()).map(({ kind, dueAt }) => [kind, dueAt])).toEqual(
      [
        ['reminder', 30_000],
        ['escalation', 60_000],
        ['reminder', 90_000],
      ].map(([kind, after]) => [kind, Number(after) + Number(stage.clock.now() - 119_000)]),
    );
    expect((await reminded())[0]?.missing).toEqual(['1 of group finance, later also role manager']);
    stage.clock.advance(1_000);
    expect(await stage.ended('c')).toBe('ToolDenied');
    await expectVerified(stage.ledger);
  });
});

test('reminders and escalations go on after a restart, with the times they were due', async () => {
  const rules = ruleset(
    payRule('{ groups: [finance], escalate: [{ after: 60, roles: [manager] }], reminders: [30, 90] }', {
      timeout: 120,
    }),
  );
  const stage = quorumStage(rules);
  const { createdAt: askedAt } = await stage.ask('c');
  await stage.runtime.close();
  stage.clock.advance(45_000);
  const other = quorumStage(rules, stage);
  await other.runtime.recover();
  const times = async () =>
    (await other.runtime.events.list({ sessionId: 's', callId: 'c' })).flatMap((event) =>
      event.type === 'confirmation.reminded' ? [[event.kind, event.dueAt - askedAt]] : [],
    );
  /** Time goes on while the other runtime works. */
  const after = async (ms: number, check: () => Promise<void>): Promise<void> => {
    stage.clock.advance(ms);
    await eventually(async () => {
      stage.clock.advance(1);
      await check();
    });
  };
  const [first, ...more] = [
    ['reminder', 30_000],
    ['escalation', 60_000],
    ['reminder', 90_000],
  ];
  await after(0, async () => expect(await times()).toEqual([first]));
  await after(50_000, async () => expect(await times()).toEqual([first, ...more]));
  await after(30_000, async () => {
    const [call] = await other.runtime.calls.list({ sessionId: 's', callId: 'c' });
    expect(call?.settled?.outcome.type).toBe('ToolDenied');
  });
  await expectVerified(stage.ledger);
});

test('a server without the tool records reminders of calls that no process holds', async () => {
  const stage = quorumStage(ruleset(payRule('{ groups: [finance], reminders: [30] }')));
  await stage.ask('c');
  await stage.runtime.close();
  stage.clock.advance(45_000);
  const { ledger, clock } = stage;
  const runtime = createRuntime({ tools: [], ledger, clock }) as unknown as Runtime;
  const quietTimes = createQuietTimes([]);
  const reminders = new ReminderClock({ runtime, clock, quietTimes, remindAfterMs: [] });
  await eventually(async () => {
    const events = await runtime.events.list({ sessionId: 's', callId: 'c' });
    expect(events.filter(({ type }) => type === 'confirmation.reminded')).toHaveLength(1);
  });
  await reminders.close();
  await runtime.close();
});

describe('[bound-approval] approve for this session', () => {
  const bounds = { forSession: { forMs: 3_600_000, uses: 2 } };

  test('gives a bounded grant if the quorum agrees, within the narrowest bounds', async () => {
    const stage = quorumStage(two);
    const question = await stage.ask('c');
    await stage.approve(question, finance('ada'), bounds);
    await stage.approve(question, finance('eve'), { forSession: { forMs: 7_200_000, uses: 9 } });
    expect(await stage.ended('c')).toBe('ToolExecutionResult');
    expect(await stage.runtime.grants.list({ sessionId: 's' })).toMatchObject([
      { uses: 2, until: stage.clock.now() + 3_600_000, approved: { callId: 'c', votes: [{}, {}] } },
    ]);
    const [given] = await stage.runtime.grants.list({ sessionId: 's' });
    // Lists name everyone who gave it.
    expect(given && describeGivers(given)).toMatch(
      /^ada \(verified by .* as ada .*\), eve \(verified by .* as eve /,
    );
    const turn = stage.runtime.turn({ sessionId: 's', principal: { userId: 'bob' } });
    for (const id of ['d', 'e']) {
      const outcome = await turn.call({ id, name: 'pay', arguments: { cents: 1, id } });
      expect(outcome.type).toBe('ToolExecutionResult');
    }
    expect((await stage.ask('f')).missing).toHaveLength(1);
    await expectVerified(stage.ledger);
  });

  test.each(['ada', 'eve'])(
    'covers nothing once %s, one of those who gave it, may not give grants',
    async (who) => {
      const removed = new Set<string>();
      const stage = quorumStage(two, { options: { mayGrant: (actor: string) => !removed.has(actor) } });
      const question = await stage.ask('c');
      for (const name of ['ada', 'eve']) await stage.approve(question, finance(name), bounds);
      expect(await stage.ended('c')).toBe('ToolExecutionResult');
      removed.add(who);
      expect((await stage.ask('d')).missing).toHaveLength(1);
    },
  );

  test('gives none if fewer agree, or if an approver is the requester of the next call', async () => {
    const stage = quorumStage(two);
    const first = await stage.ask('c');
    await stage.approve(first, finance('ada'), bounds);
    await stage.approve(first, finance('eve'));
    expect(await stage.ended('c')).toBe('ToolExecutionResult');
    expect(await stage.runtime.grants.list({ sessionId: 's' })).toEqual([]);
    const second = await stage.ask('d');
    await stage.approve(second, finance('ada'), bounds);
    await stage.approve(second, finance('eve'), bounds);
    expect(await stage.ended('d')).toBe('ToolExecutionResult');
    expect((await stage.ask('e', 'eve')).votes).toEqual([]);
  });

  test('ends with the delegation by which an approver agreed', async () => {
    const stage = quorumStage(ruleset(payRule('{ groups: [finance] }')));
    const until = stage.clock.now() + 60_000;
    await stage.runtime.delegations.give({ by: 'ada', identity: finance('ada'), to: 'dan', until });
    await stage.approve(await stage.ask('c'), person('dan'), bounds);
    expect(await stage.ended('c')).toBe('ToolExecutionResult');
    expect(await stage.runtime.grants.list({ sessionId: 's' })).toMatchObject([{ status: 'active', until }]);
    stage.clock.advance(60_000);
    expect((await stage.ask('d')).missing).toHaveLength(1);
  });

  test('a grant by one person does not replace a quorum', async () => {
    const stage = quorumStage(two);
    await stage.runtime.grants.give({ sessionId: 's', toolName: 'pay', by: 'ada', identity: finance('ada') });
    expect((await stage.ask('c')).missing).toHaveLength(1);
    const one = quorumStage(ruleset(payRule('{ groups: [finance] }')));
    await one.runtime.grants.give({ sessionId: 's', toolName: 'pay', by: 'mal', identity: person('mal') });
    expect((await one.ask('c')).missing).toHaveLength(1);
    await one.runtime.grants.give({ sessionId: 's', toolName: 'pay', by: 'ada', identity: finance('ada') });
    const turn = one.runtime.turn({ sessionId: 's', principal: { userId: 'bob' } });
    expect((await turn.call({ id: 'd', name: 'pay', arguments: { cents: 2 } })).type).toBe(
      'ToolExecutionResult',
    );
  });
});

test('onConfirm is asked again until the quorum is complete', async () => {
  const asked: number[] = [];
  const people = [finance('ada'), finance('eve')];
  const stage = quorumStage(two, {
    options: {
      onConfirm: ({ votes }: { votes: readonly unknown[] }) => {
        asked.push(votes.length);
        const identity = people.shift();
        return { decision: 'approve', by: identity?.kind === 'provider' ? identity.subject : '', identity };
      },
    },
  });
  const turn = stage.runtime.turn({ sessionId: 's', principal: { userId: 'bob' } });
  expect((await turn.call({ id: 'c', name: 'pay', arguments: { cents: 1 } })).type).toBe(
    'ToolExecutionResult',
  );
  expect(asked).toEqual([0, 1]);
});

test('[bound-approval] the stage of a workflow may need several people', async () => {
  const workflow = `apiVersion: quittance/v1
kind: Workflow
metadata: { name: release, version: '1' }
stages:
  - { id: look, tools: [pay] }
  - id: agree
    entry: [{ condition: 'stage_complete("look")' }]
    approval: { message: Two of finance must agree., groups: [finance], quorum: 2, exclude: [asker] }
  - { id: send, entry: [{ condition: 'stage_complete("agree")' }], tools: [send] }
`;
  const sent: string[] = [];
  const send = defineTool({ name: 'send', mode: 'external', run: () => sent.push('sent') });
  const pay = defineTool({ name: 'pay', mode: 'external', run: () => 'paid' });
  const contracts = contractsFromYamlString(workflow);
  const runtime = createRuntime({ tools: [pay, send], ledger: createMemoryLedger(), contracts });
  const turn = runtime.turn({ sessionId: 's', principal: { userId: 'bob' } });
  await turn.call({ id: 'first', name: 'pay', arguments: {} });
  const outcome = turn.call({ id: 'second', name: 'send', arguments: {} });
  const question = await eventually(async () => {
    const [found] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    if (found === undefined) throw new Error('not held yet');
    return found;
  });
  expect(question).toMatchObject({
    asks: [{ stage: { stageId: 'agree' }, approval: { seats: [{ groups: ['finance'], quorum: 2 }] } }],
    missing: [{ missing: 2, who: 'group finance' }],
  });
  const approve = (name: string, groups: readonly string[]) =>
    runtime.confirmations.decide(question.confirmationId, {
      decision: 'approve',
      by: name,
      identity: person(name, groups),
      inputDigest: question.inputDigest,
    });
  expect(await codeOf(approve('mal', ['sales']))).toContain('confirmation.forbidden');
  expect(await codeOf(approve('bob', ['finance']))).toContain('confirmation.forbidden');
  expect((await approve('ada', ['finance'])).status).toBe('pending');
  expect(sent).toEqual([]);
  expect((await approve('eve', ['finance'])).status).toBe('approved');
  expect(await outcome).toMatchObject({ type: 'ToolExecutionResult' });
  expect(sent).toEqual(['sent']);
  await runtime.close();
});
