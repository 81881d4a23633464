/**
 * Bearer tokens of the MCP endpoint: tokens of the ledger, or access tokens of an OAuth issuer. An operator may call
 * every tool, a viewer only tools that read. The gateway never passes a token on.
 */
import { allows } from '../../runtime/host/rights.ts';
import { createHash } from 'node:crypto';
import type { Tokens } from '../../runtime/host/token-content.ts';
import { tokenPrefix } from '../../runtime/host/token-content.ts';
import type { Caller } from './client-request.ts';
import type { Authenticate } from './http-face.ts';
import type { OAuthRole } from './auth-role.ts';
import { claimsForContracts, defaultOAuthRoles, groupsOf, rolesOf } from './auth-role.ts';
import type { Refusal, Resource } from './refuse-bearer.ts';
import { refuseBearer } from './refuse-bearer.ts';
import { TokenVerifier } from './token-verifier.ts';

export type OAuthAccess = {
  readonly type: 'oauth';
  /** Who issues the access tokens: an https URL with metadata (RFC 8414 or OpenID Connect). */
  readonly issuer: string;
  /** Public address of the endpoint, for which tokens must be issued. Default: the address that it listens on. */
  readonly resource?: string;
  /** Claims that give a role. Default: the scopes `quittance:viewer`, `quittance:operator` and so on. */
  readonly roles?: readonly OAuthRole[];
  /** Signature algorithms that count. Default: RS256, PS256, ES256 and EdDSA. */
  readonly algorithms?: readonly string[];
  /** Tokens of the ledger count too. */
  readonly tokens?: Tokens;
};

export type HttpAccess =
  | { readonly type: 'tokens'; readonly tokens: Tokens }
  | OAuthAccess
  | { readonly type: 'open'; readonly caller: Caller };

type Parts = {
  readonly now: () => number;
  /** The endpoint as the sender of this request reaches it. */
  readonly resourceOf: (request: Request) => Resource;
  /** Receives why a token was refused. */
  readonly log: (line: string) => void;
};
type FindCaller = (token: string, resource: Resource) => Promise<Caller | Refusal>;

export function createAuthenticate(access: HttpAccess, parts: Parts): Authenticate {
  switch (access.type) {
    case 'open':
      return () => Promise.resolve(access.caller);
    case 'tokens':
      return withBearer(parts, findByLedgerToken(access.tokens, parts));
    case 'oauth': {
      const byAccessToken = findByAccessToken(access, parts);
      const { tokens } = access;
      if (tokens === undefined) return withBearer(parts, byAccessToken);
      const byLedgerToken = findByLedgerToken(tokens, parts);
      return withBearer(parts, (token, resource) =>
        (token.startsWith(tokenPrefix) ? byLedgerToken : byAccessToken)(token, resource),
      );
    }
  }
}

const withBearer =
  ({ resourceOf }: Parts, find: FindCaller): Authenticate =>
  async (request) => {
    const resource = resourceOf(request);
    const given = request.headers.get('authorization');
    if (given === null) return refuseBearer(resource, 'missing');
    const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(given)?.[1];
    const found = token === undefined ? 'invalid' : await find(token, resource);
    return typeof found === 'string' ? refuseBearer(resource, found) : found;
  };

function findByLedgerToken(tokens: Tokens, { now }: Parts): FindCaller {
  return async (token) => {
    await tokens.refresh();
    const record = tokens.findToken(token);
    if (record === undefined || (record.expiresAt ?? Infinity) <= now()) return 'invalid';
    const mayCall = allows(record.role, 'operator');
    if (!mayCall && !allows(record.role, 'viewer')) return 'forbidden';
    const { tokenId, name, person, principals } = record;
    const [userId] = principals?.userId ?? [];
    return {
      id: `${person ?? name}-${shortDigest(tokenId, 8)}`,
      principal: { userId: userId === undefined || userId === '*' ? (person ?? name) : userId },
      askedBy: { kind: 'token', id: tokenId, name, via: 'bearer', ...(person !== undefined && { person }) },
      readsOnly: !mayCall,
    };
  };
}

function findByAccessToken(access: OAuthAccess, { now, log }: Parts): FindCaller {
  const { issuer, roles = defaultOAuthRoles, algorithms } = access;
  const verifier = new TokenVerifier({ issuer, algorithms, now });
  return async (token, { url }) => {
    const verified = await verifier.verify(token, url);
    switch (verified.status) {
      case 'unknown':
        log(`An access token cannot be verified: ${verified.reason}`);
        return 'unavailable';
      case 'invalid':
        log(`An access token was refused: ${verified.reason}`);
        return 'invalid';
      case 'valid': {
        const { subject, claims } = verified;
        const { mayCall, mayRead } = rolesOf(claims, roles);
        if (!mayRead) return 'forbidden';
        return {
          // The subject is unique for its issuer only.
          id: `oauth-${shortDigest(JSON.stringify([issuer, subject]), 24)}`,
          principal: { userId: subject, claims: { issuer, ...claimsForContracts(claims, roles) } },
          askedBy: { kind: 'provider', issuer, subject, method: 'oauth' },
          readsOnly: !mayCall,
          groups: groupsOf(claims, roles),
        };
      }
    }
  };
}

const shortDigest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);
