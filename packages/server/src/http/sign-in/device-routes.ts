/** The addresses of the device flow: two for the command line, one page for the person. */
import type { Hono } from 'hono';
import { refuseOtherSites } from '../refuse-other-sites.ts';
import { answerPage } from '../answer-page.ts';
import { readText } from '../read-request.ts';
import type { Visit } from '../visit.ts';
import type { Devices } from './devices.ts';
import { askCodePage, deviceDonePage, failedPage, startDevicePage } from './sign-in-pages.ts';
import type { SignInRoutesOptions } from './sign-in-routes.ts';

const grantType = 'urn:ietf:params:oauth:grant-type:device_code';
const staleCode = 'The code is not known, or its time is up. Start again in your terminal.';

export function addDeviceRoutes(app: Hono<{ Bindings: Visit }>, options: SignInRoutesOptions): void {
  const { devices, throttle, hosts, url, signIns } = options;
  app.post('/login/device', async ({ req, env }) => {
    env.route = '/login/device';
    throttle.take(env.address);
    const form = new URLSearchParams(await readText(req.raw, 4_096));
    const { deviceCode, userCode, expiresInMs, intervalMs } = await devices.start(form.get('from') ?? '');
    return json(200, {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: `${url()}/device`,
      verification_uri_complete: `${url()}/device?user_code=${userCode}`,
      expires_in: expiresInMs / 1_000,
      interval: intervalMs / 1_000,
    });
  });

  app.post('/login/token', async ({ req, env }) => {
    env.route = '/login/token';
    throttle.take(env.address);
    const form = new URLSearchParams(await readText(req.raw, 4_096));
    if (form.get('grant_type') !== grantType) return json(400, { error: 'unsupported_grant_type' });
    return poll(options, form.get('device_code') ?? '');
  });

  app.get('/device', async ({ req, env }) => {
    env.route = '/device';
    throttle.take(env.address);
    const typed = new URL(req.url).searchParams.get('user_code');
    if (typed === null) return answerPage(askCodePage(undefined));
    const found = await devices.find(typed);
    return found === undefined
      ? answerPage(askCodePage(staleCode), 404)
      : answerPage(startDevicePage(found.userCode, found.from, signIns.settings.providerName));
  });

  app.post('/device', async ({ req, env }) => {
    env.route = '/device';
    throttle.take(env.address);
    refuseOtherSites('POST', req.raw.headers, hosts());
    return answer(devices, new URLSearchParams(await readText(req.raw, 4_096)));
  });
}

async function poll({ devices, signIns }: SignInRoutesOptions, deviceCode: string): Promise<Response> {
  const polled = await devices.poll(deviceCode);
  if (polled.status !== 'signed in') return json(400, { error: polled.status });
  return json(200, {
    access_token: polled.opened.secret,
    token_type: 'Bearer',
    expires_in: signIns.settings.lifetimeMs / 1_000,
  });
}

async function answer(devices: Devices, form: URLSearchParams): Promise<Response> {
  const decision = form.get('decision');
  const isAnswer = decision === 'allow' || decision === 'deny';
  const isAllowed = decision === 'allow';
  const isKnown =
    isAnswer && (await devices.answer(form.get('user_code') ?? '', form.get('confirm') ?? '', isAllowed));
  return isKnown
    ? answerPage(deviceDonePage(isAllowed))
    : answerPage(failedPage('Sign-in failed', staleCode), 400);
}

const json = (status: number, body: object): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
