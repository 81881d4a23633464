import { describe, expect, it } from 'vitest';
import { countedIdentity } from './counted-identity.ts';
import type { ApprovalPolicy } from './approval-policy.ts';
import type { Call } from './call.ts';
import type { Command } from './decide.ts';
import { decide } from './decide.ts';
import type { Ask, CallEvent, DecidedBy } from './event.ts';
import { evolve } from './evolve.ts';
import { missingOf } from './quorum.ts';

const person = (subject: string, ...groups: string[]): DecidedBy => ({
  type: 'person',
  name: subject,
  identity: { kind: 'provider', issuer: 'https://id.example', subject, method: 'oidc', groups },
  asker: 'other',
});
const finance = (subject: string): DecidedBy => person(subject, 'finance');
const two: ApprovalPolicy = { seats: [{ groups: ['finance'], quorum: 2 }] };
const askWith = (approval: ApprovalPolicy, name = 'r'): Ask => ({
  by: { type: 'rule', name },
  description: '?',
  approval,
});
let count = 0;
const subject = (at: number) => ({
  sessionId: 's',
  turnId: 't',
  callId: 'c',
  at,
  nextId: () => `e${count++}`,
});

const request: Command = {
  type: 'request',
  toolName: 'pay',
  displayName: 'pay',
  mode: 'external',
  modeOrigin: 'declared',
  requestedInput: {},
  hidden: [],
  requestDigest: 'd',
  principal: { userId: 'bob' },
  provenance: undefined,
  attrs: undefined,
  submitted: false,
};
const rule = (decision: 'ask' | 'allow'): Command => ({
  type: 'rule',
  decision,
  gates: [],
  decidedBy: undefined,
  policyVersion: undefined,
  effectiveInput: undefined,
  inputDigest: 'd',
  changes: [],
  rules: [],
  sideEffect: undefined,
});
const start: Command = {
  type: 'start',
  idempotencyKey: undefined,
  deadlineMs: 1,
  mayRerun: false,
  reserved: [],
};
const act = (type: 'answer' | 'vote', by: DecidedBy, decision: 'approve' | 'deny' = 'approve'): Command => ({
  type,
  confirmationId: 'q',
  decision,
  by,
  reason: undefined,
  inputDigest: 'd',
});

/** The call after these commands, or the refusal of the first illegal one. */
function play(asks: readonly Ask[], ...commands: readonly Command[]): Call | string {
  let call: Call | undefined;
  const hold: Command = { type: 'hold', confirmationId: 'q', description: '?', asks, inputDigest: 'd' };
  let at = 1_000;
  for (const command of [request, rule('ask'), hold, ...commands]) {
    const result = decide(call, command, subject(at++));
    if (!result.ok) return result.refusal;
    call = evolve(call, result.event);
  }
  return call ?? '';
}

describe('[bound-approval] the rules of a call', () => {
  const asks = [askWith(two)];

  it('accept a vote, then the decision that completes the quorum, then a run', () => {
    expect(
      play(asks, act('vote', finance('ada')), act('answer', finance('eve')), rule('allow'), start),
    ).toMatchObject({
      status: 'running',
      confirmation: { votes: [{ by: { name: 'ada' } }, { by: { name: 'eve' } }] },
    });
  });

  it.each<[string, readonly Command[], RegExp]>([
    ['a decision without the quorum', [act('answer', finance('ada'))], /does not complete/],
    [
      'a vote that completes it',
      [act('vote', finance('ada')), act('vote', finance('eve'))],
      /must be a decision/,
    ],
    ['a person twice', [act('vote', finance('ada')), act('answer', finance('ada'))], /counts once/],
    ['a person outside the group', [act('vote', person('mal', 'sales'))], /not among them/],
    ['an unverified name', [act('vote', { type: 'person', name: 'ada' })], /not verified/],
    ['a vote by a hook', [act('vote', { type: 'hook', name: 'h' })], /Only a person/],
    ['a run after one vote', [act('vote', finance('ada')), rule('allow'), start], /held for a person/],
    [
      'a run because time is up',
      [{ type: 'expire', confirmationId: 'q', effect: 'allow', by: undefined }],
      /never expires/,
    ],
  ])('refuse %s', (_, commands, refusal) => {
    expect(play(asks, ...commands)).toMatch(refusal);
  });

  it('refuse a run if the stored decision lacks the quorum, even a forged one', () => {
    const held = play(asks) as Call;
    const forged: CallEvent = {
      ...subject(5),
      id: 'forged',
      cause: undefined,
      type: 'confirmation.decided',
      confirmationId: 'q',
      decision: 'approve',
      by: finance('ada'),
      reason: undefined,
      inputDigest: 'd',
      revision: undefined,
      editedInput: undefined,
      editedDigest: undefined,
      editedHidden: [],
      editedForm: undefined,
      editedAccepted: undefined,
      editedArtifacts: [],
      response: undefined,
      receivedAt: undefined,
    };
    const approved = evolve(held, forged);
    const allowed = decide(approved, rule('allow'), subject(6));
    if (!allowed.ok) throw new Error(allowed.refusal);
    const started = decide(evolve(approved, allowed.event), start, subject(7));
    expect(started).toEqual({ ok: false, refusal: expect.stringContaining('more approvals') as string });
  });

  it('record a reminder once for its time, and not before it', () => {
    const remind = (dueAt: number): Command => ({
      type: 'remind',
      confirmationId: 'q',
      kind: 'reminder',
      dueAt,
      missing: [],
    });
    expect(play(asks, remind(1_001), remind(1_001))).toMatch(/recorded already/);
    expect(play(asks, remind(9_999))).toMatch(/not due/);
  });
});

