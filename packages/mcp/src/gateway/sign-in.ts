/**
 * Signs a person in at an MCP server (OAuth 2.1 with PKCE). The browser goes to the issuer of the server. It comes back
 * to a port of this machine with a code, which is exchanged for tokens.
 */
import { auth } from '@modelcontextprotocol/client';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { QuittanceError } from 'quittance/internal/base/error';
import type { HttpAddress, OAuthSetting } from '@quittance/server/internal/mcp-reviews/server-entry';
import { OAuthClient } from './auth-client.ts';
import { createOAuthFetch, findEndpointProblem } from './oauth-fetch.ts';
import type { UpstreamTokens } from './upstream-tokens.ts';

export type SignInOptions = {
  readonly address: HttpAddress;
  readonly setting: OAuthSetting | undefined;
  readonly store: UpstreamTokens;
  /** Shows the person where to sign in. */
  readonly onUrl: (url: URL) => void;
  readonly signal: AbortSignal;
  readonly now: () => number;
};

export async function signInAtServer(options: SignInOptions): Promise<void> {
  const { address, setting, store, onUrl, signal, now } = options;
  const fetchFn = createOAuthFetch({ address, setting, mayRegister: true });
  if (setting?.grant === 'client_credentials') {
    const client = new OAuthClient({
      url: address.url,
      store,
      setting,
      now,
      redirectUrl: undefined,
      onRedirect: () => undefined,
    });
    await auth(client, {
      serverUrl: address.url,
      fetchFn,
      ...(setting.scope !== undefined && { scope: setting.scope }),
    });
    return;
  }
  const callback = await listenForCallback(signal);
  try {
    const client = new OAuthClient({
      url: address.url,
      store,
      setting,
      now,
      redirectUrl: callback.url,
      onRedirect: (url) => onUrl(checked(url, options)),
    });
    const scope = setting?.scope === undefined ? {} : { scope: setting.scope };
    // A new sign-in, also if the old one could be renewed.
    await auth(client, { serverUrl: address.url, fetchFn, forceReauthorization: true, ...scope });
    const { code, iss } = await callback.wait(client.state());
    await auth(client, {
      serverUrl: address.url,
      fetchFn,
      authorizationCode: code,
      ...(iss !== undefined && { iss }),
      ...scope,
    });
  } finally {
    callback.close();
  }
}

/** The server names its issuer, which names this page. A browser must not be led to anything but a web page. */
function checked(url: URL, options: SignInOptions): URL {
  const problem = findEndpointProblem(url, options);
  if (problem !== undefined)
    throw new QuittanceError(
      'config.invalid',
      `The page to sign in ${problem}. The server is not set up properly.`,
    );
  return url;
}

type Returned = { readonly code: string; readonly iss: string | undefined };

/** A port of this machine that takes one return of the browser with the right state. */
async function listenForCallback(signal: AbortSignal): Promise<{
  readonly url: string;
  readonly wait: (state: string) => Promise<Returned>;
  readonly close: () => void;
}> {
  const returned = Promise.withResolvers<Returned>();
  returned.promise.catch(() => undefined); // it may end before it is awaited
  let expected: string | undefined;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const say = (status: number, text: string): void => {
      response.writeHead(status, {
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'",
        connection: 'close',
      });
      response.end(`${text}\n`);
    };
    const state = searchParams.get('state');
    // Another page of this browser can send a request here, but does not know the state.
    if (pathname !== '/callback' || expected === undefined || state !== expected)
      return say(404, 'Not found.');
    const code = searchParams.get('code');
    if (code === null) {
      const error = searchParams.get('error') ?? 'no code';
      returned.reject(
        new QuittanceError('config.invalid', `The issuer refused the sign-in: ${error.slice(0, 100)}.`),
      );
      return say(400, 'The sign-in was refused. See the terminal.');
    }
    returned.resolve({ code, iss: searchParams.get('iss') ?? undefined });
    return say(200, 'You are signed in. You can close this page.');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const stop = (): void => returned.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    wait(state) {
      expected = state;
      return returned.promise;
    },
    close() {
      signal.removeEventListener('abort', stop);
      server.close();
      server.closeAllConnections();
    },
  };
}
