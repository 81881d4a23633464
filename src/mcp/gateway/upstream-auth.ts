/**
 * Access tokens for requests to one MCP server.
 *
 * 1. A token is renewed when the server refuses it, once for all requests that wait.
 * 2. The gateway does not ask a person to sign in. The error says what to type.
 * 3. Requests to the issuer carry none of the headers that the configuration has for the server.
 * 4. Nothing is fetched before a person has signed in, unless the configuration has the gateway sign in for itself.
 */
import type { AuthProvider } from '@modelcontextprotocol/client';
import { auth, extractWWWAuthenticateParams } from '@modelcontextprotocol/client';
import { McpNotSent } from '../tools/call-error.ts';
import type { HttpAddress, OAuthSetting } from '../config/server-entry.ts';
import { OAuthClient, renewalOnly } from './auth-client.ts';
import { createOAuthFetch, ownMetadataUrl } from './oauth-fetch.ts';
import type { UpstreamTokens } from './upstream-tokens.ts';

export type UpstreamAuthOptions = {
  readonly server: string;
  readonly address: HttpAddress;
  readonly setting: OAuthSetting | undefined;
  readonly store: UpstreamTokens;
  readonly now: () => number;
};

/** Requests that were under way with the old token are refused after the new one is there. */
const justNowMs = 2_000;

export function createUpstreamAuth(options: UpstreamAuthOptions): AuthProvider {
  const { address, store, now } = options;
  let renewing: Promise<void> | undefined;
  return {
    token: () => Promise.resolve(store.read(address.url).tokens?.access_token),
    async onUnauthorized({ response }) {
      const { at, tokens } = store.read(address.url);
      if (tokens !== undefined && at !== undefined && now() - at < justNowMs && now() >= at) return;
      renewing ??= renew(options, response).finally(() => {
        renewing = undefined;
      });
      await renewing;
    },
  };
}

async function renew(
  { server, address, setting, store, now }: UpstreamAuthOptions,
  response: Response,
): Promise<void> {
  const { url } = address;
  const isForItself = setting?.grant === 'client_credentials';
  const signIn = `Sign in: quittance mcp login ${server}`;
  if (!isForItself && store.read(url).tokens === undefined)
    throw new McpNotSent(`The server "${server}" wants a sign-in. ${signIn}`);
  const client = new OAuthClient({
    url,
    store,
    setting,
    now,
    redirectUrl: isForItself ? undefined : renewalOnly,
    onRedirect: () => {
      throw new McpNotSent(`The sign-in at the server "${server}" has ended. ${signIn}`);
    },
  });
  const { resourceMetadataUrl: named, scope: wanted } = extractWWWAuthenticateParams(response);
  const resourceMetadataUrl = ownMetadataUrl(named, address);
  const scope = setting?.scope ?? wanted;
  try {
    await auth(client, {
      serverUrl: url,
      fetchFn: createOAuthFetch({ address, setting, mayRegister: false }),
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
      ...(scope !== undefined && { scope }),
    });
  } catch (error) {
    if (error instanceof McpNotSent) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new McpNotSent(`The token for the server "${server}" could not be renewed: ${why} ${signIn}`, {
      cause: error,
    });
  }
}
