import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ledgerContract } from 'quittance/testing';
import { afterAll, describe, expect, test } from 'vitest';
import type { Ledger } from '../../ledger/ledger.ts';
import { openSqliteLedger } from './sqlite-ledger.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('an SQLite ledger keeps the contract', () => {
  const paths = new Map<Ledger, string>();
  let count = 0;
  const checks = ledgerContract({
    async open(options) {
      const path = join(folder, `ledger-${count++}.db`);
      const ledger = await openSqliteLedger(path, options);
      paths.set(ledger, path);
      return ledger;
    },
    openAnother: async (ledger, options) => openSqliteLedger(paths.get(ledger) as string, options),
  });
  for (const { name, run } of checks)
    test(name, async () => {
      await expect(run()).resolves.toBeUndefined();
    });
});
