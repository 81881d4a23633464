/** A server cannot use the sign-in to make the gateway reach other hosts. */
import { createServer } from 'node:http';
import type { LookupFunction, AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OAuthSetting, ServerEntry } from '../../../packages/server/src/mcp-reviews/server-entry.ts';
import { createOAuthFetch, findEndpointProblem } from '../../../packages/mcp/src/gateway/oauth-fetch.ts';
import { signInAtServer } from '../../../packages/mcp/src/gateway/sign-in.ts';
import { UpstreamTokens } from '../../../packages/mcp/src/gateway/upstream-tokens.ts';
import { makeFolder, startGateway } from './start-gateway.ts';

type Answer = { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: object };

/** A program on this machine that must not be reached, or a server. */
async function startProgram(answer: (path: string) => Answer = () => ({ status: 404 })) {
  const reached: string[] = [];
  const http = createServer((request, response) => {
    reached.push(`${request.method} ${request.url}`);
    const { status = 200, headers = {}, body } = answer(request.url ?? '/');
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  });
  let connections = 0;
  http.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  const { port } = http.address() as AddressInfo;
  return { port, origin: `http://127.0.0.1:${port}`, reached, connections: () => connections };
}

const address = (url: string) => ({ type: 'http' as const, url: new URL(url), headers: {} });
const entryOf = (origin: string): ServerEntry => ({
  name: 'guarded',
  isTrusted: false,
  tools: {},
  isDisabled: false,
  ...address(`${origin}/mcp`),
});
const makeStore = (): UpstreamTokens => new UpstreamTokens(join(makeFolder(), 'mcp', 'tokens.json'));
const toLoopback: LookupFunction = (_, __, answer) => answer(null, [{ address: '127.0.0.1', family: 4 }]);

describe('a server that refuses requests', () => {
  it.each([
    ['before a person signed in', false],
    ['after a person signed in', true],
  ])('cannot make the gateway fetch a path of another origin %s', async (_, signedIn) => {
    const victim = await startProgram();
    const server = await startProgram(() => ({
      status: 401,
      headers: { 'www-authenticate': `Bearer resource_metadata="${victim.origin}/admin/delete?all=1"` },
    }));
    const store = makeStore();
    if (signedIn)
      store.change(new URL(`${server.origin}/mcp`), () => ({
        tokens: { access_token: 'a', token_type: 'Bearer', refresh_token: 'b' },
        at: 0,
      }));
    const { gateway } = await startGateway([entryOf(server.origin)], { tokenFile: store.path });
    expect(gateway.status().servers[0]?.lastError).toContain('quittance mcp login guarded');
    expect(victim.reached).toEqual([]);
    // Before a person signed in, nothing but the endpoint itself is asked.
    const asked = new Set(server.reached.map((request) => request.split('/.well-known/')[0]));
    expect([...asked]).toEqual(signedIn ? ['POST /mcp', 'GET '] : ['POST /mcp']);
    expect(server.reached.some((request) => request.startsWith('GET '))).toBe(signedIn);
  });

  it('cannot have a client registered while only a token is renewed', async () => {
    const issuer = await startProgram((path) =>
      path.startsWith('/.well-known/')
        ? {
            body: {
              issuer: issuer.origin,
              authorization_endpoint: `${issuer.origin}/authorize`,
              token_endpoint: `${issuer.origin}/token`,
              registration_endpoint: `${issuer.origin}/register`,
              response_types_supported: ['code'],
            },
          }
        : { status: 201, body: { client_id: 'x', redirect_uris: ['http://127.0.0.1/callback'] } },
    );
    const server = await startProgram((path) =>
      path.startsWith('/.well-known/')
        ? { body: { resource: `${server.origin}/mcp`, authorization_servers: [issuer.origin] } }
        : { status: 401 },
    );
    const store = makeStore();
    store.change(new URL(`${server.origin}/mcp`), () => ({
      tokens: { access_token: 'a', token_type: 'Bearer' },
      at: 0,
    }));
    const { gateway } = await startGateway([entryOf(server.origin)], { tokenFile: store.path });
    expect(gateway.status().servers[0]?.lastError).toContain('quittance mcp login guarded');
    expect(issuer.reached.filter((request) => request.startsWith('POST'))).toEqual([]);
  });

  it('cannot have a client registered by any form of request', async () => {
    const issuer = await startProgram();
    const only = createOAuthFetch({
      address: address(`${issuer.origin}/mcp`),
      setting: undefined,
      mayRegister: false,
    });
    const url = `${issuer.origin}/register`;
    for (const init of [
      { method: 'POST', body: '{}' },
      { method: 'post', body: Buffer.from('{}') },
      { method: 'PUT', body: '{}', headers: { 'content-type': 'application/json' } },
    ]) {
      await expect(only(url, init)).rejects.toThrow('only while a person signs in');
      await expect(only(new Request(url, init))).rejects.toThrow('only while a person signs in');
    }
    expect(issuer.reached).toEqual([]);
  });

  it('cannot lead a sign-in to plain http on another machine, or to a page that is not of the web', async () => {
    for (const issuer of ['http://login.example.com', 'file:///etc/passwd', 'http://10.0.0.1:2375']) {
      const server = await startProgram((path) =>
        path.startsWith('/.well-known/oauth-protected-resource')
          ? { body: { resource: `${server.origin}/mcp`, authorization_servers: [issuer] } }
          : { status: 401 },
      );
      const signIn = signInAtServer({
        address: address(`${server.origin}/mcp`),
        setting: undefined,
        store: makeStore(),
        onUrl: () => expect.unreachable('No page is shown.'),
        signal: AbortSignal.timeout(20_000),
        now: Date.now,
      });
      await expect(signIn).rejects.toThrow(/is not reached|supported|https|Invalid|fetch|URL/);
    }
  });
});

