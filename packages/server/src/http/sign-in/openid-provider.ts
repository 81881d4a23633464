/**
 * The one file that knows `openid-client`. It is an optional peer, loaded when a person signs in.
 *
 * 1. Code flow with PKCE, state and nonce. The signature of every ID token is checked, although it comes over TLS.
 * 2. Tokens of the provider are judged by the clock of this machine, not by that of the ledger: the library does so.
 * 3. The description of the provider is kept for a while; its keys are fetched for each answer, so a rotated key is
 *    known at once.
 */
import type * as OpenIdClient from 'openid-client';
import { QuittanceError } from 'quittance/internal/base/error';
import type { Person } from 'quittance/internal/runtime/tokens';
import type { Attempt, LogoutClaims, Provider, ProviderTokens, Verified } from './provider.ts';
import { ProviderError } from './provider.ts';
import type { SignInSettings } from './sign-in-options.ts';
import { cutText } from 'quittance/internal/base/cut-text';
import { nameSeparator } from 'quittance/internal/call/limits';

type Library = typeof OpenIdClient;
type Described = { readonly server: OpenIdClient.ServerMetadata; readonly readAtMs: number };

const describedForMs = 10 * 60_000;
const timeoutSeconds = 8;

/** OAuth errors that say no to the person. Others are mistakes in the set-up, or trouble of the provider. */
const refusals = new Set([
  'invalid_grant',
  'access_denied',
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
]);

export class OpenIdProvider implements Provider {
  readonly #settings: SignInSettings;
  #library: Promise<Library> | undefined;
  #described: Described | undefined;

  constructor(settings: SignInSettings) {
    this.#settings = settings;
  }

  async start(redirectUri: string): Promise<{ readonly url: string; readonly attempt: Attempt }> {
    const library = await this.#load();
    const config = await this.#configure(library);
    const attempt = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
    };
    const url = library.buildAuthorizationUrl(config, {
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: this.#settings.scope,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
      ...(this.#settings.prompt !== undefined && { prompt: this.#settings.prompt }),
    });
    return { url: url.href, attempt };
  }

  async finish(answer: URL, attempt: Attempt): Promise<Verified> {
    const library = await this.#load();
    const config = await this.#configure(library);
    const tokens = await this.#ask(library, () =>
      library.authorizationCodeGrant(config, answer, {
        pkceCodeVerifier: attempt.verifier,
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        idTokenExpected: true,
      }),
    );
    return this.#verify(library, config, tokens, undefined);
  }

  async renew(person: Person, given: ProviderTokens & { readonly refreshToken: string }): Promise<Verified> {
    const library = await this.#load();
    const config = await this.#configure(library);
    const tokens = await this.#ask(library, () => library.refreshTokenGrant(config, given.refreshToken));
    return this.#verify(library, config, tokens, { person, given });
  }

  async endSessionUrl(tokens: ProviderTokens, returnTo: string): Promise<string | undefined> {
    const library = await this.#load();
    const config = await this.#configure(library);
    if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
    return library.buildEndSessionUrl(config, {
      id_token_hint: tokens.idToken,
      post_logout_redirect_uri: returnTo,
    }).href;
  }

  async revoke({ refreshToken }: ProviderTokens): Promise<void> {
    if (refreshToken === undefined) return;
    const library = await this.#load();
    const config = await this.#configure(library);
    if (config.serverMetadata().revocation_endpoint === undefined) return;
    await this.#ask(library, () =>
      library.tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' }),
    );
  }

  async readLogoutToken(token: string): Promise<LogoutClaims> {
    const { jwks_uri: keys, id_token_signing_alg_values_supported: algorithms } = (
      await this.#configure(await this.#load())
    ).serverMetadata();
    if (keys === undefined)
      throw new ProviderError('invalid', 'The identity provider publishes no keys to check a logout with.');
    return readLogoutToken(token, {
      keys: new URL(keys),
      algorithms,
      issuer: this.#described?.server.issuer ?? this.#settings.issuer.href,
      clientId: this.#settings.clientId,
      toleranceMs: this.#settings.clockToleranceMs,
    });
  }

  /** `before`: the person who is verified again. The answer must be about the same person. */
  async #verify(
    library: Library,
    config: OpenIdClient.Configuration,
    tokens: OpenIdClient.TokenEndpointResponse & OpenIdClient.TokenEndpointResponseHelpers,
    before: { readonly person: Person; readonly given: ProviderTokens } | undefined,
  ): Promise<Verified> {
    const claims = tokens.claims();
    const subject = claims?.sub ?? before?.person.subject;
    const issuer = config.serverMetadata().issuer;
    if (subject === undefined) throw new ProviderError('invalid', 'The identity provider sent no ID token.');
    if (before !== undefined && (subject !== before.person.subject || issuer !== before.person.issuer))
      throw new ProviderError('invalid', 'The identity provider answered about another person.');
    const idToken = tokens.id_token ?? before?.given.idToken ?? '';
    const refreshToken = tokens.refresh_token ?? before?.given.refreshToken;
    // A refresh may come without an ID token. The claims must be current, so they are asked for.
    const described =
      this.#settings.claimsFrom === 'userinfo' || claims === undefined
        ? await this.#ask(library, () => library.fetchUserInfo(config, tokens.access_token, subject))
        : claims;
    const sid = claims?.['sid'];
    return {
      person: toPerson(issuer, subject, described, this.#settings.groupsPath),
      tokens: { idToken, ...(refreshToken !== undefined && { refreshToken }) },
      providerSession: typeof sid === 'string' ? sid : undefined,
    };
  }

  /** A configuration of its own for each answer: keys are kept per configuration. */
  async #configure(library: Library): Promise<OpenIdClient.Configuration> {
    const { clientId, clientSecret, clientAuth, clockToleranceMs } = this.#settings;
    const server = await this.#describe(library);
    const auth =
      clientSecret === undefined
        ? library.None()
        : clientAuth === 'client_secret_post'
          ? library.ClientSecretPost(clientSecret)
          : library.ClientSecretBasic(clientSecret);
    const config = new library.Configuration(
      server,
      clientId,
      { [library.clockTolerance]: Math.ceil(clockToleranceMs / 1_000) },
      auth,
    );
    config.timeout = timeoutSeconds;
    library.enableNonRepudiationChecks(config);
    for (const extra of this.#extras(library)) extra(config);
    return config;
  }

  async #describe(library: Library): Promise<OpenIdClient.ServerMetadata> {
    const known = this.#described;
    if (known !== undefined && performance.now() - known.readAtMs < describedForMs) return known.server;
    const { issuer, clientId } = this.#settings;
    const config = await this.#ask(library, () =>
      library.discovery(issuer, clientId, undefined, library.None(), {
        timeout: timeoutSeconds,
        execute: this.#extras(library),
      }),
    );
    const server = config.serverMetadata();
    this.#described = { server, readAtMs: performance.now() };
    return server;
  }

  /** The options allow http only for a provider on this machine. */
  #extras(library: Library): ((config: OpenIdClient.Configuration) => void)[] {
    return this.#settings.issuer.protocol === 'http:' ? [library.allowInsecureRequests] : [];
  }

  async #ask<Result>(library: Library, ask: () => Promise<Result>): Promise<Result> {
    try {
      return await ask();
    } catch (error) {
      throw toProviderError(library, error);
    }
  }

  #load(): Promise<Library> {
    this.#library ??= import('openid-client').catch((cause: unknown) => {
      this.#library = undefined;
      throw missingLibrary(cause);
    });
    return this.#library;
  }
}

