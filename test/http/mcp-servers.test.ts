/** The MCP servers of a ledger over HTTP: gateways are other processes, or other handles on the same ledger. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type {
  McpServerDetail,
  McpServerList,
  McpServerRow,
  McpToolDetail,
  McpToolRow,
} from '@quittance/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { OpenLedger } from '../../packages/quittance/src/ledger/ledger.ts';
import type { ServerEntry } from '../../packages/server/src/mcp-reviews/server-entry.ts';
import { createMcpGateway } from '../../packages/mcp/src/gateway/create-gateway.ts';
import { openReviewDocuments } from '../../packages/server/src/mcp-reviews/review-documents.ts';
import { ToolReviews } from '../../packages/server/src/mcp-reviews/tool-reviews.ts';
import { GatewayBoard } from '../../packages/server/src/mcp-reviews/gateway-board.ts';
import { LedgerTokens } from '../../packages/server/src/http/ledger-tokens.ts';
import { createHttpServer } from '../../packages/server/src/http/create-http-server.ts';
import { createRuntime } from '../../packages/quittance/src/store/create-runtime.ts';
import { openLedger } from '../../packages/quittance/src/store/open-ledger.ts';
import { ada, makeFolder } from '../mcp/gateway/start-gateway.ts';
import { sharePostgres } from '../postgres/shared-postgres.ts';
import { cliCommand } from '../run-cli.ts';
import { root } from '../sources.ts';
import type { Answer } from './start-server.ts';
import { startServer } from './start-server.ts';

type Get = <Body>(path: string) => Promise<Answer<Body>>;
type Problem = { readonly code: string; readonly detail: string };

/** The server of the guide. It describes `get_stock` differently once the file exists. */
const shopArgs = (changed: string): string[] => [join(root, 'test/mcp/shop-server.ts'), changed];
const shopEntry = (changed: string): ServerEntry => ({
  name: 'shop',
  isTrusted: false,
  isDisabled: false,
  tools: {},
  type: 'stdio',
  command: process.execPath,
  args: shopArgs(changed),
  env: { SHOP_TOKEN: 'shop-token-1' },
});

async function readShop(get: Get): Promise<McpServerRow> {
  const { body } = await get<McpServerList>('/v1/mcp/servers');
  const [shop] = body.rows;
  if (shop === undefined) throw new Error('No server is listed.');
  return shop;
}

async function readTool(get: Get, name: string): Promise<McpToolDetail> {
  const { serverId } = await readShop(get);
  const { body } = await get<McpToolDetail>(
    `/v1/mcp/servers/${encodeURIComponent(serverId)}/tool?name=${encodeURIComponent(name)}`,
  );
  return body;
}

const said = async (client: Client, name: string): Promise<string> =>
  JSON.stringify((await client.callTool({ name, arguments: {} })).content);

