/**
 * The cost of the gateway: `npm run bench:mcp`. A client calls a tool that answers at once, over stdio: directly, through
 * a plain relay, and through the gateway. The lanes run one after the other. The best of three rounds counts.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { nodeCommand } from '../../conformance/mcp/start-program.ts';
import { printTable } from '../table.ts';

const rounds = 3;
const calls = { one: 500, many: 2_000 } as const;
const width = 32;

const folder = await mkdtemp(join(tmpdir(), 'quittance-bench-mcp-'));
const server = nodeCommand('bench/mcp/echo-child.ts');
const [command = '', ...args] = server;
const config = join(folder, 'mcp.json');
const settings = { servers: { echo: { tools: { echo: { mode: 'safe_write' } } } } };
await writeFile(config, JSON.stringify({ mcpServers: { echo: { command, args } }, quittance: settings }));
const gateway = (ledger: string): readonly string[] =>
  nodeCommand('bench/mcp/gateway-child.ts', config, ledger);

const lanes: Readonly<Record<string, readonly string[]>> = {
  direct: server,
  'plain relay': [...nodeCommand('bench/mcp/relay-child.ts'), ...server],
  'gateway, memory': gateway('memory:'),
  'gateway, SQLite': gateway(join(folder, 'ledger.db')),
};

type Measured = { readonly p50: number; readonly p99: number; readonly perSecond: number };

async function measure(client: Client, count: number, inFlight: number): Promise<Measured> {
  const times: number[] = [];
  let next = 0;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (next < count) {
        next += 1;
        const text = `call ${next} of ${start}`;
        const sent = performance.now();
        const { content, isError } = await client.callTool({ name: 'echo', arguments: { text } });
        times.push(performance.now() - sent);
        const [part] = content;
        if (isError === true || part?.type !== 'text' || part.text !== text)
          throw new Error(`The echo was wrong: ${JSON.stringify(content)}`);
      }
    }),
  );
  const perSecond = (count / (performance.now() - start)) * 1_000;
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), perSecond };
}

const best = (measured: readonly Measured[]): Measured =>
  measured.reduce((fastest, each) => (each.p50 < fastest.p50 ? each : fastest));

const results: Record<string, { readonly one: Measured; readonly many: Measured }> = {};
try {
  for (const [name, [program = '', ...rest]] of Object.entries(lanes)) {
    const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StdioClientTransport({ command: program, args: [...rest], stderr: 'inherit' }));
    await measure(client, 300, 8); // warm
    const one: Measured[] = [];
    const many: Measured[] = [];
    for (let round = 0; round < rounds; round++) {
      one.push(await measure(client, calls.one, 1));
      many.push(await measure(client, calls.many, width));
    }
    results[name] = { one: best(one), many: best(many) };
    await client.close();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

const ms = (value: number): string => value.toFixed(2);
printTable(
  ['stdio', 'p50 ms', 'p99 ms', 'calls/s', `p50 ms at ${width}`, `p99 ms at ${width}`, `calls/s at ${width}`],
  Object.entries(results).map(([name, { one, many }]) => [
    name,
    ms(one.p50),
    ms(one.p99),
    one.perSecond.toFixed(0),
    ms(many.p50),
    ms(many.p99),
    many.perSecond.toFixed(0),
  ]),
);
const relay = results['plain relay']?.one.p50 ?? 0;
const over = (name: string): number => Number(((results[name]?.one.p50 ?? 0) - relay).toFixed(3));
process.stdout.write(
  `${JSON.stringify({ bench: 'mcp', overRelayMs: { memory: over('gateway, memory'), sqlite: over('gateway, SQLite') }, results })}\n`,
);
