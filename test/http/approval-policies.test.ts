/** Approvals by policy over HTTP: tokens with groups, votes, links, delegations. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import type { Runtime } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import type { HttpServer } from '@quittance/server';
import { createHttpServer } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import type { ConfirmationView, DelegationView } from 'quittance/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import { eventually } from '../eventually.ts';
import { payRule, ruleset } from '../people/quorum-stage.ts';
import { runCli } from '../run-cli.ts';

let server: HttpServer;
let runtime: Runtime;
let close: () => Promise<void>;
let hold: (id: string) => Promise<ConfirmationView>;
const ran: unknown[] = [];
const tokens: Record<string, string> = {};
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-quorum-'));
  const ledgerPath = join(folder, 'ledger.db');
  const ledger = await openLedger(ledgerPath);
  const tools = [defineTool({ name: 'pay', mode: 'external', run: (args) => ran.push(args) })];
  const contracts = contractsFromYamlString(
    ruleset(payRule('{ groups: [finance], quorum: 2, exclude: [asker] }')),
  );
  runtime = createRuntime({ tools, ledger, contracts });
  const stored = new TokenFile(tokenFilePath(ledgerPath), Date.now);
  for (const [name, groups] of Object.entries({
    ada: ['finance'],
    eve: ['finance', 'security'],
    mal: ['sales'],
    dan: undefined,
    bob: ['finance'],
  }))
    tokens[name] = stored.create({ name, role: 'approver', groups }).token;
  tokens['vic'] = stored.create({ name: 'vic', role: 'viewer', groups: ['finance'] }).token;
  server = await createHttpServer({
    ledger,
    runtime,
    tools,
    contracts,
    ledgerUrl: ledgerPath,
    port: 0,
    localName: 'x',
  });
  hold = async (id) => {
    runtime
      .turn({ sessionId: 's', principal: { userId: 'bob' } })
      .submit({ id, name: 'pay', arguments: { id } });
    return eventually(async () => {
      const { rows } = await runtime.confirmations.list({ status: 'pending' });
      const found = rows.find(({ callId }) => callId === id);
      if (found === undefined) throw new Error('not held yet');
      return found;
    });
  };
  close = async () => {
    await server.close();
    await runtime.close();
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  };
});
afterAll(() => close());

type Sent<Body> = { readonly status: number; readonly body: Body };
async function send<Body>(path: string, as: string, body?: object): Promise<Sent<Body>> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens[as]}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}
const decide = ({ confirmationId, inputDigest }: ConfirmationView, as: string, more: object = {}) =>
  send<ConfirmationView>(`/v1/confirmations/${confirmationId}/decision`, as, {
    decision: 'approve',
    inputDigest,
    ...more,
  });

test('[bound-approval] two tokens of a group approve; the asker and others are refused; repeats change nothing', async () => {
  const question = await hold('a');
  for (const name of ['mal', 'dan', 'bob']) expect((await decide(question, name)).status).toBe(403);
  const half = await decide(question, 'ada');
  expect(half.body).toMatchObject({
    status: 'pending',
    votes: [
      { decision: 'approve', by: { name: 'ada', identity: { groups: ['finance'], roles: ['approver'] } } },
    ],
    missing: [{ who: 'group finance', missing: 1, quorum: 2 }],
  });
  const again = await decide(question, 'ada');
  expect([again.status, again.body.votes]).toEqual([200, half.body.votes]);
  expect((await decide(question, 'ada', { decision: 'respond', response: 'Later.' })).body.status).toBe(
    'answered',
  );

  const other = await hold('b');
  await decide(other, 'ada');
  expect((await decide(other, 'eve')).body.status).toBe('approved');
  expect((await decide(other, 'eve')).body.status).toBe('approved');
  await expect.poll(() => ran).toEqual([{ id: 'b' }]);
  type Detail = { readonly audit: readonly { readonly approvers?: readonly { name: string }[] }[] };
  // The body runs before its end is stored.
  await expect
    .poll(async () => {
      const { body } = await send<Detail>('/v1/sessions/s/calls/b', 'ada');
      return body.audit.at(-1)?.approvers?.map(({ name }) => name);
    })
    .toEqual(['ada', 'eve']);
});

test('a link counts as its maker, and its page says what is missing', async () => {
  const question = await hold('c');
  const made = await send<{ token: string }>(`/v1/confirmations/${question.confirmationId}/link`, 'ada', {
    decisions: ['approve'],
    expiresInMs: 60_000,
  });
  const used = await send<ConfirmationView>('/v1/decisions', 'ada', {
    token: made.body.token,
    decision: 'approve',
  });
  expect(used.body).toMatchObject({ status: 'pending', votes: [{ by: { identity: { kind: 'link' } } }] });
  expect((await decide(question, 'ada')).body.votes).toHaveLength(1);
  expect((await decide(question, 'eve')).body.status).toBe('approved');
});

test('a link says before the decision whether it would be refused, and why', async () => {
  const question = await hold('linked');
  const path = `/v1/confirmations/${question.confirmationId}/link`;
  const made = await send<{ token: string }>(path, 'ada', { expiresInMs: 60_000 });
  const byService = await runtime.confirmations.link(question.confirmationId, { expiresInMs: 60_000 });
  const read = async (token: string, as: string | undefined): Promise<unknown> => {
    const response = await fetch(`${server.url}/v1/decisions/read`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(as !== undefined && { authorization: `Bearer ${tokens[as]}` }),
      },
      body: JSON.stringify({ token }),
    });
    return ((await response.json()) as { refused: unknown }).refused;
  };
  // The link of a person of the group counts as that person.
  expect(await read(made.body.token, undefined)).toEqual({});
  const unnamed = expect.stringContaining('Sign in to decide with it');
  expect(await read(byService, undefined)).toEqual({ approve: unnamed, deny: unnamed });
  expect(await read(byService, 'eve')).toEqual({});
  const outside = 'the rule asks for group finance, and they are not among them';
  expect(await read(byService, 'mal')).toEqual({ approve: outside, deny: outside });
  expect(await read(byService, 'bob')).toEqual({ approve: expect.stringContaining('requested by them') });
  await decide(question, 'eve', { decision: 'deny' });
  expect(await read(byService, 'ada')).toEqual({
    approve: expect.stringContaining('denied already by eve'),
    deny: expect.stringContaining('denied already by eve'),
  });
});

test('the questions of a caller are those that wait for this person', async () => {
  const mine = async (as: string): Promise<unknown> =>
    (await send<{ count: number }>('/v1/me/questions', as)).body;
  const none = { count: 0, more: false, rows: [] };
  const question = await hold('mine');
  const one = {
    count: 1,
    more: false,
    rows: [{ confirmationId: question.confirmationId, tool: 'pay' }],
  };
  // Bob asked. He may not approve, but he may deny.
  for (const name of ['ada', 'eve', 'bob']) expect(await mine(name)).toEqual(one);
  for (const name of ['mal', 'dan', 'vic']) expect(await mine(name)).toEqual(none);
  await decide(question, 'ada');
  expect([await mine('ada'), await mine('eve')]).toEqual([none, one]);
  await decide(question, 'eve');
  expect(await mine('eve')).toEqual(none);
});

test('delegations are given for oneself and revoked by those they concern', async () => {
  const until = Date.now() + 3_600_000;
  const given = await send<DelegationView>('/v1/delegations', 'ada', { to: 'dan', until, reason: 'Holiday' });
  expect([given.status, given.body]).toMatchObject([201, { by: 'ada', to: 'dan', status: 'active' }]);
  const question = await hold('d');
  expect((await decide(question, 'dan')).body.votes[0]?.by).toMatchObject({ behalf: [{ name: 'ada' }] });
  const path = `/v1/delegations/${given.body.delegationId}/revoke`;
  expect((await send(path, 'mal', {})).status).toBe(403);
  expect((await send<DelegationView>(path, 'dan', {})).body.status).toBe('revoked');
  expect((await send('/v1/delegations/dlg_none/revoke', 'ada', {})).status).toBe(404);
  const listed = await send<{ rows: readonly DelegationView[] }>('/v1/delegations', 'mal');
  expect(listed.body.rows.map(({ status }) => status)).toEqual(['revoked']);
  // The vote that dan gave for ada fell with the delegation.
  expect((await decide(question, 'eve')).body).toMatchObject({
    status: 'pending',
    fallen: [{ by: { behalf: [{ name: 'ada' }] }, why: 'the delegation of ada has ended' }],
  });
  expect((await decide(question, 'ada')).body.status).toBe('approved');
});

test('the command line says what is missing at the server, and approves for the session', async () => {
  const question = await hold('cli');
  const approve = (as: string, ...more: readonly string[]) =>
    runCli(['approve', 'cli', '--server', server.url, '--digest', question.inputDigest, ...more], {
      env: { QUITTANCE_TOKEN: tokens[as] ?? '' },
    });
  for (const [options, problem] of [
    [['--uses', '2'], 'Give both'],
    [['--for-session', '1h'], 'Give both'],
    [['--for-session', '2d', '--uses', '2'], 'a day at most'],
    [['--for-session', '1h', '--uses', '1001'], 'from 1 to 1000'],
  ] as const)
    expect(await approve('ada', ...options)).toMatchObject({
      code: 2,
      err: expect.stringContaining(problem),
    });
  const grant = ['--for-session', '1h', '--uses', '2'];
  const half = await approve('ada', ...grant);
  expect([half.code, half.out.replaceAll(/\s+/g, ' ')]).toEqual([
    0,
    expect.stringMatching(
      /^Approved: pay, call cli, digest \w+\. The rules need more people\. Still missing: 1 of group finance\. $/,
    ),
  ]);
  expect((await approve('eve', ...grant)).out).toMatch(/^Approved by eve \(token \w+\): pay/);
  expect(await runtime.grants.list({ sessionId: 's', active: true })).toMatchObject([
    { toolName: 'pay', uses: 2, approved: { callId: 'cli', votes: [{}, {}] } },
  ]);
  await expect.poll(() => ran).toContainEqual({ id: 'cli' });
});
