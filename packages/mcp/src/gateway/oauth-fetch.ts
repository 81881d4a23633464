/**
 * The `fetch` for signing in at an MCP server. The server names where its metadata and its issuer are, so it could lead
 * requests to other hosts.
 *
 * 1. Metadata of the resource is read from the server's own origin only.
 * 2. Everything else is reached over https. Only a server on this machine or in a private network, by its literal
 *    address, leads to such addresses. Names are checked when they are resolved, for every connection.
 * 3. The issuer that the configuration names may be anywhere that the configuration may reach.
 * 4. Redirects stay on the origin that was checked.
 */
import type { LookupFunction } from 'node:net';
import {
  hostOf,
  isForbiddenAddress,
  isLoopback,
  isPrivateAddress,
} from 'quittance/internal/outbound/address';
import { createGuardedFetch } from 'quittance/internal/outbound/guarded-fetch';
import type { HttpAddress, OAuthSetting } from '@quittance/server/internal/mcp-reviews/server-entry';
import { findServerUrlProblem } from '../config/server-url.ts';

export type OAuthFetchOptions = {
  readonly address: HttpAddress;
  readonly setting: OAuthSetting | undefined;
  /** A registration needs a person who asked to sign in. */
  readonly mayRegister: boolean;
  /** Resolves names; default: the resolver of the system. */
  readonly lookup?: LookupFunction;
};

/** Does the configuration itself name a machine that is not public? A name may mean another machine later. */
const isInside = (host: string): boolean => isLoopback(host) || isPrivateAddress(host);

/** Why a page or an endpoint that a server names must not be used, as the end of a sentence. */
export function findEndpointProblem(
  url: URL,
  { address, setting }: Pick<OAuthFetchOptions, 'address' | 'setting'>,
): string | undefined {
  if (isTrusted(url, address, setting)) return findServerUrlProblem(url, { allowHttp: [hostOf(url)] });
  const host = hostOf(url);
  if (isInside(host) && !isInside(hostOf(address.url)))
    return 'is not public, and the server is. If you trust the issuer, name it in "oauth": {"issuer": …} of the settings';
  if (url.protocol === 'http:' && !isLoopback(host)) return 'must start with https://';
  return findServerUrlProblem(url);
}

/** The server itself, and the issuer that the configuration names. */
const isTrusted = (url: URL, { url: server }: HttpAddress, setting: OAuthSetting | undefined): boolean =>
  url.origin === server.origin ||
  (setting?.issuer !== undefined &&
    URL.canParse(setting.issuer) &&
    url.origin === new URL(setting.issuer).origin);

export function createOAuthFetch(options: OAuthFetchOptions): typeof fetch {
  const { address, setting, mayRegister, lookup } = options;
  const guarded = createGuardedFetch({
    subject: 'The address that an MCP server named for its sign-in',
    findProblem: (url) =>
      isResourceMetadata(url) && url.origin !== address.url.origin
        ? 'is of another origin than the server'
        : findEndpointProblem(url, options),
    forbids: (found, url) =>
      isForbiddenAddress(found) ||
      (!isTrusted(url, address, setting) && isInside(found) && !isInside(hostOf(address.url))),
    ...(lookup !== undefined && { lookup }),
  });
  return async (input, init) => {
    const request = new Request(input, init);
    if (!mayRegister && isRegistration(request))
      throw new Error('A client is registered only while a person signs in.');
    return guarded(request);
  };
}

const isResourceMetadata = ({ pathname }: URL): boolean =>
  pathname.startsWith('/.well-known/oauth-protected-resource');

/** The SDK registers with JSON, and asks for tokens with a form. */
const isRegistration = ({ method, headers }: Request): boolean =>
  method !== 'GET' && headers.get('content-type')?.startsWith('application/x-www-form-urlencoded') !== true;

/** The address of its metadata that the server names, if it is on the server's own origin. */
export const ownMetadataUrl = (named: URL | undefined, { url }: HttpAddress): URL | undefined =>
  named?.origin === url.origin ? named : undefined;
