/** A vote counts only while its right exists: when a quorum completes, every earlier vote is checked again. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DirectIdentity } from 'quittance/events';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import type { ConfirmationView } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createManualClock } from 'quittance/testing';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { approvalLines } from '../../packages/cli/src/approval-lines.ts';
import { openTokenStore } from '../../packages/server/src/http/open-access.ts';
import { openSignInContent } from '../../packages/server/src/http/sign-in/open-sign-in-content.ts';
import { withPerson, withoutPerson } from '../../packages/server/src/http/sign-in/with-sign-in.ts';
import { createRuntime } from 'quittance';
import type { Runtime } from 'quittance';
import { eventually } from '../eventually.ts';
import { sharePostgres } from '../postgres/shared-postgres.ts';
import { expectVerified, payRule, person, quorumStage, ruleset } from './quorum-stage.ts';

const dayMs = 86_400_000;
const two = ruleset(payRule('{ groups: [finance], quorum: 2 }'));
const finance = (name: string) => person(name, ['finance']);
const folder = mkdtempSync(join(tmpdir(), 'quittance-fallen-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A ledger with a second handle, as another process has. */
type Shared = { readonly ledger: OpenLedger; readonly other: OpenLedger; readonly path: string | undefined };

async function openShared(kind: 'memory' | 'sqlite' | 'postgres'): Promise<Shared> {
  if (kind === 'memory') {
    const ledger = createMemoryLedger();
    return { ledger, other: ledger, path: undefined };
  }
  const path = join(folder, `${randomUUID()}.db`);
  const server = kind === 'postgres' ? await sharePostgres() : undefined;
  const schema = `fallen_${randomUUID().slice(0, 8)}`;
  const url =
    server === undefined ? path : `${server.url}${server.url.includes('?') ? '&' : '?'}schema=${schema}`;
  const sealKey = new Uint8Array(32).fill(7);
  const ledger = await openLedger(url, { sealKey });
  const other = await openLedger(url, { sealKey });
  onTestFinished(async () => {
    await Promise.all([ledger.close(), other.close()]);
  });
  return { ledger, other, path: kind === 'sqlite' ? path : undefined };
}

const decideIn = (
  ledger: OpenLedger,
  { confirmationId, inputDigest }: ConfirmationView,
  identity: DirectIdentity,
): Promise<ConfirmationView> =>
  (createRuntime({ tools: [], ledger }) as unknown as Runtime).confirmations.decide(confirmationId, {
    decision: 'approve',
    by: identity.kind === 'provider' ? identity.subject : 'someone',
    identity,
    inputDigest,
  });

/** The question stays open, the vote of this person is void, and every list says why. */
function expectVoid(view: ConfirmationView, name: string, why: string): void {
  expect(view).toMatchObject({
    status: 'pending',
    fallen: [{ by: { name }, decision: 'approve', why: expect.stringContaining(why) }],
  });
  expect(view.votes.map(({ by }) => by.name)).not.toContain(name);
  const shown = approvalLines(view, { paint: (_, text) => text, textWidth: 200 }).join('\n');
  expect(shown).toContain(why);
  expect(shown).toContain('void');
}

