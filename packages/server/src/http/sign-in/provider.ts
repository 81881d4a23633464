/** The port of an identity provider: everything that the server asks of it. */
import type { Person } from 'quittance/internal/runtime/tokens';

export interface Provider {
  /** The address that a browser opens to sign in, and what the browser must bring back. */
  start(redirectUri: string): Promise<{ readonly url: string; readonly attempt: Attempt }>;
  /** Verifies the answer that a browser brought back. Throws `ProviderError`. */
  finish(answer: URL, attempt: Attempt): Promise<Verified>;
  /** Asks again whether the person may sign in. Throws `ProviderError`. */
  renew(person: Person, tokens: ProviderTokens & { readonly refreshToken: string }): Promise<Verified>;
  /** The address that ends the session at the provider; undefined if it offers none. */
  endSessionUrl(tokens: ProviderTokens, returnTo: string): Promise<string | undefined>;
  /** Makes the refresh token useless, where the provider offers it. */
  revoke(tokens: ProviderTokens): Promise<void>;
  /** Verifies a logout token of the provider. Throws `ProviderError`. */
  readLogoutToken(token: string): Promise<LogoutClaims>;
}

/** The secrets of one attempt to sign in. */
export type Attempt = { readonly state: string; readonly nonce: string; readonly verifier: string };

/** A person whom the provider verified just now. */
export type Verified = {
  readonly person: Person;
  readonly tokens: ProviderTokens;
  /** The id of the session at the provider. */
  readonly providerSession: string | undefined;
};

export type ProviderTokens = { readonly refreshToken?: string; readonly idToken: string };

/** The sessions that the provider ended: one session, or all of a person. */
export type LogoutClaims = {
  readonly tokenId: string;
  readonly subject: string | undefined;
  readonly providerSession: string | undefined;
  /** How long this token could be accepted again. */
  readonly rememberMs: number;
};

export class ProviderError extends Error {
  /**
   * `refused`: the provider said no. `invalid`: its answer fails a check. `unreachable`: no answer, or one that says
   * nothing about the person.
   */
  readonly kind: 'refused' | 'invalid' | 'unreachable';

  constructor(kind: ProviderError['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ProviderError';
    this.kind = kind;
  }
}
