/**
 * Takes the screenshots for docs/console.md and docs/mcp-guide.md: `npm run pictures`. The demo runs for a while first,
 * with a real gateway on its ledger. With names, only these pages: `npm run pictures -- servers server`. Check the
 * pictures before you commit them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { McpServerList, McpToolDetail } from '../packages/server/src/http/api/mcp.ts';
import { launchBrowser } from '../test/browser.ts';
import { makeFileToken } from '../test/make-token.ts';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'quittance-pictures-'));
const demo = spawn(
  process.execPath,
  [
    '--conditions=quittance-source',
    'packages/cli/src/main.ts',
    'demo',
    '--ledger',
    join(folder, 'ledger.db'),
    '--port',
    '0',
    '--json',
  ],
  {
    cwd: root,
    // Without a terminal, the demo gives a link only to the holder of a token.
    env: { ...process.env, QUITTANCE_TOKEN: makeFileToken(join(folder, 'ledger.db')) },
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const [line] = (await once(demo.stdout, 'data')) as [Buffer];
const { url, link, token } = JSON.parse(String(line)) as { url: string; link: string; token: string };
const ask = async <Answer>(path: string): Promise<Answer> =>
  (await (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).json()) as Answer;
const post = async (path: string, body: object): Promise<void> => {
  await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
};

/** A client behind the gateway, in front of the server of the guide and one that does not start. */
async function connectClient(): Promise<Client> {
  const config = join(folder, 'mcp.json');
  // A short command, as people have it: the pictures show it.
  const shop = join(folder, 'shop-server');
  const source = ['--conditions=quittance-source'];
  const words = [process.execPath, ...source, join(root, 'test/mcp/shop-server.ts'), changed];
  writeFileSync(shop, `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(' ')}\n`, { mode: 0o700 });
  const path = `${folder}:${process.env['PATH'] ?? ''}`;
  const server = { command: 'shop-server', args: ['--shop', 'bakery'], env: { PATH: path } };
  const mail = { command: 'mail-server', args: ['--api-key', 'secret-of-the-mail-server'] };
  writeFileSync(config, JSON.stringify({ mcpServers: { shop: server, mail } }));
  const args = ['mcp', '--observe', '--config', config, '--ledger', join(folder, 'ledger.db')];
  const client = new Client({ name: 'claude-ai', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...source, join(root, 'packages/cli/src/main.ts'), ...args],
      stderr: 'ignore',
    }),
  );
  const { tools } = await client.listTools();
  for (const { name } of tools)
    if (name.startsWith('shop__get')) await client.callTool({ name, arguments: {} });
  return client;
}

/** One tool is approved, and then describes itself differently. */
const changed = join(folder, 'changed');
const before = await connectClient();
const shopId = (await ask<McpServerList>('/v1/mcp/servers')).rows.find(
  ({ name }) => name === 'shop',
)?.serverId;
const shopPath = `/v1/mcp/servers/${encodeURIComponent(shopId ?? '')}`;
const { tool } = await ask<McpToolDetail>(`${shopPath}/tool?name=get_stock`);
await post(`${shopPath}/review`, { tool: tool.name, digest: tool.digest, verdict: 'allow', mode: 'read' });
await before.close();
writeFileSync(changed, '');
const client = await connectClient();

const wanted = process.argv.slice(2);
if (wanted.length === 0) await new Promise((resolve) => setTimeout(resolve, 25_000));

type Row = { readonly sessionId: string; readonly callId: string };
const [refund] = (
  await ask<{ rows: readonly Row[] }>('/v1/calls?toolName=refund&outcome=ToolExecutionResult')
).rows;
const [round] = (await ask<{ rows: readonly Pick<Row, 'sessionId'>[] }>('/v1/sessions?search=morning-round'))
  .rows;
/** Two rounds of the same agent, to compare. */
const [later, earlier] = (
  await ask<{ rows: readonly Pick<Row, 'sessionId'>[] }>('/v1/sessions?search=morning-round&limit=2')
).rows;
const step = encodeURIComponent;
const pages = {
  overview: '/?span=5m',
  calls: '/calls',
  call: refund === undefined ? '/calls' : `/calls/${step(refund.sessionId)}/${step(refund.callId)}`,
  inbox: '/inbox',
  reconcile: '/reconcile',
  session: round === undefined ? '/sessions' : `/sessions/${step(round.sessionId)}`,
  sessions: '/sessions',
  comparison:
    later === undefined || earlier === undefined
      ? '/sessions'
      : `/sessions/${step(earlier.sessionId)}?compare=${step(later.sessionId)}`,
  contracts: '/contracts',
  draft: '/contracts/draft',
  tools: '/tools',
  tool: '/tools/refund',
  servers: '/servers',
  server: `/servers/${step(shopId ?? '')}`,
  review: `/servers/${step(shopId ?? '')}?tool=get_stock`,
  integrity: '/integrity',
};
const desktop = { width: 1280, height: 800 };
const looks = [
  { look: 'light', colorScheme: 'light', screen: desktop },
  { look: 'dark', colorScheme: 'dark', screen: desktop },
  { look: 'phone', colorScheme: 'light', screen: { width: 390, height: 844 } },
] as const;
const browser = await launchBrowser();
try {
  const page = await browser.newPage({ viewport: desktop });
  await page.goto(link);
  await page.getByRole('button', { name: /^Log in as/ }).click();
  // The login leads to the first page. A load that starts before it has arrived would be interrupted, and the login page
  // has a heading too.
  await page.locator('#page h1').waitFor();
  for (const { look, colorScheme, screen } of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(screen);
    for (const [name, address] of Object.entries(pages)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      await page.goto(url + address);
      await page.locator('main h1').waitFor();
      await page.waitForTimeout(1_500);
      // A busy machine may still be loading the data of a page.
      const loading = page.locator('.skeleton').first();
      await loading.waitFor({ state: 'detached', timeout: 60_000 });
      await page.waitForTimeout(500);
      const path = `docs/images/console-${name}-${look}.png`;
      await page.screenshot({ path: join(root, path) });
      console.log(path);
    }
  }
} finally {
  await browser.close();
  await client.close();
  demo.kill('SIGINT');
  await once(demo, 'close');
  rmSync(folder, { recursive: true, force: true });
}
