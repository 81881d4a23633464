/** A real OpenID Connect and OAuth 2.1 provider in this process, for tests. It signs everybody in as `account`. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CryptoKey } from 'jose';
import { exportJWK, generateKeyPair } from 'jose';
import type { ClientMetadata } from 'oidc-provider';
import Provider from 'oidc-provider';

export type TestProviderOptions = {
  readonly clients?: readonly ClientMetadata[];
  /** The person whom the provider signs in, and what it says about them. */
  readonly account?: { readonly id: string; readonly claims?: Readonly<Record<string, unknown>> };
  /** Claims of the access tokens of an account, or of a client without one. */
  readonly accessClaims?: (subject: string) => Readonly<Record<string, unknown>>;
  /** Scopes that resources know. */
  readonly scopes?: readonly string[];
  readonly accessTokenSeconds?: number;
};

export type TestProvider = {
  readonly issuer: string;
  /** Signs tokens as the provider does, to make ones that it would not issue. */
  readonly signingKey: CryptoKey;
  /** The grants that it gave, by type. */
  readonly grants: readonly string[];
  /** How often the token endpoint was asked, with or without success. */
  readonly tokenRequests: () => number;
  /** Follows the redirects of a browser from this address, and returns the last one, to another origin. */
  readonly visit: (url: string | URL) => Promise<URL>;
  /** An access token for a resource, by client credentials. */
  readonly accessToken: (client: ClientMetadata, resource: string, scope?: string) => Promise<string>;
  readonly close: () => Promise<void>;
};

export async function startOidcProvider(options: TestProviderOptions = {}): Promise<TestProvider> {
  const {
    clients = [],
    account = { id: 'ada' },
    accessClaims,
    scopes = [],
    accessTokenSeconds = 600,
  } = options;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: 'test', alg: 'ES256', use: 'sig' };
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [...clients],
    scopes: ['openid', 'offline_access', 'profile', 'email', ...scopes],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    jwks: { keys: [jwk] },
    cookies: { keys: ['only for tests'] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    pkce: { required: () => true },
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...account.claims }) }),
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    ttl: { AccessToken: accessTokenSeconds, ClientCredentials: accessTokenSeconds },
    extraTokenClaims: (_ctx, token) => ({
      ...accessClaims?.(('accountId' in token ? token.accountId : token.clientId) ?? ''),
    }),
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => [],
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, audience) => ({
          scope: scopes.join(' '),
          audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  const grants: string[] = [];
  provider.on('grant.success', ({ oidc }) => grants.push(String(oidc.params?.['grant_type'])));
  provider.on('server_error', (_ctx, error) => console.error(error));
  const answer = provider.callback();
  let tokenRequests = 0;
  server.on('request', (request, response) => {
    if (request.url === '/token') tokenRequests += 1;
    if (request.url?.startsWith('/interaction/') !== true) return void answer(request, response);
    void (async () => {
      const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
      if (prompt.name === 'login')
        return provider.interactionFinished(request, response, { login: { accountId: account.id } });
      const grant =
        (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
        new provider.Grant({ accountId: session?.accountId, clientId: String(params['client_id']) });
      const { scope = '', resource = [] } = params as { scope?: string; resource?: string | string[] };
      grant.addOIDCScope(scope);
      for (const each of [resource].flat()) grant.addResourceScope(each, scope);
      return provider.interactionFinished(
        request,
        response,
        { consent: { grantId: await grant.save() } },
        { mergeWithLastSubmission: true },
      );
    })().catch((error: unknown) => {
      console.error(error);
      response.writeHead(500).end();
    });
  });
  return {
    issuer,
    signingKey: privateKey,
    grants,
    tokenRequests: () => tokenRequests,
    async visit(start) {
      const cookies = new Map<string, string>();
      let url = new URL(start);
      for (let step = 0; step < 10 && url.origin === issuer; step++) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
        for (const set of response.headers.getSetCookie()) {
          const [name = '', value = ''] = set.slice(0, set.indexOf(';')).split(/=(.*)/s);
          cookies.set(name, value);
        }
        const location = response.headers.get('location');
        if (location === null)
          throw new Error(`The provider answered ${response.status}: ${await response.text()}`);
        url = new URL(location, url);
      }
      return url;
    },
    async accessToken({ client_id: id, client_secret: secret }, resource, scope) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          resource,
          ...(scope !== undefined && { scope }),
        }),
      });
      const { access_token: token } = (await response.json()) as { access_token?: string };
      if (token === undefined) throw new Error(`The provider gave no token: ${response.status}`);
      return token;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A client that gets tokens for itself. */
export const machineClient = (id: string, scope?: string): ClientMetadata => ({
  client_id: id,
  client_secret: `${id}-secret`,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  ...(scope !== undefined && { scope }),
});
