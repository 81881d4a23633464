/** Quittance as an OAuth client of one MCP server. The SDK speaks the protocol: discovery, PKCE, registration, refresh. */
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { randomBytes } from 'node:crypto';
import type { OAuthSetting } from '@quittance/server/internal/mcp-reviews/server-entry';
import type { UpstreamTokens } from './upstream-tokens.ts';

export type OAuthClientOptions = {
  readonly url: URL;
  readonly store: UpstreamTokens;
  readonly setting: OAuthSetting | undefined;
  /** Where the browser comes back to. Undefined: without a browser. */
  readonly redirectUrl: string | undefined;
  readonly onRedirect: (authorizationUrl: URL) => void;
  readonly now: () => number;
};

export class OAuthClient implements OAuthClientProvider {
  readonly #options: OAuthClientOptions;
  readonly #state = randomBytes(24).toString('base64url');
  #registered: StoredOAuthClientInformation | undefined;
  #verifier: string | undefined;
  #discovered: OAuthDiscoveryState | undefined;
  /** Only for clients that sign in for themselves. */
  readonly prepareTokenRequest?: (scope?: string) => URLSearchParams;

  constructor(options: OAuthClientOptions) {
    this.#options = options;
    if (options.setting?.grant === 'client_credentials')
      this.prepareTokenRequest = (scope) =>
        new URLSearchParams({
          grant_type: 'client_credentials',
          ...(scope !== undefined && { scope }),
        });
  }

  get redirectUrl(): string | undefined {
    return this.#options.redirectUrl;
  }

  get clientMetadata(): OAuthClientMetadata {
    const { redirectUrl, setting } = this.#options;
    return {
      client_name: 'Quittance',
      redirect_uris: redirectUrl === undefined ? [] : [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      ...(setting?.scope !== undefined && { scope: setting.scope }),
    };
  }

  state(): string {
    return this.#state;
  }

  /** A configured client is bound to its issuer: a server cannot have its secret sent elsewhere. */
  clientInformation(): StoredOAuthClientInformation | undefined {
    const { url, store, setting, redirectUrl } = this.#options;
    if (setting?.clientId !== undefined)
      return {
        client_id: setting.clientId,
        ...(setting.clientSecret !== undefined && { client_secret: setting.clientSecret }),
        ...(setting.issuer !== undefined && { issuer: setting.issuer }),
      };
    // A client is registered for each sign-in, because the address of the browser's return differs.
    return redirectUrl === renewalOnly ? store.read(url).client : this.#registered;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    if (this.#options.setting?.clientId === undefined) this.#registered = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#options.store.read(this.#options.url).tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    const { url, store, now } = this.#options;
    const client = this.#registered;
    store.change(url, (before) => ({
      ...before,
      ...(client !== undefined && { client }),
      // An issuer need not repeat the refresh token.
      tokens: {
        ...(before.tokens?.refresh_token !== undefined && { refresh_token: before.tokens.refresh_token }),
        ...tokens,
      },
      at: now(),
    }));
  }

  redirectToAuthorization(authorizationUrl: URL): void {
    this.#options.onRedirect(authorizationUrl);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    if (this.#verifier === undefined) throw new TypeError('No sign-in was started.');
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    const { url, store } = this.#options;
    if (what === 'all' || what === 'tokens')
      store.change(url, ({ client }) => (client === undefined ? {} : { client }));
    if (what === 'all' || what === 'client') {
      this.#registered = undefined;
      store.change(url, (before) => {
        const { client: _, ...rest } = before;
        return rest;
      });
    }
    if (what === 'all' || what === 'discovery') this.#discovered = undefined;
  }
}

/** In place of an address for the browser, where only stored tokens can be renewed. */
export const renewalOnly = 'http://127.0.0.1/callback';