describe('seats', () => {
  const missing = (approval: ApprovalPolicy, ...people: readonly DecidedBy[]): number =>
    missingOf(
      { asks: [askWith(approval)], askedAt: 0 },
      people.map((by, at) => ({ decision: 'approve', by, at, reason: undefined })),
    ).reduce((sum, each) => sum + each.missing, 0);

  it('are filled by the best assignment, in any order of approvals', () => {
    const both: ApprovalPolicy = {
      seats: [
        { groups: ['a'], quorum: 1 },
        { groups: ['b'], quorum: 1 },
      ],
    };
    const [inBoth, inA] = [person('x', 'a', 'b'), person('y', 'a')];
    expect(missing(both, inBoth)).toBe(1);
    expect(missing(both, inBoth, inA)).toBe(0);
    expect(missing(both, inA, inBoth)).toBe(0);
    expect(missing({ ...both, shared: true }, inBoth)).toBe(0);
  });

  it('stay empty under a policy that this version does not understand', () => {
    const newer = { ...two, weekdays: ['monday'] } as unknown as ApprovalPolicy;
    expect(missing(newer, finance('ada'), finance('eve'))).toBe(1);
  });

  it('count unverified names once, and never in addition to a verified person', () => {
    const any: ApprovalPolicy = { seats: [{ quorum: 2 }] };
    const named = (name: string): DecidedBy => ({ type: 'person', name });
    expect(missing(any, named('a'), named('b'))).toBe(2);
    expect(missing(any, named('a'), finance('ada'))).toBe(1);
    expect(missing({ seats: [{ quorum: 1 }] }, named('a'))).toBe(0);
  });
});

it('[bound-approval] acts of one person count once, even if the record holds both', () => {
  const act = { decision: 'approve', at: 2, reason: undefined } as const;
  const asked = { asks: [askWith(two)], askedAt: 1 };
  const ada = { ...act, by: finance('ada') };
  expect(missingOf(asked, [ada, { ...ada, at: 3 }])).toMatchObject([{ missing: 1 }]);
  expect(missingOf(asked, [ada, { ...act, by: finance('eve') }])).toEqual([]);
});

it('[bound-approval] acts of two people whose delegate acted for both are those of one person', () => {
  const act = { decision: 'approve', at: 2, reason: undefined } as const;
  const asked = { asks: [askWith(two)], askedAt: 1 };
  const [ada, eve] = [finance('ada'), finance('eve')];
  const behalf = [ada, eve].map(({ name, identity }, index) => ({
    name,
    identity: countedIdentity(identity),
    delegation: `dlg_${index}`,
    until: 9,
  }));
  const dan = { ...act, by: { ...finance('dan'), behalf } };
  const [byAda, byEve] = [
    { ...act, by: ada },
    { ...act, by: eve },
  ];
  expect(missingOf(asked, [byAda, byEve])).toEqual([]);
  // In every order: the third act shows that the first two may not be independent.
  for (const votes of [
    [byAda, byEve, dan],
    [dan, byAda, byEve],
    [byAda, dan, byEve],
  ])
    expect(missingOf(asked, votes)).toMatchObject([{ missing: 1 }]);
});