const missingLibrary = (cause: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    'Sign-in needs the package "openid-client". Install it in your project: npm install openid-client.',
    { package: 'openid-client' },
    cause,
  );

/** Texts of the provider are not passed on: the sender of a link could have written them. */
function toProviderError(library: Library, error: unknown): ProviderError {
  if (error instanceof library.ResponseBodyError || error instanceof library.AuthorizationResponseError) {
    const code = /^[\w.-]{1,60}$/.test(error.error) ? error.error : 'an unknown error';
    return refusals.has(error.error)
      ? new ProviderError('refused', `The identity provider refused: ${code}.`, error)
      : new ProviderError('unreachable', `The identity provider answered with ${code}.`, error);
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (error instanceof library.WWWAuthenticateChallengeError)
    return new ProviderError('refused', 'The identity provider refused the access token.', error);
  // A fetch that fails is a TypeError without a code; an answer that is not of OAuth is trouble of the provider.
  if (code === '' || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_RESPONSE_IS_NOT_CONFORM')
    return new ProviderError('unreachable', 'The identity provider does not answer.', error);
  return new ProviderError('invalid', 'The answer of the identity provider failed a check.', error);
}

/**
 * Checks the token with which a provider ends sessions (OpenID Connect Back-Channel Logout 1.0). Anyone can send one, so
 * nothing counts before its signature is checked.
 */

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

/**
 * A person as the identity provider describes them.
 *
 * 1. Issuer and subject identify the person. The name is a text for people and identifies no one.
 * 2. A claim that cannot be understood counts as missing: no groups, so no rights.
 */

const longestName = 120;
const longestGroup = 200;
const mostGroups = 500;

/** `claims` are of a verified ID token, or of the userinfo endpoint. */
export const toPerson = (
  issuer: string,
  subject: string,
  claims: Readonly<Record<string, unknown>>,
  groupsPath: readonly string[],
): Person => ({
  issuer,
  subject,
  name: nameIn(claims, subject),
  aliases: aliasesIn(claims),
  groups: groupsIn(claims, groupsPath),
});

const aliasClaims = ['email', 'preferred_username', 'upn'] as const;
/** The longest e-mail address. */
const longestAlias = 320;

function aliasesIn(claims: Readonly<Record<string, unknown>>): readonly string[] {
  const found = aliasClaims
    .map((claim) => claims[claim])
    .filter((value) => typeof value === 'string')
    .filter((text) => text.trim() !== '' && text.length <= longestAlias && text.isWellFormed());
  return [...new Set(found)];
}

function nameIn(claims: Readonly<Record<string, unknown>>, subject: string): string {
  for (const claim of ['name', 'preferred_username', 'email']) {
    const name = plainName(claims[claim]);
    if (name !== '') return name;
  }
  return plainName(subject) || 'unnamed person';
}

/** One short line. The separator would imitate the name of a worker. */
function plainName(value: unknown): string {
  if (typeof value !== 'string') return '';
  const plain = value
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
    .replaceAll(nameSeparator, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return cutText(plain, longestName);
}

function groupsIn(claims: Readonly<Record<string, unknown>>, path: readonly string[]): readonly string[] {
  let found: unknown = claims;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return [];
    found = (found as Readonly<Record<string, unknown>>)[step]; // an object with this member
  }
  if (!Array.isArray(found) || found.length > mostGroups || !found.every(isGroup)) return [];
  return [...new Set(found)].toSorted();
}

const isGroup = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longestGroup && value.isWellFormed();
