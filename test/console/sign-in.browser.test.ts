/**
 * People sign in with a real identity provider, each in a browser of their own. The server is a process that is killed
 * between two approvals.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { runCli, startCli } from '../run-cli.ts';
import type { TestProvider } from '../sign-in/test-provider.ts';
import { startProvider } from '../sign-in/test-provider.ts';

const rules = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: payments }
defaults: { mode: enforce }
rules:
  - id: two-of-finance
    type: pre
    tool: pay
    when: { args.cents: { gte: 1 } }
    then:
      action: ask
      message: Two people of finance must approve.
      timeout: 86400
      approval: { groups: [finance], quorum: 2, exclude: [asker] }
`;
/** The tool counts its runs in a file, so that a second run in another process is found too. */
const runtimeModule = (runs: string): string => `
import { appendFileSync } from 'node:fs';
import { createRuntime, defineTool } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';
const pay = defineTool({
  name: 'pay',
  mode: 'external',
  input: { type: 'object', properties: { to: { type: 'string' }, cents: { type: 'integer' } }, required: ['to', 'cents'] },
  run: ({ to, cents }) => {
    appendFileSync(${JSON.stringify(runs)}, to + ' ' + cents + '\\n');
    return { paid: cents };
  },
});
export default async (ledger) => createRuntime({ tools: [pay], ledger, treatments: { external: 'run' }, contracts: await contractsFromYaml(new URL('rules.yaml', import.meta.url).pathname) });
`;

const folder = mkdtempSync(join(import.meta.dirname, '../../node_modules/.cache-sign-in-'));
const runs = join(folder, 'runs.txt');
const ledger = join(folder, 'ledger.db');
let provider: TestProvider;
let browser: Browser;
let port = 0;
let server: ChildProcessWithoutNullStreams | undefined;
const url = (): string => `http://127.0.0.1:${port}`;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port: found } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return found;
}

/** The real program, with the configuration that the documentation shows. */
async function startServer(): Promise<void> {
  const child = startCli(['serve', '--config', join(folder, 'quittance.yaml'), '--json'], {
    env: { QUITTANCE_SIGN_IN_CLIENT_SECRET: provider.clientSecret },
  });
  server = child;
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  const first = await Promise.race([
    once(createInterface(child.stdout), 'line') as Promise<[string]>,
    once(child, 'close').then(() => {
      throw new Error(`The server ended: ${errors}`);
    }),
  ]);
  expect(first[0]).toContain(url());
}

async function kill(): Promise<void> {
  const child = server;
  if (child === undefined) return;
  server = undefined;
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

/** A person in a browser of their own, who signs in. Returns the page of the console, or where they ended up. */
async function openAs(who: string, path = '/'): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await page.goto(`${url()}/login${path === '/' ? '' : `?returnTo=${encodeURIComponent(path)}`}`);
  await page.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await page.getByLabel('Who are you?').fill(who);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  return page;
}

/** A request of the page, with its cookie and its key. */
const send = (page: Page, path: string, body?: unknown): Promise<{ status: number; body: unknown }> =>
  page.evaluate(
    async ([address, text]) => {
      const answer = await fetch(address ?? '', {
        ...(text !== undefined && { method: 'POST', body: text }),
        headers: {
          'content-type': 'application/json',
          'x-quittance-page-key': localStorage.getItem('quittance.page-key') ?? '',
        },
      });
      return { status: answer.status, body: (await answer.json()) as unknown };
    },
    [path, body === undefined ? undefined : JSON.stringify(body)] as const,
  );

