/** `--telemetry` and quiet hours of `quittance serve` and `quittance mcp`, each in a process with the real SDK. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createRuntime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { nodeCommand } from '../../conformance/mcp/start-program.ts';
import { eventually } from '../eventually.ts';
import { makeFileToken } from '../make-token.ts';
import { startCli } from '../run-cli.ts';
import { untilDecided } from '../until-decided.ts';

const sent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

type SentSpan = {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
};
type Otlp = {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: SentSpan[] }[] }[];
};

let folder: string;
let collector: Server;
let env: Readonly<Record<string, string>>;
const spans: SentSpan[] = [];
const hour = 3_600_000;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-telemetry-'));
  collector = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(text) as Otlp; // the exporter wrote it
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo; // it listens on a port
  env = {
    NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, 'start-sdk.ts')).href}`,
    NODE_NO_WARNINGS: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  };
  // Every day, so a day of waking time takes 26 hours whenever the test runs.
  writeFileSync(
    join(folder, 'n.yaml'),
    `apiVersion: quittance/v1
kind: Notifications
targets: { ops: { type: slack, url: 'https://chat.example.com/x' } }
rules: [{ on: [unresolved], tell: [ops] }]
quietHours: [{ from: '00:00', to: '02:00', timeZone: UTC }]
`,
  );
});
afterAll(() => {
  collector.close();
  collector.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

const spanOf = (name: string, code?: string): Promise<SentSpan> =>
  eventually(() => {
    const found = spans.find((span) => span.name === name && attribute(span, 'error.type') === code);
    if (found === undefined) throw new Error(`No span ${name} in ${spans.map((span) => span.name).join()}`);
    return found;
  });
const attribute = ({ attributes }: SentSpan, key: string): string | undefined =>
  attributes.find((each) => each.key === key)?.value.stringValue;

test('serve sends spans of calls to a collector, and its quiet hours extend the expiry', async () => {
  const tools = [
    { name: 'get_stock', description: 'Stock', mode: 'read', input: { type: 'object' } },
    { name: 'wipe_stock', description: 'Wipe', mode: 'destructive', input: { type: 'object' } },
  ];
  writeFileSync(join(folder, 'tools.json'), JSON.stringify({ tools }));
  const args = ['--ledger', join(folder, 'serve.db'), '--port', '0', '--json'];
  const more = ['--tools', join(folder, 'tools.json'), '--notifications', join(folder, 'n.yaml')];
  const child = startCli(['serve', ...args, ...more, '--telemetry', 'opentelemetry'], { env });
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill();
    await closed;
  });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (told += piece));
  const [line] = (await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    closed.then(() => Promise.reject(new Error(told))),
  ])) as [string];
  const served = JSON.parse(line) as { readonly url: string };
  const token = makeFileToken(join(folder, 'serve.db'));
  const ask = async (path: string, body: object): Promise<{ readonly [key: string]: unknown }> => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      traceparent: sent,
    };
    const answer = await fetch(served.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as { readonly [key: string]: unknown };
  };
  const askFor = (id: string, name: string, waitMs: number) =>
    ask('/v1/calls', { sessionId: 's', call: { id, name, arguments: {} }, waitMs });

  const allowed = await askFor('c1', 'get_stock', 60_000);
  expect(allowed).toMatchObject({ decision: 'allow' });
  await ask('/v1/handoffs/report', { token: allowed['token'], report: { output: 42 } });
  const span = await spanOf('execute_tool get_stock');
  expect([span.traceId, span.parentSpanId]).toEqual([sent.split('-')[1], sent.split('-')[2]]);
  expect(attribute(span, 'quittance.outcome')).toBe('ToolExecutionResult');
  expect(allowed['traceparent']).toContain(span.traceId);

  const held = await untilDecided(() => askFor('c2', 'wipe_stock', 0));
  expect(held).toMatchObject({ decision: 'held' });
  expect(Number(held['expiresAt']) - Date.now()).toBeGreaterThan(25 * hour);
});

test('mcp sends spans of calls to a collector, and takes quiet hours', async () => {
  const ledgerPath = join(folder, 'mcp.db');
  const shop = {
    command: process.execPath,
    args: [join(import.meta.dirname, '../mcp/shop-server.ts')],
  };
  writeFileSync(join(folder, 'mcp.json'), JSON.stringify({ mcpServers: { shop } }));
  const options = ['--config', join(folder, 'mcp.json'), '--ledger', ledgerPath];
  const signals = ['--telemetry', 'opentelemetry', '--quiet-hours', join(folder, 'n.yaml')];
  const [command = '', ...args] = nodeCommand('packages/cli/src/main.ts', 'mcp', ...options, ...signals);
  const client = new Client({ name: 'probe', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(new StdioClientTransport({ command, args, env: { ...env }, stderr: 'ignore' }));
  const _meta = { traceparent: sent };
  // Tools of a new server wait for a review, so a person is asked.
  await client.callTool({ name: 'get_stock', arguments: {}, _meta });
  const ledger = await openLedger(ledgerPath);
  const runtime = createRuntime({ tools: [], ledger });
  onTestFinished(async () => {
    await runtime.close();
    await ledger.close();
  });
  const question = await eventually(async () => {
    const [row] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    if (row === undefined) throw new Error('No question yet.');
    return row;
  });
  expect((question.expiresAt ?? 0) - question.createdAt).toBeGreaterThan(25 * hour);
  await runtime.confirmations.decide(question.confirmationId, { decision: 'deny', by: 'eve' });
  const span = await spanOf(`execute_tool ${question.toolName}`, 'confirmation.rejected');
  expect([span.traceId, span.parentSpanId]).toEqual([sent.split('-')[1], sent.split('-')[2]]);
});
