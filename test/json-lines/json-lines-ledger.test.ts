import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import { systemClock } from '../../packages/quittance/src/base/deadlines.ts';
import type { OpenLedger } from '../../packages/quittance/src/ledger/ledger.ts';
import { readHeads, readSideRows } from '../../packages/quittance/src/ledger/reads.ts';
import { ledgerContract } from '../../packages/quittance/src/testing/ledger-contract.ts';
import { eventually } from '../eventually.ts';
import { openJsonLinesLedger } from './json-lines-ledger.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-json-lines-'));
const sealKey = randomBytes(32);
let opened = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a store written against the port alone keeps the contract', () => {
  const checks = ledgerContract({
    open: ({ clock }) => openJsonLinesLedger(join(folder, `${opened++}.jsonl`), clock, sealKey),
  });
  test.each(checks.map(({ member, name, run }) => [`${member}: ${name}`, run] as const))(
    '%s',
    async (_, run) => {
      await expect(run()).resolves.toBeUndefined();
    },
  );
});

async function stateOf(ledger: OpenLedger): Promise<readonly unknown[]> {
  const rows: unknown[] = [...(await readHeads(ledger))];
  for await (const row of readSideRows(ledger)) rows.push(row);
  return rows;
}

test('a call that waits in a file of JSON lines is approved after the file is opened again, and runs once', async () => {
  const path = join(folder, 'again.jsonl');
  const ran: unknown[] = [];
  const open = () => {
    const ledger = openJsonLinesLedger(path, systemClock, sealKey);
    const refund = defineTool({
      name: 'refund',
      mode: 'external',
      input: { type: 'object' },
      run: (input) => {
        ran.push(input);
        return { refunded: true };
      },
    });
    return { ledger, runtime: createRuntime({ ledger, tools: [refund], treatments: { external: 'ask' } }) };
  };
  const first = open();
  const waiting = first.runtime
    .turn({ sessionId: 'ticket-42' })
    .call({ id: 'call_refund', name: 'refund', arguments: { cents: 500 } });
  waiting.catch(() => undefined); // the process ends before the decision
  const [asked] = await eventually(async () => {
    const { rows } = await first.runtime.confirmations.list({ status: 'pending' });
    expect(rows).toHaveLength(1);
    return rows;
  });
  await first.ledger.close();

  const second = open();
  const { confirmationId = '', inputDigest = '' } = asked ?? {};
  await second.runtime.confirmations.decide(confirmationId, {
    decision: 'approve',
    by: 'Ada',
    inputDigest,
  });
  const again = { id: 'call_refund', name: 'refund', arguments: { cents: 500 } };
  expect(await second.runtime.turn({ sessionId: 'ticket-42' }).call(again)).toMatchObject({
    type: 'ToolExecutionResult',
  });
  expect(ran).toEqual([{ cents: 500 }]);
  await second.runtime.close();
  const before = await stateOf(second.ledger);
  await second.ledger.close();

  const third = openJsonLinesLedger(path, systemClock, sealKey);
  expect(await stateOf(third)).toEqual(before);
  await third.close();
});