beforeAll(async () => {
  provider = await startProvider();
  port = await freePort();
  provider.serve(url());
  for (const [subject, name, ...groups] of [
    ['u-ada', 'Ada Lovelace', 'finance'],
    ['u-bob', 'Bob Noyce', 'finance'],
    ['u-ola', 'Ola Asker', 'finance', 'operators'],
    ['u-max', 'Max Other', 'marketing', 'approvers'],
    ['u-eve', 'Eve Outside', 'nothing'],
  ] as const)
    provider.people.set(subject, { name, groups });
  writeFileSync(join(folder, 'rules.yaml'), rules);
  writeFileSync(join(folder, 'runtime.mjs'), runtimeModule(runs));
  writeFileSync(runs, '');
  writeFileSync(
    join(folder, 'quittance.yaml'),
    JSON.stringify({
      ledger,
      port,
      runtime: join(folder, 'runtime.mjs'),
      sign_in: {
        issuer: provider.issuer,
        client_id: provider.clientId,
        scopes: ['openid', 'profile', 'groups'],
        provider_name: 'Example Login',
        roles: [
          { subject: 'u-ola', role: 'admin' },
          { group: 'finance', role: 'approver' },
          { group: 'approvers', role: 'approver' },
        ],
      },
    }),
  );
  browser = await launchBrowser();
  await startServer();
});
afterAll(async () => {
  await browser?.close();
  await kill();
  await provider?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('[bound-approval] two people of a group approve in two browsers, around a crash, and the call runs once', async () => {
  const ola = await openAs('u-ola');
  const asked = await send(ola, '/v1/calls', {
    sessionId: 's1',
    call: { id: 'pay-1', name: 'pay', arguments: { to: 'ACME', cents: 250_000 } },
    principal: { userId: 'u-ola' },
  });
  expect(asked).toMatchObject({ status: 200, body: { decision: 'held' } });
  const { confirmationId } = asked.body as { confirmationId: string };
  const path = `/v1/confirmations/${confirmationId}`;
  const { inputDigest } = (await send(ola, path)).body as { inputDigest: string };
  const decision = { decision: 'approve', inputDigest };
  const statusOf = async (page: Page): Promise<unknown> =>
    ((await send(page, path)).body as { status: string }).status;

  // The asker, although she is of the group, and a person outside of it.
  expect((await send(ola, `${path}/decision`, decision)).status).toBe(403);
  const max = await openAs('u-max');
  expect((await send(max, `${path}/decision`, decision)).status).toBe(403);
  expect(await statusOf(max)).toBe('pending');

  // The first approval, by hand in the console.
  const ada = await openAs('u-ada', `/inbox/${confirmationId}`);
  await ada
    .getByRole('button', { name: /^Approve/ })
    .first()
    .click();
  await ada
    .getByRole('button', { name: /^(?:Confirm|Approve)/ })
    .last()
    .click()
    .catch(() => undefined);
  await eventually(async () =>
    expect(JSON.stringify((await send(ada, path)).body)).toContain('"subject":"u-ada"'),
  );
  expect([await statusOf(ada), readFileSync(runs, 'utf8')]).toEqual(['pending', '']);

  await kill();
  await startServer();

  // Her sign-in survived the crash. A second approval of hers does not count.
  expect((await send(ada, '/v1/me')).status).toBe(200);
  await send(ada, `${path}/decision`, decision);
  expect([await statusOf(ada), readFileSync(runs, 'utf8')]).toEqual(['pending', '']);

  const bob = await openAs('u-bob', `/inbox/${confirmationId}`);
  expect((await send(bob, `${path}/decision`, decision)).status).toBe(200);
  // The process that held the call is gone. Its caller asks again, and the approved call runs.
  await eventually(async () => {
    await send(ola, '/v1/calls', {
      sessionId: 's1',
      call: { id: 'pay-1', name: 'pay', arguments: { to: 'ACME', cents: 250_000 } },
      principal: { userId: 'u-ola' },
      waitMs: 5_000,
    });
    expect(readFileSync(runs, 'utf8')).toBe('ACME 250000\n');
  });

  const audit = JSON.stringify((await send(ola, '/v1/audit?sessionId=s1')).body);
  for (const subject of ['u-ada', 'u-bob']) expect(audit).toContain(`"subject":"${subject}"`);
  expect(audit).toContain(`"issuer":"${provider.issuer}"`);
  const shown = await runCli(['show', 'pay-1', '--ledger', ledger]);
  for (const subject of ['u-ada', 'u-bob'])
    expect(shown.out.replaceAll(/\s+/g, ' ')).toContain(`verified by ${provider.issuer} as ${subject} (oidc`);
  await bob.goto(`${url()}/sessions/s1/calls/pay-1`);
  await bob.getByText('u-ada').first().waitFor();
  await kill();
  await startServer();
  expect(readFileSync(runs, 'utf8')).toBe('ACME 250000\n');
});

test('a person without a role sees why; signing out ends the session here and at the provider', async () => {
  const eve = await openAs('u-eve');
  expect(await eve.getByRole('heading', { level: 1 }).textContent()).toBe('You have no rights here');
  const ada = await openAs('u-ada');
  await ada.getByRole('button', { name: 'Sign out' }).click();
  await ada.getByRole('button', { name: 'Yes' }).click();
  await ada.getByRole('heading', { name: 'You are signed out' }).waitFor();
  expect((await send(ada, '/v1/me')).status).toBe(401);
  // The provider asks for the person again.
  await ada.goto(`${url()}/login`);
  await ada.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await ada.getByLabel('Who are you?').waitFor();
});

test('the page of a decision link offers to sign in, and comes back to the question', async () => {
  const ola = await openAs('u-ola');
  const asked = await send(ola, '/v1/calls', {
    sessionId: 's2',
    call: { id: 'pay-2', name: 'pay', arguments: { to: 'Bolt', cents: 9 } },
    principal: { userId: 'u-ola' },
  });
  const { confirmationId } = asked.body as { confirmationId: string };
  const made = await send(ola, `/v1/confirmations/${confirmationId}/link`, {
    decisions: ['approve', 'deny'],
    expiresInMs: 3_600_000,
  });
  const link = (made.body as { url: string }).url;
  const page = await (await browser.newContext()).newPage();
  await page.goto(link);
  await page.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await page.getByLabel('Who are you?').fill('u-bob');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('You decide as Bob Noyce (signed in).').waitFor();
  // Opening it decided nothing.
  const view = (await send(ola, `/v1/confirmations/${confirmationId}`)).body as { status: string };
  expect(view.status).toBe('pending');
});

test('a person signs in on the command line, decides there, and signs out', async () => {
  const env = { QUITTANCE_CREDENTIALS: join(folder, 'credentials.json'), QUITTANCE_LEDGER: '' };
  const ola = await openAs('u-ola');
  const asked = await send(ola, '/v1/calls', {
    sessionId: 's3',
    call: { id: 'pay-3', name: 'pay', arguments: { to: 'Cable', cents: 7 } },
    principal: { userId: 'u-ola' },
  });
  const { confirmationId } = asked.body as { confirmationId: string };
  const login = startCli(['login', url(), '--json'], { env });
  const [line] = (await once(createInterface(login.stdout), 'line')) as [string];
  const { verificationUri, userCode } = JSON.parse(line) as { verificationUri: string; userCode: string };
  const page = await (await browser.newContext()).newPage();
  await page.goto(verificationUri);
  await page.getByText(userCode).waitFor();
  await page.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await page.getByLabel('Who are you?').fill('u-bob');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Bob Noyce').waitFor();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByRole('heading', { name: 'The command line is signed in' }).waitFor();
  expect(await once(login, 'close')).toEqual([0, null]);
  const me = await runCli(['whoami'], { env });
  expect(me.out).toContain(`Bob Noyce (approver; verified by ${provider.issuer} as u-bob)`);
  const pending = await runCli(['pending', '--server', url(), '--json'], { env });
  const held = pending.out
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text) as { confirmationId: string; inputDigest: string });
  const { inputDigest = '' } = held.find((each) => each.confirmationId === confirmationId) ?? {};
  const denied = await runCli(['deny', confirmationId, '--server', url(), '--digest', inputDigest], { env });
  expect([denied.code, denied.out.replaceAll(/\s+/g, ' ')]).toEqual([
    0,
    expect.stringContaining(`verified by ${provider.issuer} as u-bob (oidc device`),
  ]);
  const signIns = await runCli(['sign-ins', '--ledger', ledger], { env });
  expect(signIns.out).toMatch(/Bob Noyce +u-bob +command line/);
  expect((await runCli(['logout'], { env })).code).toBe(0);
  const after = await runCli(['whoami', '--server', url()], { env });
  expect([after.code, after.err]).toEqual([2, expect.stringContaining('You are not signed in')]);
});
