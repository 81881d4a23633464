import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ledgerContract } from 'quittance/testing';
import { afterAll, describe, expect, test } from 'vitest';
import type { OpenLedger } from '../../ledger/ledger.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('an SQLite ledger keeps the contract', () => {
  const paths = new Map<OpenLedger, string>();
  const checks = ledgerContract({
    async open(options) {
      const path = join(folder, `${paths.size}.db`);
      const ledger = await openSqliteLedger(path, { ...options, synchronous: 'normal' });
      paths.set(ledger, path);
      return ledger;
    },
    openAnother: async (ledger, options) => openSqliteLedger(paths.get(ledger) as string, options),
  });
  for (const { member, name: sentence, run } of checks)
    test(`${member}: ${sentence}`, async () => {
      await expect(run()).resolves.toBeUndefined();
    });
});
