/** How many calls there are of each kind: all of them from counts that are kept; under filters by counting, up to so many. */
import type { CallQuery, CallSummary } from '../ledger/call-query.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { CallFacets, FacetCount } from './api/call.ts';

const names = ['outcome', 'status', 'mode', 'toolName', 'code'] as const;
type Facet = (typeof names)[number];

const mostCounted = 3_000;
/** Rows to look at for them, where no index finds them. */
const mostScanned = 30_000;
const mostValues = 50;

export async function countFacets(ledger: Ledger, query: CallQuery): Promise<CallFacets> {
  const counts = new Map<Facet, Map<string, number>>(names.map((name) => [name, new Map<string, number>()]));
  const add = (name: Facet, value: string | undefined, calls: number): void => {
    if (value === undefined || value === '') return;
    const values = counts.get(name);
    values?.set(value, (values.get(value) ?? 0) + calls);
  };
  const isWhole = Object.values(query).every((value) => value === undefined);
  let total = 0;
  let exact = true;
  if (isWhole)
    for (const tally of await ledger.tallyCalls({ by: names })) {
      total += tally.calls;
      for (const name of names) add(name, tally[name], tally.calls);
    }
  else
    for await (const page of pagesOf(ledger, query)) {
      exact = page.isLast;
      total += page.rows.length;
      for (const row of page.rows) for (const name of names) add(name, row[name], 1);
    }
  const toList = (name: Facet): readonly FacetCount[] =>
    [...(counts.get(name) ?? [])]
      .map(([value, count]) => ({ value, count }))
      .toSorted((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
      .slice(0, mostValues);
  return {
    total,
    exact,
    cap: exact ? undefined : mostCounted,
    outcome: toList('outcome'),
    status: toList('status'),
    mode: toList('mode'),
    toolName: toList('toolName'),
    code: toList('code'),
  };
}

async function* pagesOf(
  ledger: Ledger,
  query: CallQuery,
): AsyncGenerator<{ readonly rows: readonly CallSummary[]; readonly isLast: boolean }, void, undefined> {
  let cursor: string | undefined;
  let scanned = 0;
  for (let seen = 0; ;) {
    const page = await ledger.queryCalls({ ...query, limit: rowsAtOnce, cursor, scan: scanAtOnce });
    seen += page.rows.length;
    scanned += page.rows.length < rowsAtOnce ? scanAtOnce : rowsAtOnce;
    cursor = page.next;
    yield { rows: page.rows, isLast: cursor === undefined };
    if (cursor === undefined || seen >= mostCounted || scanned >= mostScanned) return;
    await new Promise(setImmediate);
  }
}

const scanAtOnce = 10_000;
const rowsAtOnce = 500;
