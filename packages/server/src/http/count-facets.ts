/** Counts calls by kind: exactly if an index finds them, otherwise up to a cap. */
import type { Awaitable } from 'quittance/internal/base/json';
import type { BoundedReads } from './bounded-reads.ts';
import type { CallQuery, CallSummary } from 'quittance/internal/ledger/call-query';
import { outcomesOf } from 'quittance/internal/ledger/call-query';
import type { CallTally } from 'quittance/internal/ledger/call-tally';
import { hourMs } from 'quittance/internal/ledger/call-tally';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { CallFacets, FacetCount } from './api/call.ts';
import { SearchPace } from './search-pace.ts';
import { findCalls } from 'quittance/internal/ledger/reads';
import { readCallCounts, readTallies } from 'quittance/internal/ledger/reads';

const names = ['outcome', 'status', 'mode', 'toolName', 'code'] as const;
type Facet = (typeof names)[number];

/** Matching calls that are counted if no index counts them. */
const mostCounted = 3_000;
/** After this time, counting stops if no index finds the matching calls. */
const longestCountMs = 30;
const rowsAtOnce = 500;
const mostValues = 50;

export async function countFacets(
  reads: Pick<BoundedReads, 'pause'> & { readonly ledger: Pick<OpenLedger, 'query'> },
  query: CallQuery,
  pace: SearchPace = new SearchPace(longestCountMs),
): Promise<CallFacets> {
  const { ledger } = reads;
  const counts = new Map<Facet, Map<string, number>>(names.map((name) => [name, new Map<string, number>()]));
  const add = (name: Facet, value: string | undefined, calls: number): void => {
    if (value === undefined || value === '') return;
    const values = counts.get(name);
    values?.set(value, (values.get(value) ?? 0) + calls);
  };
  let total = 0;
  let cap: Cap | undefined;
  if (isCounted(query))
    for (const counts of countedParts(ledger, query))
      for (const count of await counts()) {
        if (!isWanted(count, query)) continue;
        total += count.calls;
        for (const name of names) add(name, count[name], count.calls);
      }
  else
    for await (const page of pagesOf(reads, query, pace)) {
      ({ cap } = page);
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
    exact: cap === undefined,
    cap: cap?.most,
    capOf: cap?.of,
    outcome: toList('outcome'),
    status: toList('status'),
    mode: toList('mode'),
    toolName: toList('toolName'),
    code: toList('code'),
  };
}

/** Filters that counts can answer. */
const countedFilters: ReadonlySet<string> = new Set<keyof CallQuery>([
  'since',
  'until',
  'toolName',
  'ruleId',
  'mode',
  'status',
  'outcome',
  'code',
]);

const isCounted = (query: CallQuery): boolean =>
  Object.entries(query).every(([name, value]) => value === undefined || countedFilters.has(name));

type Counted = Readonly<Pick<CallTally, Facet | 'calls'>>;

/** Whole hours are read from stored counts. Calls of the hours before and after, and those of a rule, are counted. */
function* countedParts(
  ledger: Pick<OpenLedger, 'query'>,
  { since, until, toolName, ruleId }: CallQuery,
): Generator<() => Awaitable<readonly Counted[]>, void> {
  const stepMs = Number.MAX_SAFE_INTEGER;
  if (ruleId !== undefined) {
    yield () => readCallCounts(ledger, { since, until, toolName, ruleId, stepMs });
    return;
  }
  const first = since && Math.min(Math.ceil(since / hourMs) * hourMs, until ?? Infinity);
  const last = until && Math.max(Math.floor(until / hourMs) * hourMs, first ?? 0);
  if (since !== undefined && first !== since)
    yield () => readCallCounts(ledger, { since, until: first, toolName, stepMs });
  if (first === undefined || last === undefined || first < last)
    yield () => readTallies(ledger, { by: names, since: first, until: last, toolName });
  if (until !== undefined && last !== until)
    yield () => readCallCounts(ledger, { since: last, until, toolName, stepMs });
}

const isWanted = (tally: Counted, query: CallQuery): boolean => {
  const outcomes = outcomesOf(query);
  return (
    (outcomes === undefined || (tally.outcome !== '' && outcomes.includes(tally.outcome))) &&
    (query.mode === undefined || tally.mode === query.mode) &&
    (query.status === undefined || tally.status === query.status) &&
    (query.code === undefined || tally.code === query.code)
  );
};

/** Why counting stopped before the end. */
type Cap = { readonly of: NonNullable<CallFacets['capOf']>; readonly most: number };

type CountedPage = { readonly rows: readonly CallSummary[]; readonly cap: Cap | undefined };

async function* pagesOf(
  reads: Pick<BoundedReads, 'pause'> & { readonly ledger: Pick<OpenLedger, 'query'> },
  query: CallQuery,
  pace: SearchPace,
): AsyncGenerator<CountedPage, void, undefined> {
  let cursor: string | undefined;
  let counted = 0;
  let lookedAt = 0;
  for (;;) {
    const scan = pace.begin();
    const { rows, next } = await findCalls(reads.ledger, {
      ...query,
      limit: rowsAtOnce,
      cursor,
      scan,
    });
    counted += rows.length;
    lookedAt += rows.length < rowsAtOnce ? scan : rowsAtOnce;
    const hasTime = pace.end();
    const cap: Cap | undefined =
      next === undefined
        ? undefined
        : counted >= mostCounted
          ? { of: 'counted', most: mostCounted }
          : hasTime
            ? undefined
            : { of: 'looked_at', most: lookedAt };
    yield { rows, cap };
    if (next === undefined || cap !== undefined) return;
    cursor = next;
    await reads.pause();
  }
}
