/** Two people of a group approve, each in a browser of their own, around a crash of the server. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRuntime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { approve } from '../approve.ts';
import { eventually } from '../eventually.ts';
import { runCli } from '../run-cli.ts';
import type { SignInServer } from './sign-in-server.ts';
import { sendFrom, startSignInServer } from './sign-in-server.ts';

let stage: SignInServer;
beforeAll(async () => {
  stage = await startSignInServer(', approval: { groups: [finance], quorum: 2, exclude: [asker] }');
});
afterAll(() => stage.close());

/** What the page says about approvals. */
const progress = async (page: Page): Promise<readonly string[]> => {
  await page.locator('.qt-approvals li').first().waitFor();
  const lines = await page.locator('.qt-approvals li').allInnerTexts();
  return lines.map((line) => line.replaceAll(/\s+/g, ' ').trim());
};

/** The link of a notification: it names no person and gives no permission. */
async function serviceLink(confirmationId: string): Promise<string> {
  const ledger = await openLedger(stage.ledger);
  const runtime = createRuntime({ tools: [], ledger });
  try {
    return await runtime.confirmations.link(confirmationId, { expiresInMs: 600_000 });
  } finally {
    await runtime.close();
    await ledger.close();
  }
}

test('[bound-approval] two people of a group approve in two browsers, around a crash, and the call runs once', async () => {
  const ola = await stage.openAs('u-ola');
  const asked = await sendFrom(ola, '/v1/calls', {
    sessionId: 's1',
    call: { id: 'pay-1', name: 'pay', arguments: { to: 'ACME', cents: 250_000 } },
    principal: { userId: 'u-ola' },
  });
  expect(asked).toMatchObject({ status: 200, body: { decision: 'held' } });
  const { confirmationId } = asked.body as { confirmationId: string };
  const path = `/v1/confirmations/${confirmationId}`;
  const { inputDigest } = (await sendFrom(ola, path)).body as { inputDigest: string };
  const decision = { decision: 'approve', inputDigest };
  const statusOf = async (page: Page): Promise<unknown> =>
    ((await sendFrom(page, path)).body as { status: string }).status;

  // The asker, although she is of the group, and a person outside of it.
  expect((await sendFrom(ola, `${path}/decision`, decision)).status).toBe(403);
  const max = await stage.openAs('u-max');
  expect((await sendFrom(max, `${path}/decision`, decision)).status).toBe(403);
  expect(await statusOf(max)).toBe('pending');

  // The first approval. The question stays open.
  const ada = await stage.openAs('u-ada', `/inbox/${confirmationId}`);
  expect(await progress(ada)).toEqual(['2 of 2 missing: group finance rule ask-finance']);
  expect(await ada.title()).toBe('(1) Inbox · Quittance');
  await approve(ada.locator('article.question'));
  await eventually(async () =>
    expect(JSON.stringify((await sendFrom(ada, path)).body)).toContain('"subject":"u-ada"'),
  );
  // Her page says who has said yes and what is missing. The question no longer waits for her.
  const half = [
    expect.stringMatching(/^Ada Lovelace approved verified by .* as u-ada/),
    '1 of 2 missing: group finance rule ask-finance',
  ];
  await expect.poll(() => progress(ada)).toEqual(half);
  await expect.poll(() => ada.title()).toBe('Inbox · Quittance');
  expect([await statusOf(ada), stage.runs()]).toEqual(['pending', '']);

  await stage.kill();
  await stage.start();

  // A person who opens a message of the service and is not signed in is asked to sign in, and sees no button.
  const stranger = await stage.openBrowser();
  await stranger.goto(`${stage.url}/decide#${await serviceLink(confirmationId)}`);
  await stranger.getByText('You cannot approve or deny now.').waitFor();
  await stranger.getByRole('link', { name: 'Sign in with Example Login' }).waitFor();
  expect(await stranger.getByRole('button').count()).toBe(0);
  // One who is signed in and outside of the group sees why.
  await max.goto(`${stage.url}/decide#${await serviceLink(confirmationId)}`);
  await max.getByText('The rule asks for group finance, and they are not among them.').waitFor();
  expect(await max.getByRole('button').count()).toBe(0);

  // Her sign-in survived the crash. A second approval of hers does not count.
  expect((await sendFrom(ada, '/v1/me')).status).toBe(200);
  await sendFrom(ada, `${path}/decision`, decision);
  expect([await statusOf(ada), stage.runs()]).toEqual(['pending', '']);

  const bob = await stage.openAs('u-bob', `/inbox/${confirmationId}`);
  await expect.poll(() => progress(bob)).toEqual(half);
  await approve(bob.locator('article.question'));
  // The process that held the call is gone. Its caller asks again, and the approved call runs.
  await eventually(async () => {
    await sendFrom(ola, '/v1/calls', {
      sessionId: 's1',
      call: { id: 'pay-1', name: 'pay', arguments: { to: 'ACME', cents: 250_000 } },
      principal: { userId: 'u-ola' },
      waitMs: 5_000,
    });
    expect(stage.runs()).toBe('ACME 250000\n');
  });

  const audit = JSON.stringify((await sendFrom(ola, '/v1/audit?sessionId=s1')).body);
  for (const subject of ['u-ada', 'u-bob']) expect(audit).toContain(`"subject":"${subject}"`);
  expect(audit).toContain(`"issuer":"${stage.provider.issuer}"`);
  const shown = await runCli(['show', 'pay-1', '--ledger', stage.ledger]);
  for (const subject of ['u-ada', 'u-bob'])
    expect(shown.out.replaceAll(/\s+/g, ' ')).toContain(
      `verified by ${stage.provider.issuer} as ${subject} (oidc`,
    );
  await stage.kill();
  await stage.start();
  expect(stage.runs()).toBe('ACME 250000\n');
});
