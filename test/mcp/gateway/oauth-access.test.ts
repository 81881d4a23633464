import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generateKeyPair, SignJWT } from 'jose';
import type { JWTPayload, CryptoKey } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { TokenFile } from '../../../packages/server/src/http/token-file.ts';
import type { OAuthAccess } from '../../../packages/mcp/src/gateway/authenticate.ts';
import { createMcpGateway } from '../../../packages/mcp/src/gateway/create-gateway.ts';
import type { GatewayOptions } from '../../../packages/mcp/src/gateway/gateway.ts';
import { readOAuthRole } from '../../../packages/mcp/src/gateway/auth-role.ts';
import { createMemoryLedger } from '../../../packages/quittance/src/store/memory/memory-ledger.ts';
import { createManualClock } from '../../../packages/quittance/src/testing/manual-clock.ts';
import type { TestProvider } from '../../oidc-provider.ts';
import { machineClient, startOidcProvider } from '../../oidc-provider.ts';
import { effectServer, makeFolder } from './start-gateway.ts';
import { findCalls } from '../../../packages/quittance/src/ledger/reads.ts';

const scopes = ['quittance:operator', 'quittance:viewer', 'other'];
const [bot, reader, stranger] = ['bot', 'reader', 'stranger'].map((id) => machineClient(id)) as [
  ReturnType<typeof machineClient>,
  ReturnType<typeof machineClient>,
  ReturnType<typeof machineClient>,
];
const groups: Readonly<Record<string, string[]>> = { bot: ['ops'], reader: ['staff'], stranger: ['guests'] };

let provider: TestProvider;
beforeAll(async () => {
  provider = await startOidcProvider({
    clients: [bot, reader, stranger],
    scopes,
    accessClaims: (subject) => ({ groups: groups[subject] ?? [] }),
  });
});
afterAll(() => provider.close());

/** One gateway for all tests that only look: their requests do not disturb each other. */
let shared: Awaited<ReturnType<typeof start>>;
beforeAll(async () => {
  shared = await start();
});
afterAll(() => shared.close());

async function start(access: Partial<OAuthAccess> = {}, options: Partial<GatewayOptions> = {}) {
  const ledger = createMemoryLedger();
  const file = join(makeFolder(), 'effects');
  const lines: string[] = [];
  const gateway = createMcpGateway({
    config: { servers: [effectServer('notes', file)], observe: true },
    ledger,
    version: '1',
    log: (server, line) => void lines.push(`${server}: ${line}`),
    ...options,
  });
  await gateway.start();
  const http = await gateway.listen({
    port: 0,
    access: { type: 'oauth', issuer: provider.issuer, ...access },
  });
  return {
    ledger,
    url: http.url,
    lines,
    close: async () => {
      await http.close();
      await gateway.close();
    },
  };
}

async function connect(url: string, token: string): Promise<Client> {
  const client = new Client({ name: 'probe', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  onTestFinished(() => client.close());
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};

const post = (url: string, token: string): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify(initialize),
  });

/** A token as the provider signs it, with some claims changed. */
const sign = (
  claims: Readonly<Record<string, unknown>>,
  { key = provider.signingKey, header = {} }: { key?: CryptoKey | Uint8Array; header?: object } = {},
): Promise<string> => {
  const all = {
    iss: provider.issuer,
    aud: shared.url,
    sub: 'bot',
    scope: 'quittance:operator',
    exp: Math.floor(Date.now() / 1_000) + 600,
    ...claims,
  };
  // Without the claims that a test takes away.
  return new SignJWT(JSON.parse(JSON.stringify(all)) as JWTPayload)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'test', ...header })
    .sign(key);
};

