/**
 * Checks the token with which a provider ends sessions (OpenID Connect Back-Channel Logout 1.0). Anyone can send one, so
 * nothing counts before its signature is checked.
 */
import type { LogoutClaims } from './provider.ts';
import { ProviderError } from './provider.ts';

export type LogoutTokenChecks = {
  readonly keys: URL;
  /** Algorithms that the provider signs with. Only those with public keys count. */
  readonly algorithms: readonly string[] | undefined;
  readonly issuer: string;
  readonly clientId: string;
  readonly toleranceMs: number;
};

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** An older token is not accepted, and a newer one is remembered for as long. */
const validForMs = 10 * 60_000;
const longestToken = 16_384;

export async function readLogoutToken(token: string, checks: LogoutTokenChecks): Promise<LogoutClaims> {
  const { keys, issuer, clientId, toleranceMs } = checks;
  if (token.length > longestToken) throw refuse('it is too long');
  const jose = await import('jose'); // most servers never need it
  const algorithms = (checks.algorithms ?? ['RS256']).filter((name) => /^(?:RS|PS|ES|Ed)/.test(name));
  let read;
  try {
    read = await jose.jwtVerify(token, jose.createRemoteJWKSet(keys, { timeoutDuration: 8_000 }), {
      issuer,
      audience: clientId,
      algorithms,
      clockTolerance: Math.ceil(toleranceMs / 1_000),
      maxTokenAge: validForMs / 1_000,
      requiredClaims: ['jti', 'events', 'iat'],
    });
  } catch (error) {
    // The keys could not be fetched or read. That says nothing about the token, so the provider may send it again.
    const isAboutKeys =
      error instanceof jose.errors.JWKSTimeout ||
      error instanceof jose.errors.JWKSInvalid ||
      (error instanceof jose.errors.JOSEError && error.code === 'ERR_JOSE_GENERIC');
    if (error instanceof jose.errors.JOSEError && !isAboutKeys) throw refuse('a check failed', error);
    throw new ProviderError('unreachable', 'The keys of the identity provider cannot be read.', error);
  }
  const { payload, protectedHeader } = read;
  const { jti, sub, sid, events } = payload;
  // An ID token names a nonce, and must not end sessions.
  if (Object.hasOwn(payload, 'nonce')) throw refuse('it has a nonce');
  if (
    protectedHeader.typ !== undefined &&
    !/^(?:application\/)?(?:logout\+jwt|jwt)$/i.test(protectedHeader.typ)
  )
    throw refuse('it is of another type');
  if (typeof events !== 'object' || events === null || !Object.hasOwn(events, logoutEvent))
    throw refuse('it is not about a logout');
  const providerSession = typeof sid === 'string' && sid !== '' ? sid : undefined;
  if (jti === undefined || (sub === undefined && providerSession === undefined))
    throw refuse('it names neither a person nor a session');
  return { tokenId: jti, subject: sub, providerSession, rememberMs: validForMs + 2 * toleranceMs };
}

const refuse = (why: string, cause?: unknown): ProviderError =>
  new ProviderError('invalid', `The logout token is not valid: ${why}.`, cause);