it('a page to sign in that is not safe is not shown to a person', async () => {
  const server = await startProgram((path) => {
    if (path.startsWith('/.well-known/oauth-protected-resource'))
      return { body: { resource: `${server.origin}/mcp`, authorization_servers: [server.origin] } };
    if (path.startsWith('/.well-known/'))
      return {
        body: {
          issuer: server.origin,
          authorization_endpoint: 'http://login.example.com/authorize',
          token_endpoint: `${server.origin}/token`,
          registration_endpoint: `${server.origin}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        },
      };
    if (path === '/register')
      return { status: 201, body: { client_id: 'x', redirect_uris: ['http://127.0.0.1/callback'] } };
    return { status: 401 };
  });
  const shown: string[] = [];
  const signIn = signInAtServer({
    address: address(`${server.origin}/mcp`),
    setting: undefined,
    store: makeStore(),
    onUrl: (url) => shown.push(url.href),
    signal: AbortSignal.timeout(20_000),
    now: Date.now,
  });
  await expect(signIn).rejects.toThrow('The page to sign in must start with https://');
  expect(shown).toEqual([]);
});

describe('the sign-in at a public server', () => {
  const server = address('https://mcp.example.com/mcp');
  const fetchFor = (setting?: OAuthSetting): typeof fetch =>
    createOAuthFetch({ address: server, setting, mayRegister: true, lookup: toLoopback });

  it.each([
    'http://127.0.0.1:PORT/x',
    'http://localhost:PORT/x',
    'https://127.0.0.1:PORT/x',
    'https://localhost:PORT/x',
    'https://a.localhost:PORT/x',
    'http://[::1]:PORT/x',
    'https://[::ffff:127.0.0.1]:PORT/x',
    'https://2130706433:PORT/x',
    'https://0x7f.1:PORT/x',
    'https://127.0.0.1.:PORT/x',
    'https://10.0.0.1:PORT/x',
    'https://192.168.1.1/x',
    'https://172.16.0.1/x',
    'https://100.64.0.1/x',
    'https://[fd00::1]/x',
    'https://[64:ff9b::7f00:1]/x',
    'https://169.254.169.254/latest',
    'http://login.example.com/x',
    // These names resolve to this machine.
    'https://login.example.com:PORT/x',
    'https://rebound.example.com:PORT/.well-known/oauth-authorization-server',
    'https://mcp.example.com.evil.example:PORT/x',
  ])('does not connect to %s', async (named) => {
    const victim = await startProgram();
    const url = named.replace('PORT', String(victim.port));
    for (const init of [
      {},
      { method: 'POST', body: '{}' },
      { method: 'POST', body: new URLSearchParams('a=b') },
    ])
      await expect(fetchFor()(url, init)).rejects.toThrow('is not reached');
    expect(victim.connections()).toBe(0);
  });

  it('reads the metadata of the resource from no other origin', async () => {
    for (const other of [
      'https://other.example.com',
      'https://mcp.example.com:8443',
      'https://login.example.com',
    ])
      await expect(fetchFor()(`${other}/.well-known/oauth-protected-resource/mcp`)).rejects.toThrow(
        'is of another origin than the server',
      );
  });

  it('connects to no metadata service, even if the name of the server leads there', async () => {
    const lookup: LookupFunction = (_, __, answer) =>
      answer(null, [{ address: '169.254.169.254', family: 4 }]);
    const reach = createOAuthFetch({ address: server, setting: undefined, mayRegister: true, lookup });
    await expect(reach('https://mcp.example.com/token')).rejects.toThrow(
      'has an address that must not be reached',
    );
  });

  it('follows no redirect to another origin', async () => {
    const victim = await startProgram();
    const from = await startProgram(() => ({ status: 302, headers: { location: `${victim.origin}/admin` } }));
    const inside = createOAuthFetch({
      address: address(`${from.origin}/mcp`),
      setting: undefined,
      mayRegister: true,
    });
    await expect(inside(`${from.origin}/.well-known/oauth-protected-resource`)).rejects.toThrow('redirect');
    expect(victim.reached).toEqual([]);
  });

  it('shows a person no page on this machine, unless the configuration names the issuer', () => {
    const page = new URL('https://127.0.0.1:8443/authorize');
    expect(findEndpointProblem(page, { address: server, setting: undefined })).toContain('is not public');
    const setting: OAuthSetting = { grant: 'authorization_code', issuer: 'https://127.0.0.1:8443' };
    expect(findEndpointProblem(page, { address: server, setting })).toBeUndefined();
    const plain = new URL('http://login.example.com/authorize');
    expect(findEndpointProblem(plain, { address: server, setting })).toBe('must start with https://');
  });
});
