/** Sign-ins of the gateway at MCP servers, with a real provider and real servers over HTTP. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type {
  HttpAddress,
  OAuthSetting,
  ServerEntry,
} from '../../../packages/server/src/mcp-reviews/server-entry.ts';
import { readMcpConfig } from '../../../packages/mcp/src/config/read-mcp-config.ts';
import { signInAtServer } from '../../../packages/mcp/src/gateway/sign-in.ts';
import { UpstreamTokens } from '../../../packages/mcp/src/gateway/upstream-tokens.ts';
import { cliCommand } from '../../run-cli.ts';
import type { TestProvider } from '../../oidc-provider.ts';
import { machineClient, startOidcProvider } from '../../oidc-provider.ts';
import { makeFolder, startGateway } from './start-gateway.ts';

const robot = machineClient('robot');
let provider: TestProvider;
let other: TestProvider;
beforeAll(async () => {
  [provider, other] = await Promise.all([
    startOidcProvider({ clients: [robot], scopes: ['notes'] }),
    startOidcProvider({ scopes: ['notes'] }),
  ]);
});
afterAll(async () => {
  await provider.close();
  await other.close();
});

/** An MCP server that accepts tokens of the provider. `refuse` ends those that it has seen. */
async function startServer() {
  const ended = new Set<string>();
  const seen: string[] = [];
  let issuer = provider.issuer;
  const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'guarded', version: '1' });
    const inputSchema = fromJsonSchema<object>({ type: 'object', properties: {} });
    server.registerTool('get_secret', { inputSchema }, () => ({
      content: [{ type: 'text', text: 'secret' }],
    }));
    return server;
  });
  const listener = getRequestListener(async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return Response.json({
        resource: url.href,
        authorization_servers: [issuer],
        scopes_supported: ['notes'],
      });
    if (pathname !== '/mcp') return new Response(null, { status: 404 });
    const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
    const isGood = await jwtVerify(token, keys, { issuer: provider.issuer, audience: url.href }).then(
      () => !ended.has(token),
      () => false,
    );
    if (!isGood)
      return new Response(null, {
        status: 401,
        headers: {
          'www-authenticate': `Bearer resource_metadata="${url.origin}/.well-known/oauth-protected-resource"`,
        },
      });
    seen.push(token);
    return handler.fetch(request);
  });
  const http = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  const address: HttpAddress = { type: 'http', url, headers: {} };
  const entry = (oauth?: OAuthSetting): ServerEntry => ({
    name: 'guarded',
    isTrusted: false,
    tools: {},
    isDisabled: false,
    ...address,
    ...(oauth !== undefined && { oauth }),
  });
  return {
    url,
    address,
    entry,
    seen,
    refuse: () => seen.splice(0).forEach((token) => ended.add(token)),
    moveTo: (next: string) => {
      issuer = next;
    },
  };
}

const makeStore = (): UpstreamTokens => new UpstreamTokens(join(makeFolder(), 'mcp', 'tokens.json'));

/** Signs in as a person with a browser would. */
async function signIn(address: HttpAddress, store: UpstreamTokens, setting?: OAuthSetting): Promise<void> {
  const visits: Promise<unknown>[] = [];
  await signInAtServer({
    address,
    setting,
    store,
    signal: AbortSignal.timeout(60_000),
    now: Date.now,
    onUrl: (url) => {
      expect(url.searchParams.get('code_challenge_method')).toBe('S256');
      expect(url.searchParams.get('resource')).toBe(address.url.href);
      visits.push(
        provider.visit(url).then(async (back) => {
          // Another page that does not know the state.
          const forged = new URL(back);
          forged.searchParams.set('state', 'wrong');
          expect((await fetch(forged)).status).toBe(404);
          expect((await fetch(back)).status).toBe(200);
        }),
      );
    },
  });
  await Promise.all(visits);
}

const callSecret = async (servers: readonly ServerEntry[], store: UpstreamTokens) => {
  const { connect, gateway } = await startGateway(servers, { observe: true, tokenFile: store.path });
  return { client: await connect('modern'), gateway };
};