describe('[bound-approval] a vote falls with its right', () => {
  const stores = ['memory', 'sqlite', 'postgres'] as const;

  test.each(stores)(
    'a vote falls with its right that of a revoked token, revoked by another process, on %s',
    async (kind) => {
      const { ledger, other, path } = await openShared(kind);
      const tokens = openTokenStore(other, path);
      await tokens.refresh();
      const { record } = await tokens.create({ name: 'ada', role: 'approver', groups: ['finance'] });
      const ada = {
        kind: 'token',
        id: record.tokenId,
        name: 'ada',
        via: 'bearer',
        groups: ['finance'],
        roles: ['approver'],
      } as const;
      const stage = quorumStage(two, { ledger });
      const question = await stage.ask('c');
      expect(await decideIn(other, question, ada)).toMatchObject({ status: 'pending', fallen: [] });
      await tokens.revoke('ada');
      expectVoid(await decideIn(ledger, question, finance('eve')), 'someone', 'token was revoked');
      expect(stage.ran).toEqual([]);
      const listed = await stage.runtime.confirmations.list({ status: 'pending' });
      expectVoid(listed.rows[0] as ConfirmationView, 'someone', 'token was revoked');
      expect(await decideIn(other, question, finance('cid'))).toMatchObject({ status: 'approved' });
      expect(await stage.ended('c')).toBe('ToolExecutionResult');
      await expectVerified(ledger);
      await stage.runtime.close();
    },
  );

  test.each(stores)(
    'a vote falls with its right that of a delegate, revoked by another process, on %s',
    async (kind) => {
      const { ledger, other } = await openShared(kind);
      const stage = quorumStage(two, { ledger });
      const host = createRuntime({ tools: [], ledger: other }) as unknown as Runtime;
      const until = ledger.now() + dayMs;
      const { delegationId } = await host.delegations.give({
        by: 'ada',
        identity: finance('ada'),
        to: 'dan',
        until,
      });
      const question = await stage.ask('c');
      await decideIn(ledger, question, person('dan'));
      await host.delegations.revoke({ delegationId, by: 'ada', identity: finance('ada') });
      expectVoid(await decideIn(ledger, question, finance('eve')), 'dan', 'delegation of ada has ended');
      expect(stage.ran).toEqual([]);
      await expectVerified(ledger);
      await stage.runtime.close();
    },
  );

  test.each(stores)(
    'a vote falls with its right that of a person whom the provider refused, on %s',
    async (kind) => {
      const { ledger, other, path } = await openShared(kind);
      const content = openSignInContent(other, path);
      const ada = {
        issuer: 'https://id.example',
        subject: 'ada',
        name: 'Ada',
        aliases: [],
        groups: ['finance'],
      };
      const eve = { ...ada, subject: 'eve', name: 'Eve' };
      await content.change((all) => withPerson(all, ada, 1, dayMs, 'approver'));
      await content.change((all) => withPerson(all, eve, 1, dayMs, 'approver'));
      const stage = quorumStage(two, { ledger });
      const question = await stage.ask('c');
      await decideIn(ledger, question, finance('ada'));
      await content.change((all) => withoutPerson(all, ({ subject }) => subject === 'ada'));
      expectVoid(await decideIn(ledger, question, finance('eve')), 'ada', 'sign-in has ended');
      await stage.runtime.close();
    },
  );

  test.each([
    ['a lost group', { groups: [] as string[], role: 'approver' as const }, 'no longer group finance'],
    ['a lost role', { groups: ['finance'], role: 'viewer' as const }, 'no longer have the role approver'],
  ])('after %s', async (_, now, why) => {
    const ledger = createMemoryLedger();
    const content = openSignInContent(ledger, undefined);
    const ada = {
      issuer: 'https://id.example',
      subject: 'ada',
      name: 'Ada',
      aliases: [],
      groups: ['finance'],
    };
    for (const subject of ['ada', 'eve'])
      await content.change((all) => withPerson(all, { ...ada, subject }, 1, dayMs, 'approver'));
    const stage = quorumStage(two, { ledger });
    const question = await stage.ask('c');
    const approver = (name: string) => person(name, ['finance'], ['approver']);
    await stage.approve(question, approver('ada'));
    await content.change((all) => withPerson(all, { ...ada, groups: now.groups }, 2, dayMs, now.role));
    expectVoid(await stage.approve(question, approver('eve')), 'ada', why);
  });

  test('after a delegation expired', async () => {
    const clock = createManualClock();
    const stage = quorumStage(two, { clock });
    const until = clock.now() + 60_000;
    await stage.runtime.delegations.give({ by: 'ada', identity: finance('ada'), to: 'dan', until });
    const question = await stage.ask('c');
    await stage.approve(question, person('dan'));
    clock.advance(60_000);
    expectVoid(await stage.approve(question, finance('eve')), 'dan', 'delegation of ada has ended');
  });

  test('after a token expired, and after its role was lowered', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const tokens = openTokenStore(ledger, undefined);
    const given = { role: 'approver', groups: ['finance'], expiresInMs: 60_000 } as const;
    const { record } = await tokens.create({ ...given, name: 'ada' });
    const stage = quorumStage(two, { clock, ledger });
    const question = await stage.ask('c');
    const token = {
      kind: 'token',
      id: record.tokenId,
      name: 'ada',
      via: 'bearer',
      groups: ['finance'],
    } as const;
    await stage.approve(question, token);
    clock.advance(60_000);
    expectVoid(await stage.approve(question, finance('eve')), 'someone', 'token has expired');
    const text = (await ledger.documents?.read('tokens'))?.text ?? '';
    const stored = await ledger.documents?.read('tokens');
    await ledger.documents?.replace(
      'tokens',
      stored?.version ?? 0,
      text.replace('"approver"', '"viewer"').replace(/"expiresAt": \d+/, '"expiresAt": 99999999999999'),
    );
    const again = await stage.ask('d', 'bob', { cents: 901 });
    await stage.approve(again, token);
    expectVoid(await stage.approve(again, finance('eve')), 'someone', 'the role viewer now');
  });

  test('when the host says that the person may no longer decide', async () => {
    const may = new Set(['ada', 'eve']);
    const stage = quorumStage(two, { options: { mayDecide: (name: string) => may.has(name) } });
    const question = await stage.ask('c');
    await stage.approve(question, finance('ada'));
    may.delete('ada');
    expectVoid(await stage.approve(question, finance('eve')), 'ada', 'the host does not let them');
    may.add('ada');
    expect(await stage.approve(question, finance('ada'))).toMatchObject({ status: 'approved' });
    expect(await stage.ended('c')).toBe('ToolExecutionResult');
  });

  test('a denial of a quorum of denials falls too', async () => {
    const may = new Set(['ada', 'eve']);
    const rules = ruleset(payRule('{ groups: [finance], quorum: 2, denials: 2 }'));
    const stage = quorumStage(rules, { options: { mayDecide: (name: string) => may.has(name) } });
    const question = await stage.ask('c');
    await stage.deny(question, finance('ada'));
    may.delete('ada');
    expect(await stage.deny(question, finance('eve'))).toMatchObject({
      status: 'pending',
      fallen: [{ by: { name: 'ada' }, decision: 'deny' }],
    });
  });

  test('the delegator lost the group that the delegate acts with', async () => {
    const ledger = createMemoryLedger();
    const content = openSignInContent(ledger, undefined);
    const ada = {
      issuer: 'https://id.example',
      subject: 'ada',
      name: 'Ada',
      aliases: [],
      groups: ['finance'],
    };
    for (const subject of ['ada', 'dan', 'eve'])
      await content.change((all) => withPerson(all, { ...ada, subject }, 1, dayMs, 'approver'));
    const stage = quorumStage(two, { ledger });
    const until = ledger.now() + dayMs;
    await stage.runtime.delegations.give({ by: 'ada', identity: finance('ada'), to: 'dan', until });
    const question = await stage.ask('c');
    await stage.approve(question, person('dan'));
    await content.change((all) => withPerson(all, { ...ada, groups: [] }, 2, dayMs, 'approver'));
    expectVoid(await stage.approve(question, finance('eve')), 'dan', 'no longer group finance');
  });
});

