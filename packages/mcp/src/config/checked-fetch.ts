/** The `fetch` for MCP servers named in configurations. */
import type { LookupFunction } from 'node:net';
import { hostOf, isForbiddenAddress, isLoopback } from 'quittance/internal/outbound/address';
import { createGuardedFetch } from 'quittance/internal/outbound/guarded-fetch';
import type { HttpAddress } from '@quittance/server/internal/mcp-reviews/server-entry';
import type { ServerUrlRules } from './server-url.ts';
import { findServerUrlProblem } from './server-url.ts';

/** The `fetch` for one server of a configuration. Plain http was allowed if its URL is plain. */
export const createServerFetch = ({ url }: HttpAddress): typeof fetch =>
  createCheckedFetch({ allowHttp: url.protocol === 'http:' ? [hostOf(url)] : [] });

export type GuardedFetchOptions = ServerUrlRules & {
  /** Resolves names; default: the resolver of the system. */
  readonly lookup?: LookupFunction;
};

export function createCheckedFetch({ lookup, allowHttp = [] }: GuardedFetchOptions = {}): typeof fetch {
  const mayBePlain = (url: URL): boolean => allowHttp.some((each) => each.toLowerCase() === hostOf(url));
  return createGuardedFetch({
    subject: 'The MCP server',
    findProblem: (url) => findServerUrlProblem(url, { allowHttp }),
    // A name over plain http that is not allowed by name must stay on this machine.
    forbids: (address, url) =>
      isForbiddenAddress(address) || (url.protocol === 'http:' && !mayBePlain(url) && !isLoopback(address)),
    ...(lookup !== undefined && { lookup }),
  });
}
