/** Two people of a group approve, each in a browser of their own, around a crash of the server. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { runCli } from '../run-cli.ts';
import type { SignInServer } from './sign-in-server.ts';
import { sendFrom, startSignInServer } from './sign-in-server.ts';

let stage: SignInServer;
beforeAll(async () => {
  stage = await startSignInServer(', approval: { groups: [finance], quorum: 2, exclude: [asker] }');
});
afterAll(() => stage.close());

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
  expect((await sendFrom(ada, `${path}/decision`, decision)).status).toBe(200);
  await eventually(async () =>
    expect(JSON.stringify((await sendFrom(ada, path)).body)).toContain('"subject":"u-ada"'),
  );
  expect([await statusOf(ada), stage.runs()]).toEqual(['pending', '']);

  await stage.kill();
  await stage.start();

  // Her sign-in survived the crash. A second approval of hers does not count.
  expect((await sendFrom(ada, '/v1/me')).status).toBe(200);
  await sendFrom(ada, `${path}/decision`, decision);
  expect([await statusOf(ada), stage.runs()]).toEqual(['pending', '']);

  const bob = await stage.openAs('u-bob', `/inbox/${confirmationId}`);
  expect((await sendFrom(bob, `${path}/decision`, decision)).status).toBe(200);
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
