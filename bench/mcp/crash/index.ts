/**
 * The gateway, the server behind it and the client in front of it are killed at random while an agent sends notes:
 * `npm run crash:mcp -- [--rounds 3] [--notes 80]`. No note may be sent twice, and every call must end once. The control is the same agent without
 * the gateway: it repeats what was not answered, because nothing tells it what happened.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openLedger } from '../../../packages/quittance/src/store/open-ledger.ts';
import { nodeCommand } from '../../../conformance/mcp/start-program.ts';
import { printTable } from '../../table.ts';
import type { AgentErrand } from './agent.ts';
import { Player } from './player.ts';
import { findCalls } from '../../../packages/quittance/src/ledger/reads.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, notes: { type: 'string', default: '80' } },
});
const rounds = Number(values.rounds);
const notes = Number(values.notes);
const inFlight = 4;

type Tally = {
  notes: number;
  kills: { gateway: number; server: number; client: number };
  sent: number;
  unknown: number;
  notSent: number;
  duplicated: number;
  /** The agent or the ledger says something that did not happen, or nothing. */
  wrong: number;
};

const emptyTally = (): Tally => ({
  notes: 0,
  kills: { gateway: 0, server: 0, client: 0 },
  sent: 0,
  unknown: 0,
  notSent: 0,
  duplicated: 0,
  wrong: 0,
});

const linesOf = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

type Lane = { readonly name: string; readonly era: 'legacy' | 'modern'; readonly hasGateway: boolean };
const lanes: readonly Lane[] = [
  { name: 'gateway, 2025-11-25', era: 'legacy', hasGateway: true },
  { name: 'gateway, 2026-07-28', era: 'modern', hasGateway: true },
  { name: 'control, no gateway', era: 'modern', hasGateway: false },
];

type Cast = {
  readonly gateway: Player | undefined;
  readonly client: Player;
  readonly killServer: () => void;
  readonly files: Files & { readonly urlFile: string; readonly pid: string };
};

async function play(lane: Lane, into: Tally): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'quittance-crash-mcp-'));
  const cast = gather(lane, folder, into);
  const { gateway, client, killServer, files } = cast;
  try {
    gateway?.start();
    while (gateway !== undefined && !existsSync(files.urlFile)) await sleep(20);
    client.start();
    await killAtRandom(cast);
    into.kills.gateway += gateway?.kills ?? 0;
    into.kills.client += client.kills;
  } finally {
    await client.kill();
    await gateway?.kill();
    if (existsSync(files.pid)) killServer();
  }
  await count(into, files);
  await rm(folder, { recursive: true, force: true });
}

function gather({ era, hasGateway }: Lane, folder: string, into: Tally): Cast {
  const at = (name: string): string => join(folder, name);
  const files = {
    effects: at('effects'),
    heard: at('heard'),
    urlFile: at('url'),
    pid: at('pid'),
    path: hasGateway ? at('ledger.db') : undefined,
  };
  const server = nodeCommand('bench/mcp/crash/errand-server.ts', files.effects, files.pid);
  const [command = '', ...args] = server;
  const settings = { servers: { errands: { tools: { send_note: { mode: 'external' } } } } };
  const config = at('mcp.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { errands: { command, args } }, quittance: settings }));
  const options = ['--config', config, '--http', '0', '--open', '--json', '--ledger', at('ledger.db')];
  const gateway = new Player(nodeCommand('packages/cli/src/main.ts', 'mcp', ...options), (text) => {
    const url = /"url":\s*"([^"]+)"/.exec(text)?.[1];
    if (url !== undefined) writeFileSync(files.urlFile, url);
  });
  const errand: AgentErrand = {
    to: hasGateway ? { type: 'gateway', urlFile: files.urlFile } : { type: 'server', command: server },
    era,
    notes,
    inFlight,
    heard: files.heard,
  };
  const client = new Player(nodeCommand('bench/mcp/crash/agent.ts', JSON.stringify(errand)));
  const killServer = (): void => {
    try {
      process.kill(Number(readFileSync(files.pid, 'utf8')), 'SIGKILL');
      into.kills.server += 1;
    } catch {
      // It is not running.
    }
  };
  return { gateway: hasGateway ? gateway : undefined, client, killServer, files };
}