test('a gateway in another process: its servers, answers about their tools, a rug pull, and its end', async () => {
  const server = await startServer();
  onTestFinished(() => server.close());
  const { ledgerPath } = server;
  const folder = makeFolder();
  const [changed, config] = [join(folder, 'changed'), join(folder, 'mcp.json')];
  const env = { SHOP_TOKEN: 'shop-token-1' };
  writeFileSync(
    config,
    JSON.stringify({
      mcpServers: {
        shop: { command: process.execPath, args: shopArgs(changed), env },
        broken: { command: join(folder, 'no-such-program'), args: ['--api-key', 'hunter2hunter2'] },
      },
    }),
  );
  const connect = async (): Promise<{ readonly client: Client; readonly pid: number }> => {
    const [command, ...args] = cliCommand('mcp', '--config', config, '--ledger', ledgerPath);
    const transport = new StdioClientTransport({ command, args, stderr: 'ignore' });
    const connected = new Client({ name: 'desktop', version: '1' });
    onTestFinished(() => connected.close());
    await connected.connect(transport);
    await connected.listTools();
    return { client: connected, pid: transport.pid ?? 0 };
  };
  const { client } = await connect();

  // Status travels through the ledger, without secrets.
  const list = async (): Promise<readonly McpServerRow[]> =>
    (await server.get<McpServerList>('/v1/mcp/servers', 'viewer')).body.rows;
  await expect
    .poll(async () => (await list()).map(({ name, state }) => [name, state]))
    .toEqual([
      ['broken', 'failing'],
      ['shop', 'connected'],
    ]);
  const [broken, shop] = await list();
  expect(broken).toMatchObject({ transport: 'stdio', seenAt: expect.any(Number) as number });
  expect(broken?.gateways[0]).toMatchObject({ state: 'live', lastError: expect.stringContaining('no-such') });
  expect(shop).toMatchObject({
    tools: { listed: 3, approved: 0, unknown: 3, changed: 0, blocked: 0 },
    gateways: [{ state: 'live', status: 'ready', clients: ['desktop'] }],
  });
  expect(JSON.stringify(await list())).not.toMatch(/hunter2|shop-token/);
  if (shop === undefined) throw new Error('The server is gone.');
  const path = `/v1/mcp/servers/${encodeURIComponent(shop.serverId)}`;
  const tool = async (name: string): Promise<McpToolDetail> =>
    (await server.get<McpToolDetail>(`${path}/tool?name=${name}`, 'viewer')).body;

  // An answer needs a role. The running gateway applies it, and the figure of the tool counts its calls.
  const first = await tool('get_stock');
  expect(first).toMatchObject({
    tool: { status: 'unknown', proposed: 'read', origin: 'inferred', callNames: ['shop__get_stock'] },
    listed: { description: 'Returns the stock.' },
  });
  const answer = { tool: 'get_stock', digest: first.tool.digest, verdict: 'allow', mode: 'read' };
  for (const role of ['viewer', 'operator'] as const)
    expect(await server.post<Problem>(`${path}/review`, answer, role)).toMatchObject({ status: 403 });
  expect(await said(client, 'shop__get_stock')).not.toContain('42 pieces');
  expect(await server.post<McpToolDetail>(`${path}/review`, answer, 'approver')).toMatchObject({
    status: 200,
    body: {
      tool: { status: 'approved', mode: 'read' },
      answer: {
        verdict: 'allow',
        by: 'approver-person',
        identity: expect.stringContaining('token') as string,
      },
    },
  });
  expect(await said(client, 'shop__get_stock')).toContain('42 pieces');
  await expect
    .poll(async () =>
      (await server.get<McpServerDetail>(path)).body.tools.find(({ name }) => name === 'get_stock'),
    )
    .toMatchObject({ calls: 2 });

  // A blocked tool disappears from the list of the running client, and a call of it does not run.
  const remove = await tool('delete_stock');
  await server.post(`${path}/review`, { tool: 'delete_stock', digest: remove.tool.digest, verdict: 'block' });
  await expect
    .poll(async () => (await client.listTools()).tools.map(({ name }) => name))
    .not.toContain('shop__delete_stock');
  expect(await said(client, 'shop__delete_stock')).not.toContain('deleted');
  await expect
    .poll(async () => (await server.get<McpServerList>('/v1/mcp/servers')).body.rows[1]?.tools)
    .toMatchObject({ approved: 1, blocked: 1, unknown: 1 });

  // Rug pull: the stale page cannot approve the new text, and the difference is there.
  writeFileSync(changed, '');
  await client.close();
  const { pid } = await connect();
  const pulled = await tool('get_stock');
  expect(pulled).toMatchObject({
    tool: { changed: 'tool', mode: 'read' },
    approved: { description: 'Returns the stock.' },
    listed: { description: expect.stringContaining('<IMPORTANT>') as string },
  });
  expect(pulled.tool.warnings.map(({ code }) => code)).toEqual(
    expect.arrayContaining(['invisible', 'instructions']),
  );
  expect(await server.post<Problem>(`${path}/review`, answer, 'approver')).toMatchObject({
    status: 409,
    body: {
      code: 'review.mismatch',
      detail: expect.stringContaining('changed after it was shown') as string,
    },
  });
  expect((await server.get<McpServerDetail>(path)).body.changes).toMatchObject([
    { tool: 'get_stock', how: 'changed' },
  ]);

  // Killed: nothing that it reported is shown as current.
  process.kill(pid, 'SIGKILL');
  await expect
    .poll(async () => (await list()).map(({ state, gateways }) => [state, gateways[0]?.state]))
    .toEqual([
      ['disconnected', 'lost'],
      ['disconnected', 'lost'],
    ]);
}, 180_000);