describe('a server that wants a sign-in', () => {
  it('is used after a sign-in in the browser, and its token is renewed', async () => {
    const server = await startServer();
    const store = makeStore();
    await signIn(server.address, store);
    expect(statSync(store.path).mode & 0o777).toBe(0o600);
    const { client } = await callSecret([server.entry()], store);
    const call = async (): Promise<string> =>
      JSON.stringify((await client.callTool({ name: 'get_secret', arguments: {} })).content);
    expect(await call()).toContain('secret');
    const before = store.read(server.url);
    server.refuse();
    // As time would: a token that was stored just now is not renewed again.
    store.change(server.url, (signedIn) => ({ ...signedIn, at: 0 }));
    expect(await Promise.all([call(), call(), call()])).toEqual(
      Array(3).fill(expect.stringContaining('secret')),
    );
    const after = store.read(server.url);
    expect(after.tokens?.access_token).not.toBe(before.tokens?.access_token);
    expect(provider.grants.filter((grant) => grant === 'refresh_token')).toHaveLength(1);
  });

  it('says what to type before the first sign-in', async () => {
    const server = await startServer();
    const { gateway } = await startGateway([server.entry()], { tokenFile: makeStore().path });
    expect(gateway.status().servers[0]?.lastError).toContain('quittance mcp login guarded');
  });

  it('is used with client credentials, which go to the configured issuer only', async () => {
    const server = await startServer();
    const store = makeStore();
    const oauth: OAuthSetting = {
      grant: 'client_credentials',
      clientId: robot.client_id,
      clientSecret: String(robot.client_secret),
      issuer: provider.issuer,
      scope: 'notes',
    };
    const { client } = await callSecret([server.entry(oauth)], store);
    expect((await client.callTool({ name: 'get_secret', arguments: {} })).isError).not.toBe(true);
    // A server that was taken over names another issuer, to get the secret.
    server.refuse();
    server.moveTo(other.issuer);
    store.change(server.url, () => ({}));
    const { gateway } = await startGateway([server.entry(oauth)], { tokenFile: store.path });
    expect(gateway.status().servers[0]?.lastError).toContain('could not be renewed');
    expect(other.tokenRequests()).toBe(0);
  });

  it('does not get the refresh token sent to an issuer that it names later', async () => {
    const server = await startServer();
    const store = makeStore();
    await signIn(server.address, store);
    server.refuse();
    server.moveTo(other.issuer);
    store.change(server.url, ({ tokens, ...signedIn }) => ({
      ...signedIn,
      ...(tokens && { tokens: { ...tokens, access_token: 'old' } }),
      at: 0,
    }));
    const { gateway } = await startGateway([server.entry()], { tokenFile: store.path });
    expect(gateway.status().servers[0]?.lastError).toMatch(/quittance mcp login guarded/);
    expect(other.tokenRequests()).toBe(0);
  });

  it('is signed in at by the command, which stores the tokens in the home of the user', async () => {
    const server = await startServer();
    const home = makeFolder();
    const [command, ...args] = cliCommand('mcp', 'login', '--no-open', '--url', server.url.href);
    const env = { ...process.env, HOME: home, USERPROFILE: home };
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    for await (const line of createInterface({ input: child.stdout }))
      if (line.startsWith('http')) await fetch(await provider.visit(line));
    expect(await ended).toEqual([0, null]);
    const store = new UpstreamTokens(join(home, '.quittance', 'mcp', 'tokens.json'));
    expect(store.read(server.url).tokens?.access_token).toBeTypeOf('string');
  });

  it('refuses a file of sign-ins that others can read', async () => {
    const server = await startServer();
    const store = makeStore();
    await signIn(server.address, store);
    chmodSync(store.path, 0o644);
    expect(() => store.read(server.url)).toThrow('can be read by others');
    chmodSync(store.path, 0o600);
    expect(store.remove(server.url)).toBe(true);
    expect(readFileSync(store.path, 'utf8')).not.toContain('refresh_token');
    expect(store.remove(server.url)).toBe(false);
  });

  it.each([
    [{ grant: 'client_credentials' }, 'needs "clientId"'],
    [{ clientId: 'a', clientSecretVariable: 'SECRET' }, 'needs "issuer"'],
    [{ clientId: 'a', clientSecretVariable: 'MISSING', issuer: 'https://login.example' }, 'MISSING'],
    [{ grant: 'password' }, 'is not a grant'],
    [{ clientSecret: 'x' }, 'unknown key'],
  ])('refuses the setting %o', async (oauth, message) => {
    const path = join(makeFolder(), 'mcp.json');
    const mcpServers = { guarded: { type: 'http', url: 'https://mcp.example/mcp' } };
    writeFileSync(path, JSON.stringify({ mcpServers, quittance: { servers: { guarded: { oauth } } } }));
    await expect(readMcpConfig(path, { env: { SECRET: 's' } })).rejects.toThrow(message);
  });
});