const ada = { issuer: 'https://id.example', subject: 'ada', name: 'Ada', aliases: [], groups: ['finance'] };
const tokenOfAda = (id: string) =>
  ({ kind: 'token', id, name: 'ada', via: 'bearer', groups: ['finance'], roles: ['approver'] }) as const;

describe('[bound-approval] a grant does not outlive the right of its giver', () => {
  const one = ruleset(payRule('{ groups: [finance] }'));
  const stores = ['memory', 'sqlite', 'postgres'] as const;
  type Stage = ReturnType<typeof quorumStage>;
  let calls = 0;
  /** Does a call run, or does it wait for a person? */
  async function isGranted({ runtime }: Stage): Promise<boolean> {
    const id = `g${++calls}`;
    runtime.turn({ sessionId: 's', principal: { userId: 'bob' } }).submit({
      id,
      name: 'pay',
      arguments: { cents: calls },
    });
    return eventually(async () => {
      const [call] = await runtime.calls.list({ sessionId: 's', callId: id });
      if (call?.status !== 'held' && call?.status !== 'settled') throw new Error('not judged yet');
      return call.status === 'settled';
    });
  }
  const give = ({ runtime }: Stage, identity: DirectIdentity) =>
    runtime.grants.give({ sessionId: 's', toolName: 'pay', by: 'ada', identity });
  const whys = async ({ runtime }: Stage) =>
    (await runtime.grants.list({ sessionId: 's' })).map(({ status, why }) => why ?? status);

  test.each(stores)('after another process revoked the token, on %s', async (kind) => {
    const { ledger, other, path } = await openShared(kind);
    const tokens = openTokenStore(other, path);
    await tokens.refresh();
    const { record } = await tokens.create({ name: 'ada', role: 'approver', groups: ['finance'] });
    const stage = quorumStage(one, { ledger });
    await give(stage, tokenOfAda(record.tokenId));
    expect([await isGranted(stage), await whys(stage)]).toEqual([true, ['active']]);
    await tokens.revoke('ada');
    expect([await isGranted(stage), await whys(stage)]).toEqual([
      false,
      ['ada gave it, and their token was revoked'],
    ]);
    await stage.runtime.close();
  });

  test.each([
    ['after a lost role', { role: 'viewer' as const, groups: ['finance'] }],
    ['after a lost group', { role: 'approver' as const, groups: [] }],
  ])('%s, and applies again once they have it back', async (_, now) => {
    const ledger = createMemoryLedger();
    const content = openSignInContent(ledger, undefined);
    await content.change((all) => withPerson(all, ada, 1, dayMs, 'approver'));
    const stage = quorumStage(one, { ledger });
    await give(stage, person('ada', ['finance'], ['approver']));
    expect(await isGranted(stage)).toBe(true);
    await content.change((all) => withPerson(all, { ...ada, groups: now.groups }, 2, dayMs, now.role));
    expect(await isGranted(stage)).toBe(false);
    await content.change((all) => withPerson(all, ada, 3, dayMs, 'approver'));
    expect(await isGranted(stage)).toBe(true);
  });

  test('after the provider refused the giver', async () => {
    const ledger = createMemoryLedger();
    const content = openSignInContent(ledger, undefined);
    await content.change((all) => withPerson(all, ada, 1, dayMs, 'approver'));
    const stage = quorumStage(one, { ledger });
    await give(stage, person('ada', ['finance'], ['approver']));
    await content.change((all) => withoutPerson(all, () => true));
    expect(await isGranted(stage)).toBe(false);
  });

  test('after one of several approvers for the session lost the role', async () => {
    const ledger = createMemoryLedger();
    const content = openSignInContent(ledger, undefined);
    for (const subject of ['ada', 'eve'])
      await content.change((all) => withPerson(all, { ...ada, subject }, 1, dayMs, 'approver'));
    const stage = quorumStage(two, { ledger });
    const question = await stage.ask('c');
    const forSession = { forMs: 60_000, uses: 10 };
    await stage.approve(question, person('ada', ['finance'], ['approver']), { forSession });
    await stage.approve(question, person('eve', ['finance'], ['approver']), { forSession });
    expect(await isGranted(stage)).toBe(true);
    await content.change((all) => withPerson(all, ada, 2, dayMs, 'viewer'));
    expect(await isGranted(stage)).toBe(false);
    expect(await whys(stage)).toEqual(['ada gave it, and they no longer have the role approver']);
  });

  test('after the token expired', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const given = { name: 'ada', role: 'approver', groups: ['finance'], expiresInMs: 60_000 } as const;
    const { record } = await openTokenStore(ledger, undefined).create(given);
    const stage = quorumStage(one, { clock, ledger });
    await give(stage, tokenOfAda(record.tokenId));
    expect(await isGranted(stage)).toBe(true);
    clock.advance(60_000);
    expect(await isGranted(stage)).toBe(false);
  });
});

describe('[bound-approval] a delegation passes on only what the delegator may do now', () => {
  test('so one delegate cannot approve once the delegator has lost the group', async () => {
    const ledger = createMemoryLedger();
    const content = openSignInContent(ledger, undefined);
    for (const subject of ['ada', 'dan'])
      await content.change((all) => withPerson(all, { ...ada, subject }, 1, dayMs, 'approver'));
    const stage = quorumStage(ruleset(payRule('{ groups: [finance] }')), { ledger });
    const until = ledger.now() + dayMs;
    await stage.runtime.delegations.give({ by: 'ada', identity: finance('ada'), to: 'dan', until });
    const question = await stage.ask('c');
    await content.change((all) => withPerson(all, { ...ada, groups: [] }, 2, dayMs, 'approver'));
    await expect(stage.approve(question, person('dan'))).rejects.toMatchObject({
      code: 'confirmation.forbidden',
    });
    expect(stage.ran).toEqual([]);
  });
});
