/**
 * The cost of the gateway: `npm run bench:mcp`. A client calls a tool that answers at once, over stdio: directly, through
 * a plain relay, and through the gateway. Lanes take turns in short rounds, so that they share the load of the machine.
 * The median of the rounds counts. `--quick` measures less.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { nodeCommand } from '../../conformance/mcp/start-program.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';

const isQuick = process.argv.includes('--quick');
const rounds = isQuick ? 3 : 9;
const calls = isQuick ? { one: 100, many: 400 } : { one: 250, many: 1_000 };
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

/** Each figure is the median of the rounds. */
function medianOf(measured: readonly Measured[]): Measured {
  const middle = (key: keyof Measured): number =>
    measured.map((each) => each[key]).sort((a, b) => a - b)[Math.floor(measured.length / 2)] ?? 0;
  return { p50: middle('p50'), p99: middle('p99'), perSecond: middle('perSecond') };
}

const clients = new Map<string, Client>();
const measured = new Map<string, { readonly one: Measured[]; readonly many: Measured[] }>();
const progress = createProgress('Calls through MCP', rounds * Object.keys(lanes).length);
try {
  for (const [name, [program = '', ...rest]] of Object.entries(lanes)) {
    const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StdioClientTransport({ command: program, args: [...rest], stderr: 'inherit' }));
    clients.set(name, client);
    measured.set(name, { one: [], many: [] });
    await measure(client, 300, 8); // warm
  }
  for (let round = 0; round < rounds; round++)
    for (const [name, client] of clients) {
      measured.get(name)?.one.push(await measure(client, calls.one, 1));
      measured.get(name)?.many.push(await measure(client, calls.many, width));
      progress.step();
    }
} finally {
  progress.done();
  for (const client of clients.values()) await client.close();
  await rm(folder, { recursive: true, force: true });
}
const results = Object.fromEntries(
  [...measured].map(([name, { one, many }]) => [name, { one: medianOf(one), many: medianOf(many) }]),
);

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
