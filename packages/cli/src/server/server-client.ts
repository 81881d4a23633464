/** Requests of the command line to a server, with the credentials of `quittance login` or a token. */
import type { JsonValue } from 'quittance/internal/base/json';
import { isJsonObject, parseJson } from 'quittance/internal/base/json';
import type { Context, Given, Option } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import { readSecret } from '../proof.ts';
import { readCredential } from './credentials.ts';

export const serverOption: Option = {
  value: 'URL',
  help: 'Use this server instead of a ledger; default: QUITTANCE_SERVER. Sign in with quittance login',
};

export type ServerClient = {
  readonly server: string;
  get(path: string): Promise<JsonValue>;
  post(path: string, body: JsonValue | URLSearchParams): Promise<JsonValue>;
};

/** The server that a command uses; undefined if it uses a ledger. A ledger that was typed wins over the environment. */
export function serverOf(given: Given, { env }: Context): string | undefined {
  if (given.has('ledger') && !given.has('server')) return undefined;
  const typed = given.text('server') ?? (env['QUITTANCE_SERVER'] || undefined);
  return typed === undefined ? undefined : readServerUrl(typed);
}

/** A secret would be readable on the way over http. */
export function readServerUrl(typed: string): string {
  const url = URL.parse(typed.includes('://') ? typed : `https://${typed}`);
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url?.hostname ?? '');
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere);
  if (url !== null && isSafe && url.pathname === '/' && url.search === '' && url.username === '')
    return url.origin;
  throw new UsageError(
    `A server is an https address such as https://quittance.example.org, or http on this machine; found ${JSON.stringify(typed)}.`,
    ['quittance login https://quittance.example.org'],
  );
}

/** A client with the credentials for the server: a given token, or the stored sign-in. */
export function connectTo(given: Given, context: Context, server: string): ServerClient {
  const { env, signal } = context;
  const secret = readSecret(given, context);
  const token = secret ?? readCredential(env, server)?.token;
  if (token === undefined)
    throw new UsageError(`You are not signed in to ${server}.`, [
      `quittance login ${server}`,
      'export QUITTANCE_TOKEN=qt_…   (a token of quittance tokens create)',
    ]);
  const ask = async (path: string, init: RequestInit): Promise<JsonValue> => {
    const { status, body } = await request(server, path, init, token, signal);
    if (status >= 200 && status < 300) return body;
    throw refusal(server, status, body);
  };
  return {
    server,
    get: (path) => ask(path, {}),
    async post(path, body) {
      // Every program of this user can read the stored sign-in, so alone it changes nothing.
      if (secret === undefined && context.person === undefined)
        throw new UsageError(
          'The stored sign-in changes something only for a person at a terminal. A program uses a token.',
          ['export QUITTANCE_TOKEN=qt_…', 'quittance tokens create --help'],
        );
      return ask(path, {
        method: 'POST',
        ...(body instanceof URLSearchParams
          ? { body }
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
    },
  };
}

export async function request(
  server: string,
  path: string,
  init: RequestInit,
  token: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: JsonValue }> {
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  headers.set('accept', 'application/json');
  let answer: Response;
  try {
    // A redirect would send the token to another server.
    answer = await fetch(server + path, { ...init, headers, signal, redirect: 'error' });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new UsageError(`${server} does not answer.`, ['quittance serve'], exitCodes.bad);
  }
  const read = parseJson(await answer.text());
  return { status: answer.status, body: read.ok ? read.value : null };
}

function refusal(server: string, status: number, body: JsonValue): UsageError {
  const detail =
    isJsonObject(body) && typeof body['detail'] === 'string' ? body['detail'] : `Status ${status}.`;
  if (status === 401)
    return new UsageError(
      `The sign-in to ${server} has ended, or the token is not valid.`,
      [`quittance login ${server}`],
      exitCodes.bad,
    );
  return new UsageError(terminalText(detail), ['quittance pending --server ' + server], exitCodes.bad);
}
