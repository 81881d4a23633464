import { describe, expect, test } from 'vitest';
import type { CallQuery, CallSummary, Page } from 'quittance/internal/ledger/call-query';
import { countFacets } from './count-facets.ts';
import { SearchPace } from './search-pace.ts';
import { createMemoryLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { alterLedger } from '../../../../test/alter-ledger.ts';

const row = {
  outcome: 'ToolExecutionResult',
  status: 'settled',
  mode: 'read',
  toolName: 'get',
} as CallSummary; // the only fields that are counted

/** Lists `fitting` calls, `found` of them at a time. */
function listing(fitting: number, found: number): { asked: number; query: OpenLedger['query'] } {
  let left = fitting;
  // No other query is used with a filter.
  const ledger = alterLedger(createMemoryLedger(), {
    rows: {
      async calls({ limit = 50 }: CallQuery): Promise<Page<CallSummary>> {
        listed.asked++;
        const rows = Array.from({ length: Math.min(left, found, limit) }, () => row);
        left -= rows.length;
        return { rows, next: left > 0 ? `${left}` : undefined };
      },
    },
  });
  const query: OpenLedger['query'] = (name, asked) => ledger.query(name, asked);
  const listed = { asked: 0, query };
  return listed;
}

const reading = <Ledger>(ledger: Ledger): { ledger: Ledger; pause: () => Promise<void> } => ({
  ledger,
  pause: () => Promise.resolve(),
});

const unhurried = (): SearchPace => new SearchPace(60, () => 0);

describe('counting under filters', () => {
  test('is exact if all matching calls were counted, even if their number equals the cap', async () => {
    expect(await countFacets(reading(listing(3_000, 500)), { userId: 'ada' }, unhurried())).toMatchObject({
      total: 3_000,
      exact: true,
      cap: undefined,
      capOf: undefined,
    });
  });

  test('says that the cap of counted calls was reached', async () => {
    expect(await countFacets(reading(listing(100_000, 500)), { userId: 'ada' }, unhurried())).toMatchObject({
      total: 3_000,
      exact: false,
      cap: 3_000,
      capOf: 'counted',
    });
  });

  test('says how many calls were read if few of them match and the time is over', async () => {
    const ledger = listing(100_000, 7);
    let nowMs = 0;
    // Every look at the clock is 10 ms later, so that a step takes longer than it should.
    const pace = new SearchPace(60, () => (nowMs += 10));
    expect(await countFacets(reading(ledger), { userId: 'ada' }, pace)).toMatchObject({
      total: 21,
      exact: false,
      cap: 1_000,
      capOf: 'looked_at',
    });
    expect(ledger.asked).toBe(3);
  });
});
