/** The ways from the suite to the fixture server: directly, and through the gateway. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenFileOptions } from '../../test/make-token.ts';
import { nodeCommand, startProgram } from './start-program.ts';
import { legacyOnly, modernOnly } from './known-failures.ts';
import type { Revision } from './run-suite.ts';

export type Lane = {
  readonly name: string;
  readonly description: string;
  readonly start: () => Promise<Started>;
  /**
   * Scenarios that cannot pass in this lane, with the reason. A lane without this list must also have all checks of
   * the fixture server.
   */
  readonly knownFailures?: Readonly<Record<Revision, Readonly<Record<string, string>>>>;
};

export type Started = {
  readonly url: string;
  /** Printed with the result. */
  readonly configuration?: unknown;
  readonly close: () => Promise<void>;
};

const fixture = 'conformance/mcp/fixture-server.ts';
const program = 'packages/cli/src/main.ts';

/** Runs a gateway over HTTP in front of one server of the given entry. Tools run unasked, on a ledger on disk. */
async function startGateway(entry: object, closeFirst?: () => Promise<void>): Promise<Started> {
  const folder = await mkdtemp(join(tmpdir(), 'quittance-mcp-lane-'));
  const config = join(folder, 'mcp.json');
  const configuration = { mcpServers: { fixture: entry } };
  await writeFile(config, JSON.stringify(configuration));
  const path = join(folder, 'ledger.db');
  // To observe is a decision, and there is no person at a terminal.
  const ledger = ['--ledger', path, ...tokenFileOptions(path)];
  const options = ['--config', config, '--observe', '--http', '0', '--open', '--json', ...ledger];
  const { url, close } = await startProgram([program, 'mcp', ...options]);
  return {
    url,
    configuration,
    async close() {
      await close();
      await closeFirst?.();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const toEntry = ([command, ...args]: readonly string[]): object => ({ command, args });

async function overHttp(...args: readonly string[]): Promise<Started> {
  const { url, close } = await startProgram([fixture, ...args]);
  return startGateway({ type: 'http', url }, close);
}

const overStdio = (...args: readonly string[]): Promise<Started> =>
  startGateway(toEntry(nodeCommand(fixture, '--stdio', ...args)));

/** A second gateway over stdio between the first one and the fixture server over HTTP. */
async function chained(): Promise<Started> {
  const { url, close } = await startProgram([fixture]);
  const folder = await mkdtemp(join(tmpdir(), 'quittance-mcp-chain-'));
  const config = join(folder, 'mcp.json');
  await writeFile(config, JSON.stringify({ mcpServers: { fixture: { type: 'http', url } } }));
  const path = join(folder, 'ledger.db');
  // To observe is a decision, and there is no person at a terminal.
  const ledger = ['--ledger', path, ...tokenFileOptions(path)];
  return startGateway(
    toEntry(nodeCommand(program, 'mcp', '--config', config, '--observe', ...ledger)),
    async () => {
      await close();
      await rm(folder, { recursive: true, force: true });
    },
  );
}

export const lanes: readonly Lane[] = [
  {
    name: 'direct',
    description: 'suite → fixture server over HTTP',
    start: () => startProgram([fixture]),
  },
  {
    name: 'http-http',
    description: 'suite → gateway over HTTP → fixture server over HTTP',
    start: () => overHttp(),
  },
  {
    name: 'http-stdio',
    description: 'suite → gateway over HTTP → fixture server over stdio',
    start: () => overStdio(),
  },
  {
    name: 'http-stdio-http',
    description: 'suite → gateway over HTTP → gateway over stdio → fixture server over HTTP',
    start: chained,
  },
  {
    name: 'legacy-only',
    description: 'suite → gateway over HTTP → fixture server of 2025-11-25 only',
    start: () => overHttp('--eras', 'legacy'),
    knownFailures: legacyOnly,
  },
  {
    name: 'modern-only',
    description: 'suite → gateway over HTTP → fixture server of 2026-07-28 only',
    start: () => overHttp('--eras', 'modern'),
    knownFailures: modernOnly,
  },
];