/** Until the agent has ended: waits for progress since the last kill, then for a random moment within a call. */
async function killAtRandom({ gateway, client, killServer, files }: Cast): Promise<void> {
  const progress = (): number => linesOf(files.effects).length;
  const deadline = Date.now() + 240_000;
  const isPlaying = (): boolean => client.isRunning && Date.now() < deadline;
  const restart = async (player: Player): Promise<void> => {
    await player.kill();
    player.start();
  };
  const kills = [
    ...(gateway === undefined ? [] : [() => restart(gateway)]),
    async () => killServer(),
    () => restart(client),
  ];
  for (let round = 0; isPlaying(); round++) {
    const goal = progress() + 1 + Math.floor(Math.random() * 8);
    while (isPlaying() && progress() < goal) await sleep(2);
    await sleep(Math.random() * 20);
    // The last notes end in peace, so that the agent can stop.
    if (isPlaying() && linesOf(files.heard).length <= notes - inFlight) await kills[round % kills.length]?.();
  }
}

type Files = { readonly effects: string; readonly heard: string; readonly path: string | undefined };

async function count(into: Tally, { effects, heard, path }: Files): Promise<void> {
  const times = new Map<string, number>();
  for (const key of linesOf(effects)) times.set(key, (times.get(key) ?? 0) + 1);
  const answers = new Map(linesOf(heard).map((line) => [line.split(' ')[0] ?? '', line]));
  const recorded = path === undefined ? undefined : await readLedger(path);
  for (let index = 1; index <= notes; index++) {
    const key = `n${index}`;
    const happened = times.get(key) ?? 0;
    const answer = answers.get(key)?.slice(key.length + 1) ?? '';
    into.notes += 1;
    if (happened > 1) into.duplicated += 1;
    const isSent = answer === 'sent';
    const isUnknown = answer.startsWith('unknown');
    if (isSent) into.sent += 1;
    else if (isUnknown) into.unknown += 1;
    else if (answer !== '') into.notSent += 1;
    const record = recorded?.get(key);
    const isHonest = isSent ? happened >= 1 : isUnknown || (answer !== '' && happened === 0);
    const isRecorded =
      recorded === undefined ||
      (record?.length === 1 &&
        /^settled: (?:success)?/.exec(record[0] ?? '')?.[0] === (isSent ? 'settled: success' : 'settled: '));
    if (isHonest && isRecorded) continue;
    into.wrong += 1;
    process.stderr.write(
      `${key}: ${happened} effects, heard ${answer || 'nothing'}, recorded ${JSON.stringify(record)}\n`,
    );
  }
}

/** How each call ended. */
async function readLedger(path: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const ledger = await openLedger(path);
  try {
    const { rows } = await findCalls(ledger, { limit: 1_000 });
    const found = new Map<string, string[]>();
    for (const { callId, status, code = 'success' } of rows)
      found.set(callId, [...(found.get(callId) ?? []), `${status}: ${code}`]);
    return found;
  } finally {
    await ledger.close();
  }
}

const tallies: Record<string, Tally> = {};
for (const lane of lanes) {
  const tally = (tallies[lane.name] = emptyTally());
  for (let round = 0; round < rounds; round++) await play(lane, tally);
}

printTable(
  [
    'lane',
    'notes',
    'kills: gateway',
    'server',
    'client',
    'sent',
    'unknown',
    'not sent',
    'duplicated',
    'wrong',
  ],
  Object.entries(tallies).map(([name, { kills, ...tally }]) => [
    name,
    ...[
      tally.notes,
      kills.gateway,
      kills.server,
      kills.client,
      tally.sent,
      tally.unknown,
      tally.notSent,
      tally.duplicated,
      tally.wrong,
    ].map(String),
  ]),
);
const failed = lanes.some(({ name, hasGateway }) => {
  const tally = tallies[name];
  return hasGateway && (tally === undefined || tally.duplicated + tally.wrong > 0);
});
process.stdout.write(`${JSON.stringify({ crash: 'mcp', rounds, tallies })}\n`);
if (failed) process.exitCode = 1;