describe('the endpoint as an OAuth 2.1 resource server', () => {
  it('says in its metadata and its challenge where tokens come from', async () => {
    const { url } = shared;
    const refused = await fetch(url, { method: 'POST', body: '{}' });
    expect(refused.status).toBe(401);
    const challenge = refused.headers.get('www-authenticate') ?? '';
    expect(challenge).toMatch(/^Bearer resource_metadata="[^"]+", scope="[^"]*quittance:operator[^"]*"$/);
    const metadata = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? '';
    expect(await (await fetch(metadata)).json()).toMatchObject({
      resource: url,
      authorization_servers: [provider.issuer],
      bearer_methods_supported: ['header'],
      scopes_supported: ['quittance:admin', 'quittance:operator', 'quittance:approver', 'quittance:viewer'],
    });
  });

  it('accepts a token of the issuer, and records its subject', async () => {
    const { url, ledger } = shared;
    const token = await provider.accessToken(bot, url, 'quittance:operator');
    const client = await connect(url, token);
    const result = await client.callTool({ name: 'get_meta', arguments: {} });
    expect(JSON.stringify(result)).not.toContain(token);
    const { rows } = await findCalls(ledger, { limit: 10 });
    const events = await ledger.readSession(rows[0]?.sessionId ?? '');
    expect(JSON.stringify(events)).not.toContain(token);
    expect(events.find(({ type }) => type === 'tool.requested')).toMatchObject({
      principal: { userId: 'bot', claims: { issuer: provider.issuer, scope: ['quittance:operator'] } },
      askedBy: {
        kind: 'provider',
        issuer: provider.issuer,
        subject: 'bot',
        method: 'oauth',
        roles: ['operator'],
      },
    });
  });

  it('refuses tokens that the issuer did not issue for it, and says nothing about why', async () => {
    const { url, lines } = shared;
    const now = Math.floor(Date.now() / 1_000);
    const other = await generateKeyPair('ES256');
    const secret = new TextEncoder().encode('s'.repeat(64));
    const good = await sign({});
    expect((await post(url, good)).status).toBe(200);
    const [head = '', body = '', signature = ''] = good.split('.');
    const refused: Readonly<Record<string, string>> = {
      'of another audience': await provider.accessToken(bot, 'https://other.example/mcp', 'other'),
      'of another port of this machine': await sign({ aud: url.replace(/:\d+/, ':1') }),
      'without an audience': await sign({ aud: undefined }),
      'of another issuer': await sign({ iss: 'https://evil.example' }),
      'signed with another key': await sign({}, { key: other.privateKey }),
      'signed with an unknown key id': await sign({}, { key: other.privateKey, header: { kid: 'other' } }),
      'signed with a shared secret': await sign({}, { key: secret, header: { alg: 'HS256' } }),
      unsigned: `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`,
      'with a changed body': `${head}.${Buffer.from(JSON.stringify({ sub: 'root' })).toString('base64url')}.${signature}`,
      expired: await sign({ exp: now - 120 }),
      'without an end': await sign({ exp: undefined }),
      'not valid yet': await sign({ nbf: now + 600 }),
      'without a subject': await sign({ sub: undefined }),
      'bound to a key': await sign({ cnf: { jkt: 'x' } }),
      'of another type': await sign({}, { header: { typ: 'logout+jwt' } }),
      'with a header that must be understood': await sign({}, { header: { crit: ['x'], x: 1 } }).catch(
        () => 'x.y.z',
      ),
      'too long': `${good}${'A'.repeat(12_000)}`,
      'of no form': 'wrong',
    };
    const before = lines.length;
    for (const [what, token] of Object.entries(refused)) {
      const response = await post(url, token);
      expect([what, response.status, response.headers.get('www-authenticate')]).toEqual([
        what,
        401,
        expect.stringContaining('error="invalid_token"'),
      ]);
      expect(await response.json()).toMatchObject({ error: { message: 'Unauthorized' } });
    }
    // The operator learns why, without the tokens.
    expect(lines.length).toBeGreaterThan(before);
    for (const line of lines) expect(line).not.toContain(signature);
  });

  it('refuses a token without a role, and gives each role its tools', async () => {
    const { url } = shared;
    const nothing = await post(url, await provider.accessToken(stranger, url, 'other'));
    expect(nothing.status).toBe(403);
    expect(nothing.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
    const viewer = await connect(url, await provider.accessToken(reader, url, 'quittance:viewer'));
    const names = (await viewer.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('get_meta');
    expect(names).not.toContain('create_note');
    await expect(viewer.callTool({ name: 'create_note', arguments: { text: 'a' } })).rejects.toThrow(
      'Unknown tool',
    );
  });

  it('does not let another subject into a session', async () => {
    const { url } = shared;
    const opened = await post(url, await sign({ sub: 'one' }));
    const session = opened.headers.get('mcp-session-id') ?? '';
    const list = async (sub: string): Promise<number> =>
      (
        await fetch(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            authorization: `Bearer ${await sign({ sub })}`,
            'mcp-session-id': session,
            'mcp-protocol-version': '2025-11-25',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }),
        })
      ).status;
    expect(await list('two')).toBe(404);
    expect(await list('one')).toBe(200);
  });

  it('takes roles from groups, shows servers and tools to their callers only, and accepts tokens of the ledger', async () => {
    const file = join(makeFolder(), 'effects');
    const tokens = new TokenFile(undefined, () => Date.now());
    const { token } = tokens.create({ name: 'agent', role: 'operator' });
    const servers = [
      {
        ...effectServer('notes', file, { tools: { create_note: { onlyFor: ['group:ops', 'user:agent'] } } }),
      },
      { ...effectServer('vault', file), onlyFor: ['group:ops'] },
    ];
    const gateway = await start(
      { roles: ['operator=groups=ops', 'operator=groups=staff'].map(readOAuthRole), tokens },
      { config: { servers, observe: true } },
    );
    onTestFinished(() => gateway.close());
    const { url } = gateway;
    const seenBy = async (given: string): Promise<readonly string[]> => {
      const client = await connect(url, given);
      const { tools } = await client.listTools();
      const names = tools.map(({ name }) => name);
      // What a caller does not see, the caller cannot call.
      const vault = { name: 'vault__create_note', arguments: { text: 'a' } };
      const answer = await client.callTool(vault).then(
        () => 'called',
        (error: unknown) => String(error),
      );
      expect(answer).toContain(names.includes(vault.name) ? 'called' : 'Unknown tool');
      return names.filter((name) => name.endsWith('create_note'));
    };
    expect(await seenBy(await provider.accessToken(bot, url))).toEqual([
      'notes__create_note',
      'vault__create_note',
    ]);
    expect(await seenBy(await provider.accessToken(reader, url))).toEqual([]);
    expect(await seenBy(token)).toEqual(['notes__create_note']);
    // A subject that looks like a group gives no membership.
    expect(await seenBy(await sign({ sub: 'group:ops', aud: url, groups: ['staff'] }))).toEqual([]);
    expect((await post(url, await provider.accessToken(stranger, url))).status).toBe(403);
  });

  it('answers 503 while the keys of the issuer cannot be read, and asks again later', async () => {
    const broken = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.writeHead(isUp ? 200 : 500, { 'content-type': 'application/json' });
      const issuer = `http://127.0.0.1:${port}`;
      response.end(JSON.stringify(isUp ? metadataOf(issuer) : {}));
    });
    const requests: string[] = [];
    let isUp = false;
    await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void broken.close());
    const { port } = broken.address() as AddressInfo;
    const metadataOf = (issuer: string): object => ({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      response_types_supported: ['code'],
      jwks_uri: `${provider.issuer}/jwks`,
    });
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const gateway = await start({ issuer: `http://127.0.0.1:${port}` }, { ledger });
    onTestFinished(() => gateway.close());
    const token = await sign({
      iss: `http://127.0.0.1:${port}`,
      aud: gateway.url,
      exp: clock.now() / 1_000 + 60,
    });
    const down = await post(gateway.url, token);
    expect([down.status, down.headers.get('retry-after')]).toEqual([503, '5']);
    const asked = requests.length;
    expect((await post(gateway.url, token)).status).toBe(503);
    expect(requests.length).toBe(asked);
    isUp = true;
    clock.advance(6_000);
    expect((await post(gateway.url, token)).status).toBe(200);
    clock.advance(120_000);
    expect((await post(gateway.url, token)).status).toBe(401);
  });

  it.each([
    [{ issuer: 'http://login.example' }, 'unencrypted'],
    [{ issuer: 'login' }, 'is not a URL'],
    [{ issuer: 'https://169.254.169.254' }, 'metadata service'],
    [{ algorithms: ['HS256'] }, '"HS256" cannot verify'],
    [{ algorithms: ['none'] }, '"none" cannot verify'],
    [{ algorithms: [] }, 'No algorithm'],
    [{ resource: 'mcp' }, 'public address'],
  ])('refuses a configuration that cannot be safe: %o', async (access, message) => {
    const gateway = createMcpGateway({
      config: { servers: [], observe: true },
      ledger: createMemoryLedger(),
      version: '1',
    });
    onTestFinished(() => gateway.close());
    const full = { type: 'oauth', issuer: provider.issuer, ...access } as const;
    await expect(gateway.listen({ port: 0, access: full })).rejects.toThrow(message);
    await expect(
      gateway.listen({ port: 0, host: '0.0.0.0', access: { type: 'oauth', issuer: provider.issuer } }),
    ).rejects.toThrow('public address');
  });
});
