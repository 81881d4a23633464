/**
 * Tokens of the ledger as bearer tokens of the MCP endpoint. An operator may call every tool, a viewer only tools that
 * read. The gateway never passes a token on.
 */
import { createHash } from 'node:crypto';
import { allows } from '../../http/actor.ts';
import type { Tokens } from '../../http/token-content.ts';
import type { Caller } from './client-request.ts';
import type { Authenticate } from './http-face.ts';

export const wellKnown = '/.well-known/oauth-protected-resource';

export type HttpAccess =
  | { readonly type: 'tokens'; readonly tokens: Tokens }
  | { readonly type: 'open'; readonly caller: Caller };

export function createAuthenticate(access: HttpAccess, now: () => number): Authenticate {
  if (access.type === 'open') return () => Promise.resolve(access.caller);
  const { tokens } = access;
  return async (request) => {
    const given = request.headers.get('authorization');
    const token = /^Bearer ([\w.~+/-]{1,200}=*)$/i.exec(given ?? '')?.[1];
    if (token === undefined) return refuse(request, 401, given === null ? undefined : 'invalid_token');
    await tokens.refresh();
    const record = tokens.findToken(token);
    if (record === undefined || (record.expiresAt ?? Infinity) <= now())
      return refuse(request, 401, 'invalid_token');
    const mayCall = allows(record.role, 'operator');
    if (!mayCall && !allows(record.role, 'viewer')) return refuse(request, 403, 'insufficient_scope');
    const { tokenId, name, person, principals } = record;
    const [userId] = principals?.userId ?? [];
    return {
      id: `${person ?? name}-${createHash('sha256').update(tokenId).digest('hex').slice(0, 8)}`,
      principal: { userId: userId === undefined || userId === '*' ? (person ?? name) : userId },
      askedBy: { kind: 'token', id: tokenId, name, via: 'bearer', ...(person !== undefined && { person }) },
      readsOnly: !mayCall,
    };
  };
}

function refuse(request: Request, status: 401 | 403, error: string | undefined): Response {
  const metadata = new URL(`${wellKnown}${new URL(request.url).pathname}`, request.url).href;
  const challenge = [
    `Bearer resource_metadata="${metadata}"`,
    ...(error === undefined ? [] : [`error="${error}"`]),
  ];
  return Response.json(
    {
      jsonrpc: '2.0',
      id: null,
      error: { code: -32_000, message: status === 401 ? 'Unauthorized' : 'Forbidden' },
    },
    { status, headers: { 'www-authenticate': challenge.join(', ') } },
  );
}

/** Metadata of the endpoint as an OAuth 2.1 resource server (RFC 9728). */
export const protectedResource = (request: Request): Response =>
  Response.json({
    resource: new URL('/mcp', request.url).href,
    resource_name: 'Quittance MCP gateway',
    bearer_methods_supported: ['header'],
  });
