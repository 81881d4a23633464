import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readExport } from '../ledger/ledger-export.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import { createVerifier } from '../ledger/verify.ts';
import { createMemoryLedger } from '../store/memory/memory-ledger.ts';
import { openSqliteLedger } from '../store/sqlite/open-sqlite-ledger.ts';
import { SampleCall } from '../testing/sample-call.ts';
import { exportLedger } from './export-ledger.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';
import { readHeads } from '../ledger/reads.ts';

const never = new AbortController().signal;
const by = { by: 'ada', reason: 'asked to' };

/** The problems that a reader finds, and the numbers of sessions and entries. */
async function check(text: string): Promise<{ problems: number; sessions: number; entries: number }> {
  const { manifest, entries } = await readExport(text.split('\n'));
  const verifier = createVerifier({ heads: manifest.heads });
  let problems = 0;
  let count = 0;
  for await (const entry of entries) {
    count++;
    problems += verifier.add(entry).length;
  }
  problems += verifier.end().length;
  return { problems, sessions: manifest.heads.length, entries: count };
}

/** A complete export, with an action in the middle: once after the heads, once after some entries. */
async function write(ledger: OpenLedger, meanwhile: () => Promise<unknown>, signal = never): Promise<string> {
  const { text } = await exportLedger(ledger, { toolVersion: '1', signal });
  let all = '';
  for await (const piece of text) {
    all += piece;
    if (piece === ']}\n' || piece.includes('"sequence":2,')) await meanwhile();
  }
  return all;
}

describe.each([
  ['memory', () => Promise.resolve(createMemoryLedger())],
  ['SQLite', (path: string) => openSqliteLedger(path, { synchronous: 'normal' })],
] as const)('an export of a %s ledger', (_, open) => {
  let ledger: OpenLedger;
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quittance-export-'));
    ledger = await open(join(folder, 'ledger.db'));
  });
  afterEach(async () => {
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const fill = async (sessions: number, calls = 1): Promise<void> => {
    for (let call = 0; call < calls; call++)
      await Promise.all(
        Array.from({ length: sessions }, async (_value, n) =>
          ledger.append(new SampleCall(`c${call}`, { sessionId: `s${n}` }).whole()),
        ),
      );
  };

  test('verifies although calls arrive in old and new sessions meanwhile', async () => {
    await fill(60, 3);
    let arrived = 0;
    const text = await write(ledger, async () => {
      for (const sessionId of [`s${arrived % 60}`, `new ${arrived}`])
        await ledger.append(new SampleCall(`late${arrived++}`, { sessionId }).whole());
    });
    expect(arrived).toBeGreaterThan(60);
    expect(await check(text)).toEqual({ problems: 0, sessions: 60, entries: 180 });
    expect(await check(await write(ledger, () => Promise.resolve()))).toMatchObject({ problems: 0 });
  });

  test('of an empty ledger, and of one session, also verifies', async () => {
    const nothing = (): Promise<void> => Promise.resolve();
    expect(await check(await write(ledger, nothing))).toEqual({ problems: 0, sessions: 0, entries: 0 });
    await fill(3, 2);
    const sessions = await readHeads(ledger, 's1');
    await ledger.append(new SampleCall('later', { sessionId: 's1' }).whole());
    const { text } = await exportLedger(ledger, { sessions, toolVersion: '1', signal: never });
    let all = '';
    for await (const piece of text) all += piece;
    expect(await check(all)).toEqual({ problems: 0, sessions: 1, entries: 2 });
  });

  test.each([
    ['erased', () => ledger.erase({ sessionId: 's1', ...by })],
    ['removed', () => ledger.dropSession({ sessionId: 's1', ...by })],
  ] as const)('does not complete if something is %s meanwhile', async (_what, change) => {
    await fill(3, 3);
    let isDone = false;
    await expect(
      write(ledger, async () => {
        if (!isDone) await change();
        isDone = true;
      }),
    ).rejects.toThrow('Export the ledger again');
    expect(await check(await write(ledger, () => Promise.resolve()))).toMatchObject({ problems: 0 });
  });

  test('does not complete if it is stopped', async () => {
    await fill(3, 3);
    const stop = new AbortController();
    await expect(
      write(
        ledger,
        () => {
          stop.abort();
          return Promise.resolve();
        },
        stop.signal,
      ),
    ).rejects.toThrow('stopped before its end');
  });

  test('holds one page at a time, for any number of sessions', async () => {
    await fill(2_100);
    const most = { heads: 0, entries: 0, piece: 0 };
    const watched = alterLedger(ledger, {
      rows: {
        heads: async (query) => {
          const heads = await ledger.query('heads', query);
          most.heads = Math.max(most.heads, heads.rows.length);
          return heads;
        },
      },
      readEntries: async (query) => {
        const entries = await ledger.readEntries(query);
        most.entries = Math.max(most.entries, entries.length);
        return entries;
      },
    });
    const { text, ...totals } = await exportLedger(watched, { toolVersion: '1', signal: never });
    expect(totals).toEqual({ sessions: 2_100, entries: 2_100 });
    let all = '';
    for await (const piece of text) {
      most.piece = Math.max(most.piece, piece.length);
      all += piece;
    }
    expect(most.heads).toBeLessThanOrEqual(500);
    expect(most.entries).toBeLessThanOrEqual(500);
    expect(most.piece).toBeLessThan(100_000);
    expect(await check(all)).toEqual({ problems: 0, sessions: 2_100, entries: 2_100 });
  });
});
