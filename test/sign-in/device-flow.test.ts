/** Command lines that sign in through a browser: who gets the sign-in, once, and when no one does. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createManualClock } from 'quittance/testing';
import { Jar, askProvider, visit } from './sign-in.ts';
import type { SignInStage } from './start-sign-in.ts';
import { startSignIn } from './start-sign-in.ts';

const minute = 60_000;
const clock = createManualClock(Date.now());
let stage: SignInStage;
beforeAll(async () => {
  stage = await startSignIn({}, clock);
});
afterAll(() => stage.close());

const post = async (
  path: string,
  form: Record<string, string>,
): Promise<{ status: number; body: Record<string, unknown> }> => {
  const answer = await fetch(stage.url + path, { method: 'POST', body: new URLSearchParams(form) });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};

type Device = { readonly device_code: string; readonly user_code: string };
const start = async (): Promise<Device> =>
  (await post('/login/device', { from: 'laptop' })).body as unknown as Device;

/** The command line asks, at the interval that the server states. */
async function poll({ device_code }: Pick<Device, 'device_code'>): Promise<unknown> {
  clock.advance(5_000);
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  const { body } = await post('/login/token', { grant_type, device_code });
  return body['error'] ?? body['access_token'];
}

/** The person signs in for a code. Returns what the page must send to allow it. */
async function confirmAs(who: string, { user_code }: Device): Promise<string> {
  const jar = new Jar();
  const { callback } = await askProvider(jar, stage.url, who, `?device=${user_code}`);
  const page = await (await visit(jar, callback)).text();
  return /name="confirm" value="([^"]+)"/.exec(page)?.[1] ?? page;
}

const answer = async ({ user_code }: Device, confirm: string, decision: string): Promise<number> => {
  const form = new URLSearchParams({ user_code, confirm, decision });
  const headers = { origin: stage.url };
  return (await fetch(`${stage.url}/device`, { method: 'POST', body: form, headers })).status;
};
const allow = async (who: string, device: Device): Promise<number> =>
  answer(device, await confirmAs(who, device), 'allow');

const statusOf = async (token: unknown): Promise<number> =>
  (await fetch(`${stage.url}/v1/me`, { headers: { authorization: `Bearer ${String(token)}` } })).status;

const endPerson = (subject: string): Promise<unknown> =>
  stage.app.post('/v1/sign-ins/end', { issuer: stage.provider.issuer, subject });

describe('a command line', () => {
  test('gets a sign-in once, after the person allowed it', async () => {
    const device = await start();
    expect(await poll(device)).toBe('authorization_pending');
    expect(await allow('u-ada', device)).toBe(200);
    const verifiedAt = clock.now();
    const token = await poll(device);
    expect(token).toMatch(/^qs_/);
    expect(await poll(device)).toBe('expired_token');
    const me = await fetch(`${stage.url}/v1/me`, { headers: { authorization: `Bearer ${String(token)}` } });
    // The time is that of the check by the provider, not that of the last question.
    expect(await me.json()).toMatchObject({ signIn: { subject: 'u-ada', kind: 'command line', verifiedAt } });
  });

  test('gets nothing from a person who denies it, a page without its secret, or another site', async () => {
    const device = await start();
    const confirm = await confirmAs('u-ada', device);
    expect(await answer(device, 'guess', 'allow')).toBe(400);
    expect(await answer(device, '', 'allow')).toBe(400);
    const form = new URLSearchParams({ user_code: device.user_code, confirm, decision: 'allow' });
    const headers = { origin: 'https://evil.example' };
    const foreign = await fetch(`${stage.url}/device`, { method: 'POST', body: form, headers });
    expect(foreign.status).toBe(403);
    expect(await poll(device)).toBe('authorization_pending');
    expect(await answer(device, confirm, 'deny')).toBe(200);
    expect(await answer(device, confirm, 'allow')).toBe(400);
    expect(await poll(device)).toBe('access_denied');
    expect(await poll(device)).toBe('expired_token');
  });

  test('gets the person who signed in last for its code, and no person without a role', async () => {
    const device = await start();
    const first = await confirmAs('u-ada', device);
    expect(await confirmAs('u-eve', device)).toContain('You have no rights here');
    const second = await confirmAs('u-bob', device);
    expect(await answer(device, first, 'allow')).toBe(400);
    expect(await answer(device, second, 'allow')).toBe(200);
    const token = await poll(device);
    const me = await fetch(`${stage.url}/v1/me`, { headers: { authorization: `Bearer ${String(token)}` } });
    expect(await me.json()).toMatchObject({ name: 'Bob Noyce' });
  });

  test('has ten minutes, and must not ask too often', async () => {
    const device = await start();
    expect(await poll(device)).toBe('authorization_pending');
    const { body } = await post('/login/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: device.device_code,
    });
    expect(body).toEqual({ error: 'slow_down' });
    const confirm = await confirmAs('u-ada', device);
    clock.advance(10 * minute);
    expect(await answer(device, confirm, 'allow')).toBe(400);
    expect(await poll(device)).toBe('expired_token');
    expect(await poll({ device_code: 'qd_unknown' })).toBe('expired_token');
  });

  test('gets nothing if the person was signed out before it asked', async () => {
    const device = await start();
    expect(await allow('u-ada', device)).toBe(200);
    await endPerson('u-ada');
    expect(await poll(device)).toBe('expired_token');
    const other = await start();
    expect(await allow('u-bob', other)).toBe(200);
    await endPerson('u-ada');
    expect(await statusOf(await poll(other))).toBe(200);
  });

  test('gets nothing if the provider ended the session of the person (back-channel logout)', async () => {
    const device = await start();
    expect(await allow('u-bob', device)).toBe(200);
    const claims = {
      iss: stage.provider.issuer,
      aud: stage.provider.clientId,
      iat: Math.floor(Date.now() / 1_000),
      exp: Math.floor(Date.now() / 1_000) + 120,
      jti: 'device-logout',
      sub: 'u-bob',
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    };
    const logout_token = await stage.provider.sign(claims, { typ: 'logout+jwt' });
    const form = new URLSearchParams({ logout_token });
    expect((await fetch(`${stage.url}/login/backchannel`, { method: 'POST', body: form })).status).toBe(200);
    expect(await poll(device)).toBe('expired_token');
  });
});
