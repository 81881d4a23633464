import { ledgerContract } from 'quittance/testing';
import { describe, expect, test } from 'vitest';
import { createMemoryLedger } from './memory-ledger.ts';

describe('a memory ledger keeps the contract', () => {
  for (const { member, name, run } of ledgerContract({ open: createMemoryLedger }))
    test(`${member}: ${name}`, async () => {
      await expect(run()).resolves.toBeUndefined();
    });
});
