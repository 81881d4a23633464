/** Can the server do its work? Anyone may ask, so the answer gives no details. */
import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readiness } from './api/health.ts';
import type { Service } from './service.ts';

type Check = Readiness['checks'][number];

/** With less free space, the server is not ready: only a few more calls could be stored. */
const leastFreeBytes = 1_048_576;

export async function readReadiness({ ledger, ledgerPath, closing, draining }: Service): Promise<Readiness> {
  const checks: Check[] = [
    await toCheck('ledger', 'The ledger cannot be read.', async () => {
      await ledger.entries.lastPosition();
      return true;
    }),
    ...(ledgerPath === undefined
      ? []
      : [
          await toCheck('disk', 'The ledger cannot be written: its file is gone, or the disk is full.', () =>
            canGrow(ledgerPath),
          ),
        ]),
    await toCheck(
      'spill',
      'No call starts, because a result could not be kept if the ledger fails. The disk is full, or the spill folder cannot be written.',
      async () => (await ledger.spill.canWrite()) !== false,
    ),
    await toCheck('serving', 'The server is stopping: it finishes what it has and takes no new work.', () =>
      Promise.resolve(!closing.aborted && !draining.aborted),
    ),
  ];
  return { status: checks.every(({ ok }) => ok) ? 'ready' : 'not_ready', checks };
}

/** The folder must be writable too: it holds the log, the read tables and the tokens. */
async function canGrow(path: string): Promise<boolean> {
  await Promise.all([access(path, constants.W_OK), access(dirname(path), constants.W_OK)]);
  const { bavail, bsize } = await statfs(dirname(path));
  return bavail * bsize >= leastFreeBytes;
}

async function toCheck(name: string, detail: string, isFine: () => Promise<boolean>): Promise<Check> {
  const ok = await isFine().catch(() => false);
  return { name, ok, detail: ok ? undefined : detail };
}
