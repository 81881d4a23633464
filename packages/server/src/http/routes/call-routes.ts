import { readTraceparent } from 'quittance/internal/base/traceparent';
import type { CallQuery } from 'quittance/internal/ledger/call-query';
import { errorsAmong } from 'quittance/internal/ledger/call-query';
import type { CallFilters } from '../api/call.ts';
import { askCall } from '../ask-call.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';

const toQuery = ({ principal, search, errors, ...filters }: CallFilters): CallQuery => ({
  ...filters,
  // Both conditions count: `errors` with `outcome=ToolDenied` finds nothing.
  ...(errors === true && { outcome: errorsAmong(filters) }),
  userId: principal,
  text: search === '' ? undefined : search,
});

export const callRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/calls',
    access: 'viewer',
    summary: 'Lists calls, newest first.',
    query: 'CallListQuery',
    answer: 'CallPage',
    handle({ service, query: { limit = 50, cursor, ...filters }, ...asked }) {
      const query = { ...toQuery(filters), limit, cursor };
      return service.reader.answer('calls', query, asked, { costOf: costOfList(filters, limit) });
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/calls/facets',
    access: 'viewer',
    summary: 'Counts calls by outcome, status, mode, tool and code, with the filters of the list.',
    query: 'CallFilters',
    answer: 'CallFacets',
    handle: ({ service, query, ...asked }) =>
      service.reader.answer('facets', toQuery(query), asked, { isRemembered: true }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/calls',
    access: 'operator',
    summary: 'Requests a call. The answer is allow, deny, held, running or settled.',
    body: 'NewCall',
    answer: 'CallAnswer',
    size: 'judged',
    handle: ({ service, actor, body, signal, headers }) =>
      askCall(service, actor, body, { signal, traceparent: readTraceparent(headers.get('traceparent')) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/calls/{callId}',
    access: 'viewer',
    summary: 'Shows one call with its events, audit records and trace.',
    answer: 'CallDetail',
    handle: ({ service, params: { sessionId, callId }, ...asked }) =>
      service.reader.answer(
        'call',
        { sessionId, callId, url: service.url(), traceUrl: service.traceUrl },
        asked,
        { costOf: 1 },
      ),
  }),
];

/** About how many milliseconds a page takes on this thread; undefined if no index finds its rows. */
function costOfList(filters: CallFilters, limit: number): number | undefined {
  const given = Object.entries(filters).flatMap(([name, value]) =>
    value === undefined || name === 'since' || name === 'until' ? [] : [name],
  );
  const isIndexed = given.length <= 1 && given.every((name) => indexed.has(name));
  return isIndexed && limit <= mostRowsHere ? 1 + limit / 50 : undefined;
}

const indexed: ReadonlySet<string> = new Set([
  'sessionId',
  'toolName',
  'principal',
  'ruleId',
  'outcome',
  'errors',
]);
const mostRowsHere = 100;
