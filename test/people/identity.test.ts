/** Who acted on a call, and how they were identified, on every path. */
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { ToolCallInput } from 'quittance';
import type { DirectIdentity } from 'quittance/events';
import { describe, expect, test } from 'vitest';

const ada: DirectIdentity = {
  kind: 'provider',
  issuer: 'https://id.example',
  subject: 'ada',
  method: 'oidc',
};
const wipe = defineTool({ name: 'wipe', mode: 'destructive', run: () => 'wiped' });
const price = defineTool({
  name: 'price',
  mode: 'safe_write',
  run: () => 'set',
  undo: () => 'reset',
});
const call = (id: string, name = 'wipe'): ToolCallInput => ({
  id,
  name,
  arguments: { id },
});

async function held(options: { separateDuties?: boolean } = {}) {
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [wipe, price], ledger, ...options });
  const turn = runtime.turn({ sessionId: 's', principal: { userId: 'bob' } });
  const ask = async (id: string, askedBy?: DirectIdentity) => {
    void turn.call(call(id), { ...(askedBy && { askedBy }), ifHeld: 'return' }).catch(() => undefined);
    for (;;) {
      const { rows } = await runtime.confirmations.list({ status: 'pending' });
      const found = rows.find((row) => row.callId === id);
      if (found !== undefined) return found;
      await new Promise(setImmediate);
    }
  };
  return { ledger, runtime, turn, ask };
}

describe('bound-approval: how the person was identified is on record', () => {
  test('bound-approval: how the person was identified is on record for a decision; without an identity it is self-asserted', async () => {
    const { runtime, ask } = await held();
    const first = await ask('a');
    const { inputDigest } = first;
    const decided = await runtime.confirmations.decide(first.confirmationId, {
      decision: 'approve',
      by: 'ada',
      identity: ada,
      inputDigest,
    });
    expect(decided.by).toEqual({ type: 'person', name: 'ada', identity: ada, asker: 'other' });
    const second = await ask('b');
    expect(
      (await runtime.confirmations.decide(second.confirmationId, { decision: 'deny', by: 'bob' })).by,
    ).toEqual({
      type: 'person',
      name: 'bob',
      identity: { kind: 'self_asserted' },
      asker: 'same',
    });
    const audit = await runtime.calls.audit({ sessionId: 's', callId: 'a' });
    expect(audit.at(-1)?.decidedBy?.identity).toEqual(ada);
  });

  test('bound-approval: how the person was identified is on record for grants, revocations, undos and workflow moves', async () => {
    const { runtime, turn } = await held();
    const grant = await runtime.grants.give({ sessionId: 's', toolName: 'wipe', by: 'ada', identity: ada });
    expect(grant.identity).toEqual(ada);
    await turn.call(call('g'));
    const [granted] = await runtime.calls.list({ sessionId: 's', callId: 'g' });
    expect(granted?.decidedBy).toEqual({ type: 'person', name: 'ada', identity: ada });
    const revoked = await runtime.grants.revoke({
      sessionId: 's',
      grantId: grant.grantId,
      by: 'cy',
      identity: { kind: 'os_user', user: 'cy' },
    });
    expect(revoked.revoked?.identity).toEqual({ kind: 'os_user', user: 'cy' });
    await turn.call(call('p', 'price'));
    await runtime.calls.undo({ sessionId: 's', callId: 'p' }, { by: 'ada', identity: ada });
    const [undone] = await runtime.calls.list({ sessionId: 's', callId: 'p' });
    expect(undone?.undone?.by).toMatchObject({ name: 'ada', identity: ada });
  });

  test('bound-approval: how the person was identified is on record for erasures and removals', async () => {
    const { ledger, runtime, turn } = await held();
    await turn.call(call('p', 'price'));
    await ledger.erase({ sessionId: 's', by: 'ada', identity: ada, reason: 'asked to' });
    const events = await runtime.events.list({ sessionId: 's' });
    expect(events.find(({ type }) => type === 'body.erased')).toMatchObject({ by: 'ada', identity: ada });
  });

  test('bound-approval: how the person was identified is on record and is one of the known kinds', async () => {
    const { runtime, ask } = await held();
    const { confirmationId } = await ask('a');
    for (const identity of [
      {},
      { kind: 'link' },
      { kind: 'root' },
      { kind: 'token', id: 't' },
      { ...ada, more: 1 },
      { kind: 'self_asserted', admin: true },
      'token',
    ])
      await expect(
        runtime.confirmations.decide(confirmationId, {
          decision: 'deny',
          by: 'eve',
          identity: identity as never,
        }),
      ).rejects.toMatchObject({ code: 'config.invalid' });
  });
});

describe('with separate duties', () => {
  test('the requester is known by their verified identity, whatever name they give', async () => {
    const { runtime, ask } = await held({ separateDuties: true });
    const { confirmationId, inputDigest } = await ask('a', ada);
    for (const [by, identity] of [
      ['somebody else', ada],
      ['АDA', undefined],
      ['b0b', undefined],
      ['Bob ', { ...ada, subject: 'x' }],
    ] as const)
      await expect(
        runtime.confirmations.decide(confirmationId, {
          decision: 'approve',
          by,
          inputDigest,
          ...(identity && { identity }),
        }),
      ).rejects.toMatchObject({ code: 'confirmation.forbidden' });
    await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'cy', inputDigest });
  });

  test('a process without the option cannot be used to bypass it', async () => {
    const { ledger, ask } = await held({ separateDuties: true });
    const { confirmationId, inputDigest } = await ask('a');
    const elsewhere = createRuntime({ tools: [], ledger });
    await expect(
      elsewhere.confirmations.decide(confirmationId, { decision: 'approve', by: 'bob', inputDigest }),
    ).rejects.toMatchObject({ code: 'confirmation.forbidden' });
    await elsewhere.confirmations.decide(confirmationId, { decision: 'deny', by: 'bob' });
  });

  test('a grant does not approve the calls of the person who gave it', async () => {
    const { runtime, ask } = await held({ separateDuties: true });
    await runtime.grants.give({ sessionId: 's', toolName: 'wipe', by: 'sam', identity: ada });
    const { confirmationId } = await ask('a', { ...ada });
    expect(await runtime.confirmations.decide(confirmationId, { decision: 'deny', by: 'cy' })).toMatchObject({
      status: 'denied',
    });
  });
});

describe('an id of dots', () => {
  test.each(['.', '..'])('%j is not an id of a session, a call or a grant', async (id) => {
    const { ledger, runtime, turn } = await held();
    expect(() => runtime.turn({ sessionId: id })).toThrow(/may not be/);
    await expect(turn.call(call(id))).rejects.toMatchObject({ code: 'call.malformed' });
    await expect(runtime.grants.give({ sessionId: id, toolName: 'wipe', by: 'ada' })).rejects.toMatchObject({
      code: 'config.invalid',
    });
    expect(() => runtime.workflow({ sessionId: id })).toThrow(/sessionId must be/);
    expect(await ledger.readSession(id)).toEqual([]);
  });

  test.each(['...', '.a', 'report.html', 'a..b'])('%j is one', async (id) => {
    const { turn } = await held();
    expect(await turn.call(call(id, 'price'))).toMatchObject({ type: 'ToolExecutionResult', callId: id });
  });
});
