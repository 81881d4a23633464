import fc from 'fast-check';
import type { RuntimeOptions } from 'quittance';
import type { LinkOptions } from 'quittance/runtime';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { describe, expect, it } from 'vitest';
import { envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';
import type { TokenClaims } from './decision-token.ts';
import { readSignedToken, writeSignedToken } from './decision-token.ts';

const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const tools = () => {
  const ran: unknown[] = [];
  return { ran, tool: defineTool({ name: 'delete_user', run: (args) => ran.push(args) }) };
};

async function held(options: Partial<Omit<RuntimeOptions<never>, 'tools' | 'clock'>> = {}) {
  const { ran, tool } = tools();
  const stage = setStage({ tools: [tool], ...options });
  const handle = stage.turn.submit(envelope('c', 'delete_user', { userId: 'u', password: 'hunter2hunter2' }));
  await quiet();
  const [confirmation] = (await stage.runtime.confirmations.list({ status: 'pending' })).rows;
  const confirmationId = confirmation?.confirmationId ?? '';
  const tokenFor = (given: Partial<LinkOptions> = {}) =>
    stage.runtime.confirmations.link(confirmationId, { expiresInMs: 1_000, ...given });
  return { ...stage, ran, handle, confirmationId, tokenFor };
}

describe('a decision token', () => {
  const signedIn = {
    kind: 'provider',
    issuer: 'https://id.example',
    subject: 'ada',
    method: 'oidc',
  } as const;

  it('decides the question it was made for, in the name of the signed-in person', async () => {
    const { runtime, ran, handle, tokenFor } = await held();
    const token = await tokenFor();
    const use = { decision: 'approve', identity: signedIn, reason: 'fine' } as const;
    expect(await runtime.confirmations.decideByLink(token, use)).toMatchObject({
      status: 'approved',
      by: {
        type: 'person',
        name: 'ada',
        identity: {
          kind: 'link',
          maker: { kind: 'service' },
          holder: { kind: 'signed_in', identity: signedIn },
        },
      },
      reason: 'fine',
    });
    expect(await handle.outcome()).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('made for a person needs no name again', async () => {
    const { runtime, handle, tokenFor } = await held();
    const token = await tokenFor({ by: 'ada' });
    expect(
      await refusal(runtime.confirmations.decideByLink(token, { decision: 'approve', by: 'eve' })),
    ).toMatchObject({
      code: 'confirmation.forbidden',
    });
    await runtime.confirmations.decideByLink(token, { decision: 'deny' });
    expect(await handle.outcome()).toMatchObject({ type: 'ToolDenied', details: 'Denied by ada.' });
  });

  it('made by a person and without a name needs a typed name', async () => {
    const { runtime, tokenFor } = await held();
    const token = await tokenFor({ madeBy: 'ada' });
    expect(await refusal(runtime.confirmations.decideByLink(token, { decision: 'approve' }))).toMatchObject({
      code: 'config.invalid',
    });
  });

  it('made by the service gives no permission to a typed or self-asserted name', async () => {
    const { runtime, ran, tokenFor } = await held({ mayDecide: () => true });
    const token = await tokenFor();
    for (const more of [
      {},
      { by: 'ada' },
      { by: 'ada', identity: { kind: 'self_asserted' } },
      { identity: { kind: 'self_asserted' } },
    ] as const)
      expect(
        await refusal(runtime.confirmations.decideByLink(token, { decision: 'approve', ...more })),
      ).toMatchObject({
        code: 'confirmation.forbidden',
        message: expect.stringContaining('Sign in'),
      });
    expect(ran).toEqual([]);
  });

  it('made by the service is checked against the permission of the person who uses it', async () => {
    const { runtime, tokenFor } = await held({ mayDecide: (actor) => actor === 'ada' });
    const eve = { ...signedIn, subject: 'eve' };
    expect(
      await refusal(
        runtime.confirmations.decideByLink(await tokenFor(), { decision: 'approve', identity: eve }),
      ),
    ).toMatchObject({ code: 'confirmation.forbidden' });
    expect(await refusal(tokenFor({ by: 'eve' }))).toMatchObject({ code: 'confirmation.forbidden' });
    await runtime.confirmations.decideByLink(await tokenFor({ by: 'ada' }), { decision: 'approve' });
  });

  it('a decision token for one person is refused to another signed-in person', async () => {
    const { runtime, tokenFor } = await held();
    const token = await tokenFor({ by: 'bob' });
    expect(
      await refusal(runtime.confirmations.decideByLink(token, { decision: 'approve', identity: signedIn })),
    ).toMatchObject({ code: 'confirmation.forbidden' });
    await runtime.confirmations.decideByLink(token, {
      decision: 'approve',
      identity: { ...signedIn, subject: 'Bob' },
    });
  });

  it('uses the permissions of its maker and of the person it names, when it is made and when it is used', async () => {
    const may = new Set(['ada', 'bob']);
    const { runtime, ran, tokenFor } = await held({ mayDecide: (actor) => may.has(actor) });
    for (const made of [{ madeBy: 'eve', by: 'bob' }, { madeBy: 'ada', by: 'eve' }, { madeBy: 'eve' }])
      expect(await refusal(tokenFor(made))).toMatchObject({ code: 'confirmation.forbidden' });
    const token = await tokenFor({ madeBy: 'ada', by: 'bob' });
    for (const gone of ['ada', 'bob']) {
      may.delete(gone);
      expect(await refusal(runtime.confirmations.decideByLink(token, { decision: 'approve' }))).toMatchObject(
        {
          code: 'confirmation.forbidden',
        },
      );
      may.add(gone);
    }
    expect(ran).toEqual([]);
    await runtime.confirmations.decideByLink(token, { decision: 'approve' });
  });

  it('a decision token that rests on a token of the HTTP server needs the server to confirm that the token is still valid', async () => {
    const { runtime, tokenFor } = await held();
    const identity = { kind: 'token', id: 't1', name: 'ada', via: 'bearer' } as const;
    const token = await tokenFor({ madeBy: 'ada', identity, by: 'bob' });
    for (const stands of [undefined, () => 'it was revoked'])
      expect(
        await refusal(
          runtime.confirmations.decideByLink(token, {
            decision: 'approve',
            ...(stands !== undefined && { stands }),
          }),
        ),
      ).toMatchObject({ code: 'confirmation.forbidden' });
    await runtime.confirmations.decideByLink(token, { decision: 'approve', stands: () => true });
  });

  it('lasts 7 days at most, and the error says so', async () => {
    const { tokenFor } = await held();
    const week = 7 * 24 * 3_600_000;
    await tokenFor({ expiresInMs: week });
    for (const expiresInMs of [week + 1, Number.MAX_SAFE_INTEGER])
      expect(await refusal(tokenFor({ expiresInMs }))).toMatchObject({
        code: 'config.invalid',
        message: expect.stringContaining('7 days'),
      });
  });

  it('made by a person without naming another records its maker next to the typed name', async () => {
    const { runtime, handle, tokenFor } = await held();
    const token = await tokenFor({ madeBy: 'ada' });
    const by = {
      type: 'person',
      name: 'the boss, by link of ada',
      identity: {
        kind: 'link',
        maker: { kind: 'person', name: 'ada', identity: { kind: 'self_asserted' } },
        holder: { kind: 'typed', name: 'the boss' },
      },
      asker: 'unknown',
    };
    expect(
      await runtime.confirmations.decideByLink(token, { decision: 'approve', by: 'the boss' }),
    ).toMatchObject({ by });
    await handle.outcome();
    expect(
      (await runtime.events.list({ sessionId: 's' })).find(({ type }) => type === 'confirmation.decided'),
    ).toMatchObject({
      by,
    });
    expect((await runtime.calls.audit({ sessionId: 's' })).map(({ decidedBy }) => decidedBy)).toContainEqual(
      by,
    );
  });

  it('made by one person for another belongs to the other, and names who vouched for them', async () => {
    const { runtime, tokenFor } = await held();
    const token = await tokenFor({ madeBy: 'ada', by: 'bob' });
    expect(await runtime.confirmations.decideByLink(token, { decision: 'approve' })).toMatchObject({
      by: {
        type: 'person',
        name: 'bob',
        identity: { kind: 'link', maker: { name: 'ada' }, holder: { kind: 'named' } },
      },
    });
  });

  it('gives no permission for a typed name: its maker must have it', async () => {
    const asked: string[] = [];
    const { runtime, tokenFor } = await held({
      mayDecide(actor) {
        asked.push(actor);
        return actor === 'boss';
      },
    });
    const use = { decision: 'approve', by: 'boss' } as const;
    expect(await refusal(tokenFor({ madeBy: 'eve' }))).toMatchObject({ code: 'confirmation.forbidden' });
    await runtime.confirmations.decideByLink(await tokenFor({ madeBy: 'boss' }), { ...use, by: 'eve' });
    expect(new Set(asked)).toEqual(new Set(['eve', 'boss']));
    expect(asked.filter((actor) => actor === 'eve')).toHaveLength(1);
  });

  it('is useless to the requester of the call, as its maker, by a typed name, or as its user', async () => {
    const { runtime } = await held({ separateDuties: true });
    const turn = runtime.turn({ sessionId: 'theirs', principal: { userId: 'user' } });
    turn.submit(envelope('d', 'delete_user', { userId: 'u', password: 'hunter2hunter2' }));
    await quiet();
    const { rows } = await runtime.confirmations.list({ sessionId: 'theirs' });
    const confirmationId = rows[0]?.confirmationId ?? '';
    for (const [made, typed] of [
      [{ madeBy: 'user', by: 'bob' }, undefined],
      [{ madeBy: 'user' }, 'bob'],
      [{ madeBy: 'ada' }, 'USER '],
      [{ madeBy: 'ada', by: 'user' }, undefined],
    ] as const) {
      const use = { decision: 'approve', ...(typed !== undefined && { by: typed }) } as const;
      const used = runtime.confirmations
        .link(confirmationId, { ...made, expiresInMs: 1_000 })
        .then((token) => runtime.confirmations.decideByLink(token, use));
      expect(await refusal(used)).toMatchObject({ code: 'confirmation.forbidden' });
    }
    const token = await runtime.confirmations.link(confirmationId, { madeBy: 'ada', expiresInMs: 1_000 });
    expect(await runtime.confirmations.decideByLink(token, { decision: 'approve', by: 'bob' })).toMatchObject(
      {
        status: 'approved',
      },
    );
  });

  it('leaves no secret on record that was typed as a name', async () => {
    const { runtime, tokenFor } = await held();
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    const token = await tokenFor({ madeBy: `boss ${secret}` });
    await runtime.confirmations.decideByLink(token, {
      decision: 'deny',
      by: `eve ${secret}`,
      reason: `not ${secret}`,
    });
    const [decided] = await eventsOf(runtime, 'confirmation.decided');
    expect(decided).toMatchObject({
      by: {
        identity: { maker: { name: 'boss [REDACTED]' }, holder: { name: 'eve [REDACTED]' } },
      },
      reason: 'not [REDACTED]',
    });
    expect(JSON.stringify(decided)).not.toContain(secret);
  });

  it('decides only the question it was made for', async () => {
    const { runtime, ran, tokenFor } = await held();
    const token = await tokenFor({ by: 'ada', decisions: ['deny'] });
    expect(await refusal(runtime.confirmations.decideByLink(token, { decision: 'approve' }))).toMatchObject({
      code: 'confirmation.forbidden',
    });
    await runtime.confirmations.decideByLink(token, { decision: 'deny' });
    expect(ran).toEqual([]);
  });

  it('is used once: a second use learns who decided', async () => {
    const { runtime, ran, handle, tokenFor } = await held();
    const [first, second] = [await tokenFor({ by: 'ada' }), await tokenFor({ by: 'bob' })];
    await runtime.confirmations.decideByLink(first, { decision: 'approve' });
    await handle.outcome();
    for (const token of [first, second]) {
      const error = await refusal(runtime.confirmations.decideByLink(token, { decision: 'deny' }));
      expect(error).toMatchObject({ code: 'confirmation.decided', facts: { by: 'ada' } });
    }
    expect(ran).toHaveLength(1);
  });

  it('decides once if many are used at the same time', async () => {
    const { runtime, ran, handle, tokenFor } = await held();
    const made = await Promise.all(['a', 'b', 'c', 'd'].map((by) => tokenFor({ by })));
    const refused = await Promise.all(
      made.map((token) => refusal(runtime.confirmations.decideByLink(token, { decision: 'approve' }))),
    );
    expect(refused.filter((error) => error === undefined)).toHaveLength(1);
    await handle.outcome();
    expect(ran).toHaveLength(1);
  });

  it('expires, at the latest with its question', async () => {
    const { clock, runtime, ran, tokenFor } = await held();
    const token = await tokenFor({ by: 'ada' });
    clock.advance(1_000);
    expect(await refusal(runtime.confirmations.decideByLink(token, { decision: 'approve' }))).toMatchObject({
      code: 'confirmation.expired',
    });
    expect(ran).toEqual([]);
  });

  it('states no later end than its question has', async () => {
    const { runtime, confirmationId, tokenFor } = await held({ holdTimeoutMs: 500 });
    const token = await tokenFor({ expiresInMs: 60_000 });
    const [fields = ''] = token.split('.').slice(1);
    const { rows } = await runtime.confirmations.list({ status: 'pending' });
    const { expiresAt } = rows.find((row) => row.confirmationId === confirmationId) ?? {};
    expect(JSON.parse(Buffer.from(fields, 'base64url').toString())).toContain(expiresAt);
    expect(expiresAt).toBeDefined();
  });

  it('also applies to one preview only', async () => {
    const ran: unknown[] = [];
    const tool = defineTool({
      name: 'delete_user',
      preview: () => ({ kind: 'text', text: 'deletes one', snapshot: { version: 7 } }),
      run: (_, { approved }) => ran.push(approved?.snapshot),
    });
    const { runtime, turn } = setStage({ tools: [tool] });
    const handle = turn.submit(envelope('c', 'delete_user', {}));
    await quiet();
    const [asked] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    const { confirmationId = '', preview } = asked ?? {};
    expect(preview?.revision).toBe(1);
    const token = await runtime.confirmations.link(confirmationId, { by: 'ada', expiresInMs: 1_000 });
    await runtime.confirmations.decideByLink(token, { decision: 'approve' });
    expect(await handle.outcome()).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual([{ version: 7 }]);
  });

  it('gives no permission that its user lacks', async () => {
    const { ran, tokenFor } = await held({ mayDecide: (actor) => actor === 'ada' });
    expect(await refusal(tokenFor({ by: 'eve' }))).toMatchObject({ code: 'confirmation.forbidden' });
    expect(ran).toEqual([]);
  });

  it('contains no secret', async () => {
    const { tokenFor } = await held();
    const [, payload = ''] = (await tokenFor()).split('.');
    expect(Buffer.from(payload, 'base64url').toString()).not.toContain('hunter2');
  });

  it('is valid in any process with the ledger, and in no other ledger', async () => {
    const { clock, ledger, handle, tokenFor } = await held();
    const token = await tokenFor({ by: 'ada' });
    for (const sealKey of [undefined, ledger.sealKey]) {
      const elsewhere = createRuntime({
        tools: [],
        ledger: createMemoryLedger({ clock, ...(sealKey !== undefined && { sealKey }) }),
      });
      expect(
        await refusal(elsewhere.confirmations.decideByLink(token, { decision: 'approve' })),
      ).toMatchObject({
        code: 'confirmation.forbidden',
      });
    }
    await createRuntime({ tools: [], ledger }).confirmations.decideByLink(token, { decision: 'approve' });
    expect(await handle.outcome()).toMatchObject({ type: 'ToolExecutionResult' });
  });

  it('is not made for a question that is decided, unknown or expired', async () => {
    const { runtime, confirmationId, tokenFor } = await held();
    expect(await refusal(runtime.confirmations.link('cnf_nope', { expiresInMs: 1 }))).toMatchObject({
      code: 'confirmation.unknown',
    });
    for (const wrong of [
      { expiresInMs: 0 },
      { expiresInMs: 1.5 },
      { decisions: [] },
      { decisions: ['edit'] },
      { by: '' },
      { until: 5 },
    ])
      expect(await refusal(tokenFor(wrong as Partial<LinkOptions>))).toMatchObject({
        code: 'config.invalid',
      });
    await runtime.confirmations.decide(confirmationId, { decision: 'deny', by: 'ada' });
    expect(await refusal(tokenFor())).toMatchObject({ code: 'confirmation.decided', facts: { by: 'ada' } });
  });

  it.each([undefined, null, 7, {}, '', 'qdt2.', 'qdt2..', 'qdt2.a.b', 'qdt2.a.b.c', 'x'.repeat(100_000)])(
    'is not %j',
    async (token) => {
      const { runtime } = await held();
      const error = await refusal(
        runtime.confirmations.decideByLink(token as string, { decision: 'approve', by: 'ada' }),
      );
      expect(isQuittanceError(error, 'confirmation.forbidden')).toBe(true);
    },
  );
});

describe('a signed token', () => {
  const key = new Uint8Array(32).fill(7);
  const provider = { kind: 'provider', issuer: 'i', subject: 's', method: 'oidc' } as const;
  const claims: fc.Arbitrary<TokenClaims> = fc.record({
    confirmationId: fc.string(),
    inputDigest: fc.string(),
    revision: fc.option(fc.nat(), { nil: undefined }),
    named: fc.option(
      fc.record({ name: fc.string({ unit: 'binary' }), identity: fc.constantFrom(undefined, provider) }),
      { nil: undefined },
    ),
    maker: fc.option(fc.record({ name: fc.string(), identity: fc.constant(provider) }), { nil: undefined }),
    decisions: fc.constantFrom(['approve' as const], ['approve' as const, 'deny' as const]),
    expiresAt: fc.maxSafeNat(),
  });

  it('returns its claims', () => {
    fc.assert(
      fc.property(claims, (given) => {
        expect(readSignedToken(writeSignedToken(given, key), key)).toEqual(given);
      }),
    );
  });

  it('is invalid once a character is changed, removed or added, and under another key', () => {
    fc.assert(
      fc.property(
        claims,
        fc.nat(),
        fc.constantFrom('', 'A', 'b', '.', '=', ' ', '\u0000'),
        (given, at, by) => {
          const token = writeSignedToken(given, key);
          const place = at % (token.length + 1);
          const changed = token.slice(0, place) + by + token.slice(place + 1);
          const added = token.slice(0, place) + by + token.slice(place);
          const others = [changed, added].filter((other) => other !== token);
          expect(others.flatMap((other) => readSignedToken(other, key) ?? [])).toEqual([]);
          expect(readSignedToken(token, new Uint8Array(32).fill(8))).toBeUndefined();
        },
      ),
    );
  });
});
