import { expect, test } from 'vitest';
import { openLedger } from '../open-ledger.ts';
import { SampleCall } from '../../testing/sample-call.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  appendManyCalls,
  boundedSearches,
  directSearches,
  mostExamined,
  searchAll,
  searchDirectly,
  searchSessions,
  wantedSessions,
} from '../../../../../test/bounded-search.ts';
import { findCalls } from '../../ledger/reads.ts';

test('a bounded search stops with a short page and continues from there, without a gap or a repeat', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-search-'));
  const ledger = await openLedger(join(folder, 'ledger.db'), { synchronous: 'normal' });
  try {
    const wanted: string[] = [];
    const appends: PromiseLike<unknown>[] = [];
    for (let n = 0; n < 5_000; n++) {
      const isWanted = n % 1_700 === 0;
      const callId = isWanted ? `needle-${n}` : `c${n}`;
      if (isWanted) wanted.push(callId);
      appends.push(
        Promise.resolve(
          ledger.append(
            new SampleCall(callId, {
              at: 1_700_000_000_000 + n,
              mode: isWanted ? 'read' : 'external',
            }).whole(),
          ),
        ),
      );
    }
    await Promise.all(appends);
    const found: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await findCalls(ledger, { mode: 'read', limit: 2, scan: 1_000, cursor });
      found.push(...page.rows.map(({ callId }) => callId));
      cursor = page.next;
      pages++;
    } while (cursor !== undefined);
    expect(found).toEqual(wanted.toReversed());
    expect(pages).toBeGreaterThan(3);
    // An index finds words, so that nothing else is read.
    const words = await findCalls(ledger, { text: 'needle', scan: 1 });
    expect(words.rows.map(({ callId }) => callId)).toEqual(wanted.toReversed());
    // The largest page has as many rows as one step of a search.
    for (const [limit, scan] of [
      [1_000, 4_000],
      [1_000, 1_000],
      [999, 4_000],
    ] as const) {
      const all = new Set<string>();
      do {
        const page = await findCalls(ledger, { limit, scan, cursor });
        for (const { callId } of page.rows) all.add(callId);
        cursor = page.next;
      } while (cursor !== undefined);
      expect([limit, scan, all.size]).toEqual([limit, scan, 5_000]);
    }
  } finally {
    await ledger.close();
    rmSync(folder, { recursive: true });
  }
});

test('a search that no index answers ends after as many rows as it may examine', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-search-'));
  const ledger = await openLedger(join(folder, 'ledger.db'), { synchronous: 'normal' });
  try {
    await appendManyCalls(ledger);
    for (const search of boundedSearches) {
      const { found, examinedPerPage } = await searchAll(ledger, search);
      const isBounded = examinedPerPage <= mostExamined;
      expect([search.name, found, isBounded]).toEqual([search.name, search.finds, true]);
    }
    const { found, examinedPerPage } = await searchSessions(ledger, 'needle');
    expect(found).toEqual(wantedSessions);
    expect(examinedPerPage).toBeLessThanOrEqual(mostExamined);
    for (const search of directSearches)
      expect([search.name, await searchDirectly(ledger, search)]).toEqual([
        search.name,
        { found: search.finds, emptyPages: 0 },
      ]);
    // Places before every call end a search.
    for (const cursor of ['0.0', '0.-5', '1.1'])
      expect(await findCalls(ledger, { text: 'common', cursor })).toEqual({
        rows: [],
        next: undefined,
      });
  } finally {
    await ledger.close();
    rmSync(folder, { recursive: true });
  }
});
