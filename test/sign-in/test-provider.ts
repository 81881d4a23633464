/** A real OpenID Connect provider on this machine, with people who can be changed while it runs. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JWK } from 'jose';
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import Provider from 'oidc-provider';

export type TestPerson = { readonly name: string; readonly groups: readonly string[] };

/** Changes an answer of the provider on its way to the server. Undefined leaves it alone. */
export type Tamper = (path: string, body: string) => Promise<string | undefined> | string | undefined;

export type TestProvider = {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** By subject. A person who is removed is disabled. */
  readonly people: Map<string, TestPerson>;
  /** Paths of the requests so far. */
  readonly requests: readonly string[];
  tamper: Tamper | undefined;
  /** Answers nothing but errors while true. */
  isDown: boolean;
  /** Registers the server, whose address is known later than that of the provider. */
  serve(serverUrl: string): void;
  rotateKey(): Promise<void>;
  /** Signs with the current key of the provider. */
  sign(claims: object, header?: object): Promise<string>;
  /** Signs with a key that the provider does not publish. */
  forge(claims: object): Promise<string>;
  close(): Promise<void>;
};

const clientId = 'quittance';
const clientSecret = 'a secret/with: characters+to encode';

async function newKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
}

export async function startProvider(): Promise<TestProvider> {
  let handle: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;
  const people = new Map<string, TestPerson>();
  const requests: string[] = [];
  let keys = 1;
  let key = await newKey('key-1');
  let serverUrl = 'http://127.0.0.1:1';
  const http: Server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?', 1)[0]}`);
    if (made.isDown) {
      response.writeHead(503).end('down');
      return;
    }
    void handle?.(request, withTamper(request, response, made));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`; // it listens on a port
  const mount = (): void => {
    const provider = createProvider(issuer, serverUrl, key, people);
    const answer = provider.callback();
    handle = (request, response) =>
      request.url?.startsWith('/interaction/') === true
        ? interact(provider, request, response)
        : answer(request, response);
  };
  mount();
  const made: TestProvider = {
    issuer,
    clientId,
    clientSecret,
    people,
    requests,
    tamper: undefined,
    isDown: false,
    serve(url) {
      serverUrl = url;
      mount();
    },
    async rotateKey() {
      key = await newKey(`key-${++keys}`);
      mount();
    },
    sign: (claims, header = {}) => signWith(key, claims, header),
    forge: async (claims) => signWith(await newKey(key.kid ?? ''), claims, {}),
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return made;
}

const signWith = async (key: JWK, claims: object, header: object): Promise<string> =>
  new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: key.kid ?? '', ...header })
    .sign(await importJWK(key, 'RS256'));

function createProvider(
  issuer: string,
  serverUrl: string,
  key: JWK,
  people: ReadonlyMap<string, TestPerson>,
): Provider {
  const scopes = ['openid', 'offline_access', 'profile', 'groups'];
  return new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${serverUrl}/login/callback`],
        post_logout_redirect_uris: [`${serverUrl}/signed-out`],
        backchannel_logout_uri: `${serverUrl}/login/backchannel`,
        backchannel_logout_session_required: true,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [key] },
    scopes,
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['a test needs no secret'] },
    findAccount: (_context, id) => {
      const person = people.get(id);
      return person && { accountId: id, claims: () => ({ sub: id, ...person }) };
    },
    loadExistingGrant: async ({ oidc }) => {
      const given = { clientId, accountId: oidc.session?.accountId };
      const grant = new oidc.provider.Grant(given);
      grant.addOIDCScope(scopes.join(' '));
      await grant.save();
      return grant;
    },
    issueRefreshToken: () => Promise.resolve(true),
    rotateRefreshToken: () => true,
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (context, form) => {
          context.body = `<!doctype html><title>Provider</title><h1>End the session?</h1>${form}<button type="submit" form="op.logoutForm" name="logout" value="yes">Yes</button>`;
        },
      },
    },
    // The package refuses to send to addresses of this machine, where the server is.
    fetch: (url, init) => {
      const { method, headers, body } = init ?? {};
      return fetch(url, { ...(method && { method }), ...(headers && { headers }), ...(body && { body }) });
    },
    pkce: { required: () => true },
    ttl: {
      AccessToken: 3_600,
      IdToken: 3_600,
      RefreshToken: 86_400,
      Session: 86_400,
      Grant: 86_400,
      Interaction: 3_600,
    },
  });
}

/** The login page of the provider: a person types who they are. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === 'GET') {
    response.setHeader('content-type', 'text/html');
    response.end(
      '<!doctype html><title>Provider</title><form method="post"><label>Who are you? <input name="who"></label><button>Continue</button></form>',
    );
    return;
  }
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const accountId = new URLSearchParams(body).get('who') ?? '';
  const result =
    accountId === 'nobody'
      ? { error: 'access_denied', error_description: '<b>The person said no</b>' }
      : { login: { accountId } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

/** Buffers an answer so that a test can change it. */
function withTamper(
  { url = '' }: IncomingMessage,
  response: ServerResponse,
  provider: Pick<TestProvider, 'tamper'>,
): ServerResponse {
  const { tamper } = provider;
  if (tamper === undefined) return response;
  const end = response.end.bind(response);
  response.end = ((chunk?: unknown) => {
    const text = Buffer.isBuffer(chunk) || typeof chunk === 'string' ? chunk.toString() : '';
    void (async () => {
      const changed = (await tamper(url.split('?', 1)[0] ?? '', text)) ?? text;
      if (!response.headersSent) response.setHeader('content-length', Buffer.byteLength(changed));
      end(changed);
    })();
    return response;
  }) as typeof response.end; // the provider writes its answers in one piece
  return response;
}
