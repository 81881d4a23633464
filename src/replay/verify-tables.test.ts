import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { afterAll, expect, test } from 'vitest';
import { makeEntries } from '../../test/make-ledger.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { openLedger } from '../store/open-ledger.ts';
import { verifyLedger } from './verify-ledger.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-tables-'));
afterAll(() => rmSync(folder, { recursive: true }));

const options = {
  signal: new AbortController().signal,
  startProgress: () => ({ step: () => undefined, done: () => undefined }),
};

async function makeWrong(name: string, sessions: number, callsEach: number): Promise<string> {
  const path = join(folder, name);
  const ledger = await openLedger(path);
  const plans = Array.from({ length: sessions * callsEach }, (_, index) => ({
    session: `session-${index % sessions}`,
    call: `call-${Math.floor(index / sessions)}`,
    story: 'read' as const,
  }));
  await Promise.all(makeEntries(plans).map(async (entry) => ledger.append(entry)));
  await ledger.queryCalls({ limit: 1 });
  await ledger.close();
  const tables = new BetterSqlite3(`${path}.read`);
  tables.exec(`
    UPDATE calls SET code = 'tool.timeout' WHERE position % 4 = 0;
    DELETE FROM calls WHERE position % 4 = 1;
    UPDATE sessions SET calls = calls + 7 WHERE session % 4 = 2;
    DELETE FROM sessions WHERE session % 8 = 3;
  `);
  tables.close();
  return path;
}

/** How many rows are read for the verdict, and how many problems are in it. */
async function verifyCounting(path: string): Promise<{ readonly rows: number; readonly problems: number }> {
  const ledger = await openLedger(path);
  let rows = 0;
  const counting: Ledger = Object.assign(Object.create(ledger) as Ledger, {
    async readHeads(sessionId?: string) {
      const heads = await ledger.readHeads(sessionId);
      rows += heads.length;
      return heads;
    },
    async queryCalls(query: Parameters<Ledger['queryCalls']>[0]) {
      const page = await ledger.queryCalls(query);
      rows += page.rows.length;
      return page;
    },
    async querySessions(query: Parameters<Ledger['querySessions']>[0]) {
      const page = await ledger.querySessions(query);
      rows += page.rows.length;
      return page;
    },
    async readCall(sessionId: string, callId: string) {
      rows++;
      return ledger.readCall(sessionId, callId);
    },
    readEntries: ledger.readEntries.bind(ledger),
    readBeside: ledger.readBeside.bind(ledger),
    now: ledger.now.bind(ledger),
  });
  try {
    const { problems } = await verifyLedger(counting, undefined, options, async () => undefined);
    return { rows, problems };
  } finally {
    await ledger.close();
  }
}

test('each problem takes a few rows more, however many sessions there are and however many are wrong', async () => {
  const path = await makeWrong('many.db', 2_000, 1);
  const { rows, problems } = await verifyCounting(path);
  expect(problems).toBeGreaterThan(2_000);
  expect(rows).toBeLessThan(20 * 2_000);
}, 60_000);

test('a wrong call of a long session is looked at again without going through the session', async () => {
  const path = await makeWrong('long.db', 1, 2_000);
  const { rows, problems } = await verifyCounting(path);
  // One in four says something else, one in four is not listed, and the session counts others.
  expect(problems).toBe(1_001);
  expect(rows).toBeLessThan(10 * 2_000);
}, 60_000);
