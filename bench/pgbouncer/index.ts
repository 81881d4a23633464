/**
 * The contract of the stores, and calls of four processes, through the real PgBouncer in transaction mode:
 *
 *   npm run pgbouncer
 *
 * PgBouncer must be installed (Debian: `apt-get install pgbouncer`).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { ledgerContract } from 'quittance/testing';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { PgServer } from '../../test/postgres/pg-server.ts';
import { findPgBouncer, startPgBouncer } from '../../test/postgres/start-pgbouncer.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';

const program = findPgBouncer();
if (program === undefined) {
  process.stderr.write('PgBouncer is not installed. On Debian: apt-get install pgbouncer\n');
  process.exit(2);
}
/** Fewer connections to the server than clients have, so that transactions of one client use several. */
const poolSize = 4;
const ledgersAtOnce = 4;
const callsEach = 500;
const limit = 1_200;

const folder = mkdtempSync(join(tmpdir(), 'quittance-pgbouncer-bench-'));
const server = await PgServer.create({
  settings: ['fsync = off', 'synchronous_commit = off', 'max_connections = 200'],
});
const pooler = await startPgBouncer(program, server.url, poolSize);
const sealKey = Buffer.alloc(32);
let opened = 0;
const rows: string[][] = [];
const figures: Record<string, number> = {};
try {
  if (!process.argv.includes('--calls')) await runContract();
  await runCalls();
} finally {
  await pooler.close();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
printTable(['through PgBouncer', 'expected', 'found'], rows);
process.stdout.write(`${JSON.stringify({ bench: 'pgbouncer', node: process.version, ...figures })}\n`);
if (rows.some(([, expected, found]) => expected !== found)) process.exitCode = 1;

async function runContract(): Promise<void> {
  const schemas = new WeakMap<OpenLedger, string>();
  const checks = ledgerContract({
    async open({ clock }) {
      const schema = `pooled_${opened++}`;
      const ledger = await open(schema, { clock });
      schemas.set(ledger, schema);
      return ledger;
    },
    openAnother: (ledger, { clock }) => open(schemas.get(ledger) ?? '', { clock }),
  });
  const progress = createProgress('contract', checks.length);
  let failed = 0;
  for (const { member, name, run } of checks) {
    try {
      await run();
    } catch (error) {
      failed++;
      console.error(`${member}: ${name}`, error);
    }
    progress.step();
  }
  progress.done();
  add('checks of the contract that failed', 0, failed);
  figures['contract_checks'] = checks.length;
}

function open(schema: string, options: Parameters<typeof openLedger>[1] = {}): Promise<OpenLedger> {
  return openLedger(pooler.url, {
    listen: false,
    schema,
    sealKey,
    spillFolder: join(folder, schema),
    ...options,
  });
}

/** Several ledgers share a limit and keys; each call has a number of its own. */
async function runCalls(): Promise<void> {
  const ran: string[] = [];
  const ledgers = await Promise.all(Array.from({ length: ledgersAtOnce }, () => open('calls')));
  const runtimes = ledgers.map((ledger) =>
    createRuntime({
      ledger,
      tools: [
        defineTool({
          name: 'send_mail',
          mode: 'external',
          loopLimit: 1e9,
          input: { type: 'object' } as const,
          idempotencyKey: (input: unknown) => JSON.stringify(input),
          idempotencyScope: 'ledger',
          run: (input: unknown) => void ran.push(JSON.stringify(input)),
        }),
      ],
      budgets: [{ scope: 'all', toolCalls: limit }],
    }),
  );
  const turns = runtimes.map((runtime, n) => runtime.turn({ sessionId: `s${n}` }));
  await Promise.all(
    turns.flatMap((turn, process) =>
      Array.from({ length: callsEach }, (_, n) =>
        turn.call({ id: `c${n}`, name: 'send_mail', arguments: { n, group: process % 2 } }),
      ),
    ),
  );
  add('effects that happened', Math.min(limit, (ledgersAtOnce / 2) * callsEach), ran.length);
  add('effects that happened twice', 0, ran.length - new Set(ran).size);
  let findings = 0;
  const [first] = ledgers;
  const signal = new AbortController().signal;
  if (first !== undefined)
    await verifyLedger(first, undefined, { signal, startProgress: createProgress }, async (finding) => {
      if (findings++ < 5) console.error(finding);
    });
  add('findings of verify', 0, findings);
  for (const runtime of runtimes) await runtime.close();
  for (const ledger of ledgers) await ledger.close();
}

function add(name: string, expected: number, found: number): void {
  rows.push([name, String(expected), String(found)]);
  figures[name.replaceAll(' ', '_')] = found;
}
