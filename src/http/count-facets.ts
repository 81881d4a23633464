/** Counts calls by kind. Without filters it reads stored counts; with filters it counts calls up to a cap. */
import type { BoundedReads } from './bounded-reads.ts';
import type { CallQuery, CallSummary } from '../ledger/call-query.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { CallFacets, FacetCount } from './api/call.ts';

const names = ['outcome', 'status', 'mode', 'toolName', 'code'] as const;
type Facet = (typeof names)[number];

/** `looked_at`: rows to read if no index finds the matching ones. */
const caps = { counted: 3_000, looked_at: 30_000 } as const;
const mostValues = 50;

export async function countFacets(
  reads: Pick<BoundedReads, 'pause'> & { readonly ledger: Pick<Ledger, 'queries'> },
  query: CallQuery,
): Promise<CallFacets> {
  const { ledger } = reads;
  const counts = new Map<Facet, Map<string, number>>(names.map((name) => [name, new Map<string, number>()]));
  const add = (name: Facet, value: string | undefined, calls: number): void => {
    if (value === undefined || value === '') return;
    const values = counts.get(name);
    values?.set(value, (values.get(value) ?? 0) + calls);
  };
  const isWhole = Object.values(query).every((value) => value === undefined);
  let total = 0;
  let capOf: CallFacets['capOf'];
  if (isWhole)
    for (const tally of await ledger.queries.tallyCalls({ by: names })) {
      total += tally.calls;
      for (const name of names) add(name, tally[name], tally.calls);
    }
  else
    for await (const page of pagesOf(reads, query)) {
      ({ capOf } = page);
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
    exact: capOf === undefined,
    cap: capOf && caps[capOf],
    capOf,
    outcome: toList('outcome'),
    status: toList('status'),
    mode: toList('mode'),
    toolName: toList('toolName'),
    code: toList('code'),
  };
}

type CountedPage = {
  readonly rows: readonly CallSummary[];
  /** Why counting stopped before the end. */
  readonly capOf: CallFacets['capOf'];
};

async function* pagesOf(
  reads: Pick<BoundedReads, 'pause'> & { readonly ledger: Pick<Ledger, 'queries'> },
  query: CallQuery,
): AsyncGenerator<CountedPage, void, undefined> {
  let cursor: string | undefined;
  let counted = 0;
  let lookedAt = 0;
  for (;;) {
    const { rows, next } = await reads.ledger.queries.findCalls({
      ...query,
      limit: rowsAtOnce,
      cursor,
      scan: scanAtOnce,
    });
    counted += rows.length;
    lookedAt += rows.length < rowsAtOnce ? scanAtOnce : rowsAtOnce;
    const reached =
      counted >= caps.counted ? 'counted' : lookedAt >= caps.looked_at ? 'looked_at' : undefined;
    const capOf = next === undefined ? undefined : reached;
    yield { rows, capOf };
    if (next === undefined || capOf !== undefined) return;
    cursor = next;
    await reads.pause();
  }
}

const scanAtOnce = 10_000;
const rowsAtOnce = 500;
