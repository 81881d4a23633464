import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OpenLedger } from '../../packages/quittance/src/ledger/ledger.ts';
import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';
import { ledgerContract } from '../../packages/quittance/src/testing/ledger-contract.ts';
import type { TestPostgres } from './start-postgres.ts';
import { sharePostgres } from './shared-postgres.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-contract-'));
const sealKey = randomBytes(32);
const schemas = new WeakMap<OpenLedger, string>();
let server: TestPostgres;

beforeAll(async () => {
  server = await sharePostgres();
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

let opened = 0;
const checks = ledgerContract({
  async open({ clock }) {
    const schema = `contract_${process.pid}_${opened++}`;
    const ledger = await openPostgresLedger(server.url, {
      clock,
      schema,
      sealKey,
      spillFolder: join(folder, schema),
    });
    schemas.set(ledger, schema);
    return ledger;
  },
  async openAnother(ledger, { clock }) {
    const schema = schemas.get(ledger) ?? '';
    return openPostgresLedger(server.url, { clock, schema, sealKey, spillFolder: join(folder, schema) });
  },
});

describe('a PostgreSQL ledger keeps the contract', () => {
  for (const { member, name, run } of checks)
    test(`${member}: ${name}`, async () => {
      await expect(run()).resolves.toBeUndefined();
    });
});
