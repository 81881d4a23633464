import { useRef } from 'react';
import type { CallFacets, FacetCount } from '@quittance/server/internal/http/api/call';
import type { Query } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';

export const facetNames = ['outcome', 'status', 'mode', 'toolName', 'code'] as const;
export type FacetName = (typeof facetNames)[number];

export type Facets = {
  readonly total: number | undefined;
  /** False if there may be more calls than `total`. */
  readonly isTotalExact: boolean;
  /** False if counting stopped early: the counts are then lower bounds. */
  readonly isExact: boolean;
  /** The count at which counting stopped, by reason. */
  readonly caps: Readonly<Partial<Record<NonNullable<CallFacets['capOf']>, number>>>;
  readonly values: Readonly<Record<FacetName, readonly FacetCount[] | undefined>>;
};

/** Counters answer an unfiltered request cheaply. A filtered one makes the server scan, so it is polled less often. */
const everyMs = (query: Query): number =>
  Object.values(query).every((value) => value === undefined) ? 5_000 : 15_000;

/**
 * Counts for the current filters. A facet with a selected value is counted without it, so that the other values stay
 * available.
 */
export function useFacets(query: Query): Facets {
  const all = useAnswer<CallFacets>('/v1/calls/facets', query, { everyMs: everyMs(query) });
  const outcome = useFacet('outcome', query, all.data);
  const status = useFacet('status', query, all.data);
  const mode = useFacet('mode', query, all.data);
  const toolName = useFacet('toolName', query, all.data);
  const code = useFacet('code', query, all.data);
  const answers = [all.data, outcome, status, mode, toolName, code];
  return {
    total: all.data?.total,
    isTotalExact: all.data?.exact ?? true,
    isExact: answers.every((each) => each?.exact ?? true),
    caps: Object.fromEntries(
      answers.flatMap((each) => (each?.capOf === undefined ? [] : [[each.capOf, each.cap]])),
    ),
    values: {
      outcome: outcome?.outcome,
      status: status?.status,
      mode: mode?.mode,
      toolName: toolName?.toolName,
      code: code?.code,
    },
  };
}

function useFacet(name: FacetName, query: Query, all: CallFacets | undefined): CallFacets | undefined {
  const isChosen = query[name] !== undefined;
  const path = isChosen ? '/v1/calls/facets' : undefined;
  const without = useAnswer<CallFacets>(path, { ...query, [name]: undefined }, { everyMs: everyMs(query) });
  const now = isChosen ? without.data : all;
  // The previous counts stay until new ones arrive: a panel that disappears is hard to click.
  const last = useRef(now);
  if (now !== undefined) last.current = now;
  return now ?? last.current;
}
