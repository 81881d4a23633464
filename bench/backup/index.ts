/**
 * Takes backups while a process makes 200 calls a second, restores each elsewhere, and verifies it with the anchor of its
 * moment.
 *
 *   npm run backup:load -- [--rounds 5] [--ledger sqlite|postgres] [--postgres postgres://…]
 *
 * With `--ledger postgres` it starts a server of its own, and restores into other schemas of it. Each round prints the calls that ended during the backup, its size, and how long it and the restore took. The last line is
 * JSON. The exit code is 1 if a backup did not verify, or if the writer did not keep its pace.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readFileSync } from 'node:fs';
import { backupLedger } from '../../packages/cli/src/ledgers/backup-ledger.ts';
import { restoreLedger } from '../../packages/cli/src/ledgers/restore-ledger.ts';
import { openLedger } from '../../packages/quittance/src/store/open-ledger.ts';
import { parseAnchor } from '../../packages/quittance/src/ledger/anchor.ts';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { PgServer } from '../../test/postgres/pg-server.ts';
import { schemaUrl } from '../crash/ledgers.ts';
import { printTable } from '../table.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    ledger: { type: 'string', default: 'sqlite' },
    postgres: { type: 'string' },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'quittance-backup-load-'));
const server = values.ledger === 'postgres' ? await PgServer.create() : undefined;
const url =
  values.postgres ?? (server === undefined ? join(folder, 'ledger.db') : schemaUrl(server.url, 'source'));
process.env['QUITTANCE_SEAL_KEY'] = '07'.repeat(32);
const writer = spawn(
  process.execPath,
  ['--conditions=quittance-source', join(import.meta.dirname, '../../test/operations/busy-writer.ts'), url],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
let latest = { ended: 0, seconds: 0 };
createInterface(writer.stdout).on('line', (line) => {
  latest = JSON.parse(line) as typeof latest;
});
while (latest.ended < 400) await sleep(100);

const work = {
  signal: new AbortController().signal,
  startProgress: () => ({ step: () => undefined, done: () => undefined }),
};
const rows: string[][] = [];
let failed = 0;
const start = latest;
for (let round = 1; round <= Number(values.rounds); round++) {
  const [before, begunAt] = [latest, performance.now()];
  const backup = await backupLedger(url, join(folder, `b${round}`), {
    ...work,
    version: 'bench',
    withSealKey: false,
    verify: true,
  });
  const backupMs = performance.now() - begunAt;
  const target =
    server === undefined ? join(folder, `r${round}.db`) : schemaUrl(server.url, `restored-${round}`);
  const { ended } = await restoreLedger(backup.folder, target, {
    ...work,
    sealKey: Buffer.from('07'.repeat(32), 'hex'),
    withoutKey: false,
    tokens: false,
  });
  const restoreMs = performance.now() - begunAt - backupMs;
  const ledger = await openLedger(target, { readOnly: true });
  const anchor = parseAnchor(readFileSync(join(backup.folder, 'anchor.json'), 'utf8'));
  const { problems } = await verifyLedger(ledger, anchor, work, () => Promise.resolve());
  await ledger.close();
  failed += problems;
  rows.push([
    String(round),
    String(backup.entries),
    String(latest.ended - before.ended),
    (backupMs / 1_000).toFixed(1),
    (restoreMs / 1_000).toFixed(1),
    String(ended.length),
    problems === 0 ? 'yes' : `no: ${problems}`,
  ]);
}
const perSecond = (latest.ended - start.ended) / (latest.seconds - start.seconds);
const stopped = once(writer, 'exit');
writer.kill('SIGKILL');
await stopped;
await server?.remove();
rmSync(folder, { recursive: true, force: true });
printTable(
  ['round', 'entries', 'calls meanwhile', 'backup s', 'restore s', 'open calls ended', 'matches its anchor'],
  rows,
);
console.log(
  JSON.stringify({
    ledger: values.postgres === undefined ? values.ledger : 'postgres',
    rounds: rows.length,
    callsPerSecond: Math.round(perSecond),
    problems: failed,
  }),
);
// Held calls do not end, so slightly fewer than 200 calls a second end.
process.exitCode = failed === 0 && perSecond > 180 ? 0 : 1;
