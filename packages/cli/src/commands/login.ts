import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import type { CliCommand, Context, Given } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { writeCredential } from '../server/credentials.ts';
import { readServerUrl, request, serverOf } from '../server/server-client.ts';
import { describeMe } from '../server/describe-me.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

export const loginCommand: CliCommand = {
  name: 'login',
  summary: 'Sign in to a server through a browser',
  takes: '<server>',
  most: 1,
  about: [
    'Shows an address and a code. Open the address in a browser on any machine. Compare the code, sign in with the identity provider of the server, and allow this terminal. Commands with --server then act as you. Decisions record your verified identity.',
    'The credentials are stored in ~/.config/quittance/credentials.json, which only you can read. They end when you sign out, when your account is disabled at the provider, and after the lifetime that the server sets.',
  ],
  options: { json: { help: 'JSON instead of text: one line with the code, and one when you are signed in' } },
  examples: [
    ['quittance login https://quittance.example.org', 'sign in'],
    ['quittance whoami', 'show who you are'],
  ],
  effect: makes,
  async run(given, context) {
    const server = given.args[0] === undefined ? serverOf(given, context) : readServerUrl(given.args[0]);
    if (server === undefined)
      throw new UsageError('Missing address of the server.', [
        'quittance login https://quittance.example.org',
      ]);
    const token = await signIn(server, given, context);
    const path = writeCredential(context.env, { server, token });
    const { body } = await request(server, '/v1/me', {}, token, context.signal);
    if (given.has('json')) await context.out.print(safeJson(isJsonObject(body) ? body : {}));
    else
      await context.out.say(
        `Signed in to ${server} as ${describeMe(body)}. Credentials: ${terminalText(path)}`,
      );
    return exitCodes.good;
  },
};

async function signIn(server: string, given: Given, context: Context): Promise<string> {
  const form = (fields: Record<string, string>): RequestInit => ({
    method: 'POST',
    body: new URLSearchParams({ client_id: 'quittance-cli', ...fields }),
  });
  const send = (path: string, init: RequestInit): ReturnType<typeof request> =>
    request(server, path, init, undefined, context.signal);
  const started = await send('/login/device', form({ from: hostname() }));
  const device = isJsonObject(started.body) ? started.body : {};
  const [code, userCode] = [text(device, 'device_code'), text(device, 'user_code')];
  if (started.status !== 200 || code === undefined || userCode === undefined)
    throw new UsageError(
      `${server} has no identity provider to sign in with (status ${started.status}). Use a token instead.`,
      ['export QUITTANCE_TOKEN=qt_…'],
      exitCodes.bad,
    );
  await show(device, userCode, given, context);
  let intervalMs = Number(device['interval'] ?? 5) * 1_000;
  for (;;) {
    await sleep(intervalMs, undefined, { signal: context.signal });
    const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code };
    const polled = await send('/login/token', form(grant));
    const answer = isJsonObject(polled.body) ? polled.body : {};
    const token = text(answer, 'access_token');
    if (polled.status === 200 && token !== undefined) return token;
    switch (text(answer, 'error') ?? '') {
      case 'authorization_pending':
        break;
      case 'slow_down':
        intervalMs += 5_000;
        break;
      case 'access_denied':
        throw new UsageError(
          'The sign-in was denied in the browser.',
          [`quittance login ${server}`],
          exitCodes.bad,
        );
      default:
        throw new UsageError(
          'The time for this sign-in is over.',
          [`quittance login ${server}`],
          exitCodes.bad,
        );
    }
  }
}

async function show(device: JsonObject, userCode: string, given: Given, { out }: Context): Promise<void> {
  const address = text(device, 'verification_uri_complete') ?? text(device, 'verification_uri') ?? '';
  if (given.has('json')) {
    await out.print(safeJson({ verificationUri: address, userCode }));
    return;
  }
  await out.print(terminalText(address));
  await out.say(`Open this address, and compare the code: ${terminalText(userCode)}`);
}

function text(value: JsonObject, name: string): string | undefined {
  const found = value[name];
  return typeof found === 'string' && found !== '' ? found : undefined;
}
