import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ledgerContract } from 'quittance/testing';
import { afterAll, describe, expect, test } from 'vitest';
import type { Ledger } from '../../ledger/ledger.ts';
import type { SqliteTuning } from './sqlite-ledger-options.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.each<[string, Partial<SqliteTuning>]>([
  ['an SQLite ledger', {}],
  ['an SQLite ledger that writes its index all the time', { longestTail: 3 }],
  ['an SQLite ledger with a writer thread and a short tail', { writerThread: 'always', longestTail: 3 }],
])('%s keeps the contract', (name, tuning) => {
  const paths = new Map<Ledger, string>();
  const checks = ledgerContract({
    async open(options) {
      const path = join(folder, `${name.length}-${paths.size}.db`);
      const ledger = await openSqliteLedger(path, { ...options, synchronous: 'normal' }, tuning);
      paths.set(ledger, path);
      return ledger;
    },
    openAnother: async (ledger, options) => openSqliteLedger(paths.get(ledger) as string, options, tuning),
  });
  for (const { port, name: sentence, run } of checks)
    test(`${port}: ${sentence}`, async () => {
      await expect(run()).resolves.toBeUndefined();
    });
});
