/** Who may do what is decided by the runtime: the library, the command line and HTTP get the same answer. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool, isQuittanceError, ToolError } from 'quittance';
import type { DirectIdentity } from 'quittance/events';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { describe, expect, onTestFinished, test } from 'vitest';
import { limits } from '../../packages/quittance/src/call/limits.ts';
import { apiSchemas } from '../../packages/server/src/http/api-schemas.ts';
import { repeatCalls } from '../../packages/quittance/src/replay/repeat-calls.ts';
import type { CallRef } from '../../packages/quittance/src/runtime/active-call.ts';
import { eraseContents, removeSession } from '../../packages/quittance/src/ledger/removal.ts';
import { openReviewDocuments } from '../../packages/server/src/mcp-reviews/review-documents.ts';
import { ToolReviews } from '../../packages/server/src/mcp-reviews/tool-reviews.ts';
import { eventually } from '../eventually.ts';
import { payRule, person, quorumStage, ruleset } from './quorum-stage.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

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

describe('[bound-approval] a caller without the role operator calls only tools that surely read', () => {
  const callers = ['viewer', 'approver', 'operator', 'admin'].flatMap((role) => [
    { role, kind: 'token', identity: token('mal', role) },
    {
      role,
      kind: 'person of a provider',
      identity: {
        kind: 'provider',
        issuer: 'https://id',
        subject: 'mal',
        method: 'oidc',
        roles: [role],
      } as const,
    },
  ]);
  type Way = (runtime: Runtime, name: string, askedBy: DirectIdentity) => Promise<unknown>;
  const sessionId = 's';
  const ways: readonly (readonly [string, Way])[] = [
    ['call', (runtime, name, askedBy) => runtime.turn({ sessionId, askedBy }).call(callOf(name))],
    [
      'call with its own caller',
      (runtime, name, askedBy) => runtime.turn({ sessionId }).call(callOf(name), { askedBy }),
    ],
    [
      'call that returns if held',
      (runtime, name, askedBy) =>
        runtime.turn({ sessionId, askedBy }).call(callOf(name), { ifHeld: 'return' }),
    ],
    [
      'ask, then call',
      async (runtime, name, askedBy) => {
        const turn = runtime.turn({ sessionId, askedBy });
        return (await turn.ask(callOf(name))) ?? turn.call(callOf(name));
      },
    ],
    [
      'callAll',
      (runtime, name, askedBy) =>
        runtime.turn({ sessionId, askedBy }).callAll([callOf('get_note', 'first'), callOf(name)]),
    ],
    [
      'submit',
      async (runtime, name, askedBy) => runtime.turn({ sessionId, askedBy }).submit(callOf(name)).outcome(),
    ],
    [
      'run',
      (runtime, name, askedBy) =>
        runtime.turn({ sessionId, askedBy }).run[name]?.({}) ?? Promise.reject(new Error(name)),
    ],
    [
      'tools',
      async (runtime, name, askedBy) =>
        runtime
          .turn({ sessionId, askedBy })
          .tools()
          .find((each) => each.name === name)
          ?.execute({}),
    ],
    [
      'child',
      (runtime, name, askedBy) =>
        runtime.turn({ sessionId, askedBy }).child({ sessionId: 'child' }).call(callOf(name)),
    ],
  ];
  const callOf = (name: string, id = 'c') => ({ id, name, arguments: {} });

  test.each(
    ways.flatMap(([way, make]) =>
      callers.map(({ role, kind, identity }) => ({ way, make, role, kind, identity })),
    ),
  )('$way by a $kind with the role $role', async ({ make, role, identity }) => {
    const mayWrite = role === 'operator' || role === 'admin';
    for (const [name, mode] of [
      ['send_note', 'external'],
      ['fetch_note', undefined], // its name only suggests that it reads
      ['get_note', 'read'],
    ] as const) {
      const ran: string[] = [];
      const tools = [
        defineTool({ name, ...(mode !== undefined && { mode }), run: () => void ran.push(name) }),
        ...(name === 'get_note' ? [] : [defineTool({ name: 'get_note', run: () => void ran.push('first') })]),
      ];
      const ledger = createMemoryLedger();
      const runtime = createRuntime({ tools, ledger }) as unknown as Runtime;
      const allowed = mayWrite || mode === 'read';
      expect(await codeOf(make(runtime, name, identity))).toBe(
        allowed ? 'accepted' : 'confirmation.forbidden',
      );
      expect(ran.includes(name)).toBe(allowed);
      // A refused call leaves no trace, and neither do the other calls of its batch.
      const stored = (await findCalls(ledger, {})).rows.length;
      expect(stored > 0).toBe(allowed);
      await runtime.close();
    }
  });

  test('a viewer does not get the answer of a call that an operator makes or made', async () => {
    const release = Promise.withResolvers<void>();
    const tool = defineTool({
      name: 'send_note',
      mode: 'external',
      run: () => release.promise.then(() => 'sent'),
    });
    const runtime = createRuntime({ tools: [tool], ledger: createMemoryLedger() });
    const as = (role: string) =>
      runtime.turn({ sessionId, askedBy: token('mal', role) }).call(callOf('send_note'));
    const made = as('operator');
    expect(await codeOf(as('viewer'))).toBe('confirmation.forbidden');
    release.resolve();
    expect(await made).toMatchObject({ output: 'sent' });
    expect(await codeOf(as('viewer'))).toBe('confirmation.forbidden');
    expect(await codeOf(as('operator'))).toBe('accepted');
    await runtime.close();
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
    continues: false,
    signal: new AbortController().signal,
  });
  expect(await codeOf(repeat)).toBe('confirmation.forbidden');
  expect(ran).toEqual([]);
});

test.each(['viewer', 'operator', 'approver'])(
  'a token with the role %s erases and removes nothing, through the library too',
  async (role) => {
    const path = join(mkdtempSync(join(tmpdir(), 'quittance-rights-')), 'ledger.db');
    onTestFinished(() => rmSync(dirname(path), { recursive: true, force: true }));
    for (const ledger of [createMemoryLedger(), await openLedger(path)]) {
      const tool = defineTool({ name: 'get_note', mode: 'read', run: () => 'kept' });
      const runtime = createRuntime({ tools: [tool], ledger });
      await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'get_note', arguments: {} });
      const reason = { by: 'mal', reason: 'hidden', identity: token('mal', role) };
      const long = 'r'.repeat(limits.shortReasonChars + 1);
      const acts = (more: object): readonly Promise<unknown>[] => [
        ledger.erase({ sessionId: 's', ...reason, ...more }),
        ledger.dropSession({ sessionId: 's', ...reason, ...more }),
        eraseContents(ledger, { sessionId: 's', callId: 'c' }, { ...reason, ...more }),
        removeSession(ledger, 's', { ...reason, ...more }),
      ];
      const codes = async (more: object): Promise<ReadonlySet<string>> =>
        new Set(await Promise.all(acts(more).map(codeOf)));
      expect(await codes({})).toEqual(new Set(['confirmation.forbidden']));
      const admin = { identity: token('root', 'admin') };
      for (const odd of [{ by: 'ada\nApproved: yes' }, { by: 'a'.repeat(300) }, { reason: long }])
        expect(await codes({ ...admin, ...odd })).toEqual(new Set(['config.invalid']));
      const [call] = (await findCalls(ledger, { sessionId: 's' })).rows;
      expect(call?.callId).toBe('c');
      expect(await ledger.dropSession({ sessionId: 's', ...reason, ...admin })).toBe(true);
      await runtime.close();
      await ledger.close();
    }
  },
);

test.each(['viewer', 'operator'])(
  'a token with the role %s answers about no tool of an MCP server, through the library too',
  async (role) => {
    const ledger = createMemoryLedger();
    const reviews = new ToolReviews(openReviewDocuments(ledger, undefined), () => ledger.now());
    const tool = { server: 'notes', address: 'a', tool: 'pay' };
    const terms = { ...tool, digest: 'd', verdict: 'allow', mode: 'read' } as const;
    const mal = { by: 'mal', identity: token('mal', role) };
    expect(await codeOf(reviews.approve({ ...terms, ...mal }))).toBe('confirmation.forbidden');
    expect(await codeOf(reviews.forget({ ...tool, ...mal }))).toBe('confirmation.forbidden');
    const known = { identity: token('grace', 'approver') };
    expect(await codeOf(reviews.approve({ ...terms, ...known, by: 'grace' }))).toBe('review.unknown');
    expect(await codeOf(reviews.forget({ ...tool, ...known, by: 'grace\nApproved' }))).toBe('config.invalid');
  },
);

test.each(['viewer', 'operator'])('a token with the role %s moves no workflow', async (role) => {
  const runtime = createRuntime({ tools: [], ledger: createMemoryLedger() });
  const move = { stageId: 'ship', by: 'mal' };
  const control = runtime.workflow({ sessionId: 's' });
  for (const act of ['reset', 'setStage'] as const) {
    const as = (has: string): Promise<string> =>
      codeOf(control[act]({ ...move, identity: token('mal', has) }));
    expect(await as(role)).toBe('confirmation.forbidden');
    // An approver gets further: there is no workflow here.
    expect(await as('approver')).toBe('config.invalid');
  }
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

  const bad = ['a'.repeat(limits.nameChars + 1), 'ada\nApproved: yes', 'ada\u001b[2J', 'ada\u2028eve', ''];
  const long = 'r'.repeat(limits.shortReasonChars + 1);
  const ref = { sessionId: 's', callId: 'c' };
  const far = Array.from({ length: limits.reminders.times + 1 }, (_, index) => index);
  test.each<[string, (runtime: Runtime, now: number) => readonly Promise<unknown>[]]>([
    [
      'a list',
      ({ confirmations, calls, handoffs }) =>
        [0, 1.5, limits.pageRows + 1, Number.POSITIVE_INFINITY].flatMap((limit) => [
          confirmations.list({ limit }),
          confirmations.listFor({ by: 'ada' }, { limit }),
          calls.unresolved({ limit }),
          calls.errors({ limit }),
          handoffs.list({ limit }),
        ]),
    ],
    [
      'a grant',
      ({ grants }) => [
        ...bad.map((by) => grants.give({ sessionId: 's', toolName: 'pay', by })),
        grants.give({ sessionId: 's', toolName: 'pay', by: 'ada', reason: long }),
        grants.give({ sessionId: 's', toolName: 'p'.repeat(limits.grant.toolNameChars + 1), by: 'ada' }),
        grants.give({ sessionId: 's', toolName: 'pay', by: 'ada', forMs: 0.5 }),
        ...bad.map((by) => grants.revoke({ sessionId: 's', grantId: 'g', by })),
        grants.revoke({ sessionId: 's', grantId: 'g', by: 'ada', reason: long }),
      ],
    ],
    [
      'a delegation',
      ({ delegations }, now) => [
        ...bad.map((to) => delegations.give({ by: 'ada', identity: finance('ada'), to, until: now + dayMs })),
        ...bad.map((by) => delegations.give({ by, identity: finance('ada'), to: 'dan', until: now + dayMs })),
        delegations.give({
          by: 'ada',
          identity: finance('ada'),
          to: 'dan',
          until: now + limits.delegation.longestMs + 60_000,
        }),
        ...bad.map((by) => delegations.revoke({ delegationId: 'd', by })),
      ],
    ],
    [
      'a decision link',
      ({ confirmations }) => [
        ...bad.map((by) => confirmations.link('c', { by, expiresInMs: 1 })),
        ...bad.map((madeBy) => confirmations.link('c', { madeBy, expiresInMs: 1 })),
        confirmations.link('c', { by: 'ada', expiresInMs: limits.link.longestMs + 1 }),
        ...bad.map((by) => confirmations.decideByLink('t', { decision: 'deny', by })),
      ],
    ],
    [
      'a resolution or an undo',
      ({ calls }) => [
        ...bad.map((by) => calls.reconcile(ref, { resolution: 'failed', by })),
        ...bad.map((by) => calls.reconcile(ref, { ask: 'tool', by })),
        ...bad.map((by) => calls.undo(ref, { by })),
      ],
    ],
    [
      'a claim',
      ({ handoffs }) => [
        ...[...bad, 'w'.repeat(limits.workerChars + 1)].map((worker) => handoffs.claim(ref, { worker })),
        handoffs.claim(ref, { worker: 'w', requestId: 'r'.repeat(limits.requestIdChars + 1) }),
        handoffs.claim(ref, {
          worker: 'w',
          reclaim: Array.from({ length: limits.reclaimed + 1 }, () => 'r'),
        }),
      ],
    ],
    [
      'a reminder',
      ({ confirmations }) => [confirmations.remind('c', far), confirmations.remind('c', [Number.NaN])],
    ],
  ])('%s beyond a limit is refused', async (_, acts) => {
    const tool = defineTool({ name: 'pay', mode: 'external', run: () => 'paid' });
    const runtime = createRuntime({ tools: [tool], ledger: createMemoryLedger() }) as unknown as Runtime;
    const codes = await Promise.all(acts(runtime, Date.now()).map(codeOf));
    expect(codes).toEqual(codes.map(() => 'config.invalid'));
    await runtime.close();
  });

  test('a host that asks for reminders without a pause gets one in ten seconds', async () => {
    const stage = quorumStage(ruleset(payRule('{ quorum: 1 }')));
    const { runtime, clock } = stage;
    const { confirmationId } = await stage.ask('c');
    for (let second = 0; second < 30; second++) {
      clock.advance(1_000);
      await runtime.confirmations.remind(confirmationId, [clock.now()]);
    }
    const events = await runtime.events.list({ sessionId: 's', callId: 'c' });
    expect(events.filter(({ type }) => type === 'confirmation.reminded')).toHaveLength(3);
  });

  test('a search that is too long is refused by every store and by HTTP', async () => {
    const ledger = createMemoryLedger();
    const text = 'w'.repeat(limits.searchChars + 1);
    expect(await codeOf(Promise.resolve().then(() => findCalls(ledger, { text })))).toBe('config.invalid');
    expect(JSON.stringify(apiSchemas['CallListQuery'])).toContain(`"maxLength":${limits.searchChars}`);
  });

  test('HTTP states the same numbers', () => {
    const text = JSON.stringify(apiSchemas);
    for (const most of [
      limits.reasonChars,
      limits.shortReasonChars,
      limits.responseChars,
      limits.nameChars,
      limits.workerChars,
      limits.link.tokenChars,
    ])
      expect(text).toContain(`"maxLength":${most}`);
    expect(text).toContain(`"maximum":${limits.pageRows}`);
    expect(text).toContain(`"maxItems":${limits.reclaimed}`);
    expect(text).toContain(`At most ${limits.forSession.longestMs}`);
    expect(text).toContain(`At most ${limits.forSession.uses}.`);
    expect(text).toContain(`At most ${limits.link.longestMs}: 7 days`);
  });
});
