/**
 * Bearer tokens of the MCP endpoint: tokens of the ledger, or access tokens of an OAuth issuer. An operator may call
 * every tool, a viewer only tools that read. The gateway never passes a token on.
 */
import { allows } from 'quittance/internal/call/role';
import { createHash } from 'node:crypto';
import type { Tokens } from 'quittance/internal/runtime/tokens';
import { tokenPrefix } from 'quittance/internal/runtime/tokens';
import type { Caller } from './client-request.ts';
import type { Authenticate } from './http-face.ts';
import type { OAuthRole } from './auth-role.ts';
import { claimsForContracts, defaultOAuthRoles, groupsOf, rolesOf } from './auth-role.ts';
import type { Refusal, Resource } from './refuse-bearer.ts';
import { refuseBearer } from './refuse-bearer.ts';
import { discoverAuthorizationServerMetadata } from '@modelcontextprotocol/client';
import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose';
import { QuittanceError } from 'quittance/internal/base/error';
import { createCheckedFetch } from '../config/checked-fetch.ts';
import { hostOf } from 'quittance/internal/outbound/address';
import { findServerUrlProblem } from '../config/server-url.ts';

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
      askedBy: {
        kind: 'token',
        id: tokenId,
        name,
        via: 'bearer',
        ...(person !== undefined && { person }),
        roles: [record.role],
      },
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
        const { mayCall, mayRead, given } = rolesOf(claims, roles);
        if (!mayRead) return 'forbidden';
        return {
          // The subject is unique for its issuer only.
          id: `oauth-${shortDigest(JSON.stringify([issuer, subject]), 24)}`,
          principal: { userId: subject, claims: { issuer, ...claimsForContracts(claims, roles) } },
          askedBy: { kind: 'provider', issuer, subject, method: 'oauth', roles: given },
          readsOnly: !mayCall,
          groups: groupsOf(claims, roles),
        };
      }
    }
  };
}

const shortDigest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);

/**
 * Access tokens of an OAuth 2.1 issuer. The gateway is the resource server: it verifies tokens and never issues any.
 *
 * 1. A token counts only with a signature by a published key of the issuer, by an asymmetric algorithm of the list.
 * 2. It must be issued for this gateway (`aud`), name its subject and expire.
 * 3. A token bound to a key of its client (`cnf`) is refused: a bearer cannot prove that it has the key.
 */

type TokenVerifierOptions = {
  readonly issuer: string;
  readonly algorithms?: readonly string[] | undefined;
  readonly now: () => number;
};

type VerifiedToken =
  | { readonly status: 'valid'; readonly subject: string; readonly claims: JWTPayload }
  | { readonly status: 'invalid'; readonly reason: string }
  /** The keys of the issuer cannot be read now. */
  | { readonly status: 'unknown'; readonly reason: string };

/** A symmetric key would have to be shared with everyone who verifies, so each of them could issue tokens. */
const asymmetric: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const usualAlgorithms: readonly string[] = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'];
const longestToken = 16_384;
/** Clocks of two machines differ. */
const toleranceSeconds = 30;
/** After a failed discovery, the issuer is asked again. */
const pauseMs = 5_000;
const mostMetadataBytes = 1_048_576;

class TokenVerifier {
  readonly #options: TokenVerifierOptions;
  readonly #algorithms: string[];
  readonly #fetch: typeof fetch;
  #keys: Promise<JWTVerifyGetKey> | undefined;
  #failedAt = -Infinity;

  constructor(options: TokenVerifierOptions) {
    const { issuer, algorithms = usualAlgorithms } = options;
    const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
    const problem = url === undefined ? 'is not a URL' : findServerUrlProblem(url);
    if (url === undefined || problem !== undefined)
      throw new QuittanceError('config.invalid', `The OAuth issuer ${problem}. Write its URL, with https.`);
    const unusable = algorithms.find((name) => !asymmetric.includes(name));
    if (unusable !== undefined || algorithms.length === 0)
      throw new QuittanceError(
        'config.invalid',
        `${unusable === undefined ? 'No algorithm' : JSON.stringify(unusable)} cannot verify access tokens. Use some of ${asymmetric.join(', ')}.`,
      );
    this.#options = options;
    this.#algorithms = [...algorithms];
    const guarded = createCheckedFetch({ allowHttp: url.protocol === 'http:' ? [hostOf(url)] : [] });
    this.#fetch = async (input, init) => bounded(await guarded(input, init));
  }

  /** The token must be issued for `audience`. */
  async verify(token: string, audience: string): Promise<VerifiedToken> {
    const { issuer, now } = this.#options;
    if (token.length > longestToken) return { status: 'invalid', reason: 'The token is too long.' };
    let keys: JWTVerifyGetKey;
    try {
      keys = await this.#readKeys();
    } catch (error) {
      return { status: 'unknown', reason: messageOf(error) };
    }
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: this.#algorithms,
        requiredClaims: ['sub', 'exp', 'aud', 'iss'],
        clockTolerance: toleranceSeconds,
        currentDate: new Date(now()),
      });
      const { sub } = payload;
      if (!isAccessToken(protectedHeader.typ)) return invalid('It is not an access token.');
      if (typeof sub !== 'string' || sub === '' || sub.length > 500)
        return invalid('Its subject cannot be used.');
      if (payload['cnf'] !== undefined) return invalid('It is bound to a key of its client.');
      return { status: 'valid', subject: sub, claims: payload };
    } catch (error) {
      // The set of keys could not be read. A key that is not in the set is the token's fault.
      const isUnreachable =
        !(error instanceof errors.JOSEError) ||
        error instanceof errors.JWKSTimeout ||
        error.code === 'ERR_JOSE_GENERIC' ||
        error instanceof errors.JWKSInvalid;
      return isUnreachable ? { status: 'unknown', reason: messageOf(error) } : invalid(messageOf(error));
    }
  }

  /** Reads the metadata of the issuer once. A failure is not asked about again at once. */
  #readKeys(): Promise<JWTVerifyGetKey> {
    const { now } = this.#options;
    if (this.#keys !== undefined) return this.#keys;
    if (now() - this.#failedAt < pauseMs && now() >= this.#failedAt)
      return Promise.reject(new Error('The issuer did not answer a moment ago.'));
    const keys = this.#discover();
    this.#keys = keys;
    keys.catch(() => {
      this.#keys = undefined;
      this.#failedAt = now();
    });
    return keys;
  }

  async #discover(): Promise<JWTVerifyGetKey> {
    const { issuer } = this.#options;
    const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn: this.#fetch });
    if (metadata?.issuer !== issuer) throw new Error(`${issuer} does not publish its metadata.`);
    const { jwks_uri: uri } = metadata;
    if (typeof uri !== 'string' || !URL.canParse(uri))
      throw new Error(`${issuer} does not publish its keys.`);
    return createRemoteJWKSet(new URL(uri), { [customFetch]: this.#fetch });
  }
}

/** Providers that do not follow RFC 9068 write `JWT` or nothing. Other types, e.g. of logout tokens, do not count. */
const isAccessToken = (type: string | undefined): boolean =>
  type === undefined || /^(?:application\/)?(?:at\+)?jwt$/i.test(type);

const invalid = (reason: string): VerifiedToken => ({ status: 'invalid', reason });

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function bounded(response: Response): Promise<Response> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostMetadataBytes) throw new Error('The answer of the issuer is too long.');
    chunks.push(chunk);
  }
  const { status, headers } = response;
  const isEmpty = [101, 103, 204, 205, 304].includes(status);
  return new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers });
}