describe('on PostgreSQL', () => {
  test('state and answers travel through the database', async () => {
    const { url } = await sharePostgres();
    const ledgerUrl = `${url}?schema=mcp_${randomBytes(6).toString('hex')}`;
    const open = async (): Promise<OpenLedger> => {
      const ledger = await openLedger(ledgerUrl, { spillFolder: makeFolder() });
      onTestFinished(() => ledger.close());
      return ledger;
    };
    const [theirs, ours] = [await open(), await open()];
    const runtime = createRuntime({ tools: [], ledger: ours });
    const server = await createHttpServer({ ledger: ours, runtime, ledgerUrl, port: 0, localName: 'ada' });
    onTestFinished(async () => {
      await server.close();
      await runtime.close();
    });
    if (ours.documents === undefined) throw new Error('The ledger has documents.');
    const { token } = await new LedgerTokens(ours.documents, Date.now).create({
      name: 'Ada',
      role: 'approver',
    });
    const ask = async <Body>(path: string, body?: object): Promise<Answer<Body>> => {
      const answer = await fetch(server.url + path, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      });
      const { status, headers } = answer;
      return { status, headers, body: (await answer.json()) as Body };
    };

    const gateway = createMcpGateway({
      config: { servers: [shopEntry(join(makeFolder(), 'changed'))], observe: false },
      ledger: theirs,
      version: '1',
      reviews: new ToolReviews(openReviewDocuments(theirs, undefined), () => theirs.now()),
      board: new GatewayBoard(openReviewDocuments(theirs, undefined, 'gateways'), theirs, () => theirs.now()),
    });
    let isClosed = false;
    const close = async (): Promise<void> => {
      if (!isClosed) await gateway.close();
      isClosed = true;
    };
    onTestFinished(close);
    await gateway.start();
    await expect.poll(async () => (await readShop(ask)).state).toBe('connected');

    // The gateway over HTTP tells its own state with the same words.
    const http = await gateway.listen({ port: 0, access: { type: 'open', caller: ada } });
    onTestFinished(() => http.close());
    const status = (await (await fetch(http.url.replace(/mcp$/, 'status'))).json()) as {
      servers: readonly object[];
    };
    expect(status.servers).toMatchObject([{ name: 'shop', status: 'ready', transport: 'stdio', tools: 3 }]);
    expect(JSON.stringify(status)).not.toContain('shop-token');

    const { serverId } = await readShop(ask);
    const { tool } = await readTool(ask, 'get_stock');
    const path = `/v1/mcp/servers/${encodeURIComponent(serverId)}`;
    const answered = await ask<McpToolDetail>(`${path}/review`, {
      tool: 'get_stock',
      digest: tool.digest,
      verdict: 'ask',
    });
    expect(answered.body.tool).toMatchObject<Partial<McpToolRow>>({
      status: 'approved',
      asks: true,
      mode: 'read',
    });
    const forgotten = await ask<McpToolDetail>(`${path}/forget`, { tool: 'get_stock' });
    expect(forgotten.body).toMatchObject({
      tool: { status: 'unknown' },
      history: [{ verdict: 'forgotten', by: 'Ada' }, { verdict: 'ask' }],
    });
    await close();
    expect((await readShop(ask)).state).toBe('disconnected');
    expect((await readShop(ask)).gateways).toMatchObject([{ state: 'ended' }]);
  });
});

test('a ledger without gateways has no servers, and names that do not exist are refused', async () => {
  const server = await startServer();
  onTestFinished(() => server.close());
  expect((await server.get<McpServerList>('/v1/mcp/servers')).body).toEqual({ rows: [] });
  expect(await server.get<Problem>('/v1/mcp/servers/none')).toMatchObject({ status: 404 });
  const body = { tool: 'x', digest: 'y', verdict: 'block' };
  expect(await server.post<Problem>('/v1/mcp/servers/none/review', body)).toMatchObject({ status: 404 });
  expect(
    await server.post<Problem>('/v1/mcp/servers/none/review', { ...body, verdict: 'allow' }),
  ).toMatchObject({
    status: 400,
  });
});
