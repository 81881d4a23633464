import { useRef } from 'react';
import type { CallFacets, FacetCount } from '../../../../src/http/api/call.ts';
import type { Query } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';

export const facetNames = ['outcome', 'status', 'mode', 'toolName', 'code'] as const;
export type FacetName = (typeof facetNames)[number];

export type Facets = {
  readonly total: number | undefined;
  /** False where there may be more calls than `total`. */
  readonly isTotalExact: boolean;
  /** False where counting stopped early: then counts are at least so many. */
  readonly isExact: boolean;
  /** Where counting stopped, for each of the reasons there were. */
  readonly caps: Readonly<Partial<Record<NonNullable<CallFacets['capOf']>, number>>>;
  readonly values: Readonly<Record<FacetName, readonly FacetCount[] | undefined>>;
};

/** All calls are counted from counters that are kept; under filters the server has to look, and looks less often. */
const everyMs = (query: Query): number =>
  Object.values(query).every((value) => value === undefined) ? 5_000 : 15_000;

/**
 * Counts under the filters there are. A facet with a choice made is counted without that choice, so that the other
 * choices stay there to be made.
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
  // Until it is counted anew, what was counted last stays: a panel that goes and comes back is hard to click on.
  const last = useRef(now);
  if (now !== undefined) last.current = now;
  return now ?? last.current;
}
