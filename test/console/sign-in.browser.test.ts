/** People sign in with a real identity provider, in browsers and on the command line. */
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, startCli } from '../run-cli.ts';
import { sitAtTerminal } from '../sit-at-terminal.ts';
import { signInOptions } from '../sign-in/start-sign-in.ts';
import { startProvider } from '../sign-in/test-provider.ts';
import { holdCall } from './shop.ts';
import { openStage } from './stage.ts';
import type { SignInServer } from './sign-in-server.ts';
import { sendFrom, signInAs, startSignInServer } from './sign-in-server.ts';

let stage: SignInServer;
beforeAll(async () => {
  stage = await startSignInServer();
});
afterAll(() => stage.close());

test('a person without a role sees why; signing out ends the session here and at the provider', async () => {
  const eve = await stage.openAs('u-eve');
  expect(await eve.getByRole('heading', { level: 1 }).textContent()).toBe('You have no rights here');
  const ada = await stage.openAs('u-ada');
  const { next } = (await sendFrom(ada, '/logout', {})).body as { next: string };
  await ada.goto(next);
  await ada.getByRole('button', { name: 'Yes' }).click();
  await ada.getByRole('heading', { name: 'You are signed out' }).waitFor();
  expect((await sendFrom(ada, '/v1/me')).status).toBe(401);
  // The provider asks for the person again.
  await ada.goto(`${stage.url}/login`);
  await ada.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await ada.getByLabel('Who are you?').waitFor();
});

test('the page of a decision link offers to sign in, and comes back to the question', async () => {
  const ola = await stage.openAs('u-ola');
  const asked = await sendFrom(ola, '/v1/calls', {
    sessionId: 's2',
    call: { id: 'pay-2', name: 'pay', arguments: { to: 'Bolt', cents: 9 } },
    principal: { userId: 'u-ola' },
  });
  const { confirmationId } = asked.body as { confirmationId: string };
  const made = await sendFrom(ola, `/v1/confirmations/${confirmationId}/link`, {
    decisions: ['approve', 'deny'],
    expiresInMs: 3_600_000,
  });
  const link = (made.body as { url: string }).url;
  const page = await stage.openBrowser();
  await page.goto(link);
  await signInAs(page, 'u-bob');
  await page.getByText('You decide as Bob Noyce (signed in).').waitFor();
  // Opening it decided nothing.
  const view = (await sendFrom(ola, `/v1/confirmations/${confirmationId}`)).body as { status: string };
  expect(view.status).toBe('pending');
});

test('a person signs in on the command line, decides there, and signs out', async () => {
  const env = { QUITTANCE_CREDENTIALS: join(stage.folder, 'credentials.json'), QUITTANCE_LEDGER: '' };
  const ola = await stage.openAs('u-ola');
  const asked = await sendFrom(ola, '/v1/calls', {
    sessionId: 's3',
    call: { id: 'pay-3', name: 'pay', arguments: { to: 'Cable', cents: 7 } },
    principal: { userId: 'u-ola' },
  });
  const { confirmationId } = asked.body as { confirmationId: string };
  const login = startCli(['login', stage.url, '--json'], { env });
  const [line] = (await once(createInterface(login.stdout), 'line')) as [string];
  const { verificationUri, userCode } = JSON.parse(line) as { verificationUri: string; userCode: string };
  const page = await stage.openBrowser();
  await page.goto(verificationUri);
  await page.getByText(userCode).waitFor();
  await signInAs(page, 'u-bob');
  await page.getByText('Bob Noyce').waitFor();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByRole('heading', { name: 'The command line is signed in' }).waitFor();
  expect(await once(login, 'close')).toEqual([0, null]);
  const me = await runCli(['whoami'], { env });
  expect(me.out).toContain(`Bob Noyce (approver; verified by ${stage.provider.issuer} as u-bob)`);
  const pending = await runCli(['pending', '--server', stage.url, '--json'], { env });
  const held = pending.out
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text) as { confirmationId: string; inputDigest: string });
  const { inputDigest = '' } = held.find((each) => each.confirmationId === confirmationId) ?? {};
  const deny = ['deny', confirmationId, '--server', stage.url, '--digest', inputDigest];
  // Every program of the user can read the stored sign-in, so it does not count without a person.
  expect(await runCli(deny, { env })).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('needs a person who confirms it at a terminal'),
  });
  const denied = await sitAtTerminal(deny, (word) => word, env);
  expect([denied.code, denied.out.replaceAll(/\s+/g, ' ')]).toEqual([
    0,
    expect.stringContaining(`verified by ${stage.provider.issuer} as u-bob (oidc device`),
  ]);
  const signIns = await runCli(['sign-ins', '--ledger', stage.ledger], { env });
  expect(signIns.out).toMatch(/Bob Noyce +u-bob +command line/);
  expect((await runCli(['logout'], { env })).code).toBe(0);
  const after = await runCli(['whoami', '--server', stage.url], { env });
  expect([after.code, after.err]).toEqual([2, expect.stringContaining('You are not signed in')]);
});

test('the console shows who is signed in, signs out, and shows the verified identity of a decision', async () => {
  const provider = await startProvider();
  provider.people.set('u-ada', { name: 'Ada Lovelace', groups: ['admins'] });
  const shop = await openStage({
    fill: () => Promise.resolve(),
    server: { signIn: signInOptions(provider) },
  });
  provider.serve(shop.server.url);
  try {
    const turn = shop.runtime.turn({ sessionId: 'signed' });
    const { confirmationId } = await holdCall(shop.runtime, turn, 'call_1', 'refund', {
      order: 'o1',
      cents: 4_500,
    });
    const page = await (await shop.browser.newContext()).newPage();
    await page.goto(`${shop.server.url}/login?returnTo=${encodeURIComponent(`/inbox/${confirmationId}`)}`);
    await signInAs(page, 'u-ada');
    await page.getByText('Ada Lovelace').first().waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/inbox/${confirmationId}`);
    const { inputDigest } = (await sendFrom(page, `/v1/confirmations/${confirmationId}`)).body as {
      inputDigest: string;
    };
    const denied = await sendFrom(page, `/v1/confirmations/${confirmationId}/decision`, {
      decision: 'deny',
      inputDigest,
    });
    expect(denied.status).toBe(200);
    await page.goto(`${shop.server.url}/calls/signed/call_1`);
    await page.getByText(`verified by ${provider.issuer} as u-ada (oidc`).first().waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    expect((await sendFrom(page, '/v1/me')).status).toBe(401);
  } finally {
    await shop.close();
    await provider.close();
  }
});
