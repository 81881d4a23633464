import type { JsonObject } from '../../base/json.ts';
import type { CallStatus } from '../../call/call.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { CallQuery } from '../../ledger/call-query.ts';
import type { ToolMode } from '../../tool/mode.ts';
import type { CallAnswer, CallDetail, CallFacets, CallPage, FacetCount, NewCall } from '../api/call.ts';
import { askCall, longestWaitMs, mostReclaimed, requestIdLimits } from '../ask-call.ts';
import {
  callAnswerShape,
  callDetailShape,
  callStatusShape,
  callSummaryShape,
  modeShape,
  outcomeTypeShape,
  principalShape,
  provenanceShape,
} from '../call-shapes.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Fields, Shape } from '../shape.ts';
import {
  anyObject,
  choice,
  flag,
  idText,
  integer,
  list,
  maybe,
  moment,
  nameText,
  object,
  oneOf,
  text,
} from '../shape.ts';
import type { PageQuery } from './page-fields.ts';
import { pageFields, spanFields } from './page-fields.ts';

type Filters = {
  readonly sessionId?: string;
  readonly toolName?: string;
  readonly mode?: ToolMode;
  readonly status?: CallStatus;
  readonly outcome?: ToolOutcome['type'];
  readonly code?: string;
  readonly principal?: string;
  readonly unresolved?: boolean;
  readonly since?: number;
  readonly until?: number;
  readonly search?: string;
};

const filterFields: Fields<Filters> = {
  sessionId: maybe(text()),
  toolName: maybe(text()),
  mode: maybe(modeShape),
  status: maybe(callStatusShape),
  outcome: maybe(outcomeTypeShape),
  code: maybe(text()),
  principal: maybe(text({ description: 'The id of the user on whose behalf.' })),
  unresolved: maybe(flag()),
  ...spanFields,
  search: maybe(
    text({ maxLength: 200, description: 'Found in call id, session id, tool, code or message.' }),
  ),
};

const toQuery = ({ principal, search, ...filters }: Filters): CallQuery => ({
  ...filters,
  userId: principal,
  text: search === '' ? undefined : search,
});

const callPageShape: Shape<CallPage> = object<CallPage>(
  { rows: list(callSummaryShape), next: maybe(text()), searchedTo: maybe(moment()) },
  'CallPage',
);

const facetShape: Shape<readonly FacetCount[]> = list(
  object<FacetCount>({ value: text(), count: integer() }, 'FacetCount'),
);

const facetsShape: Shape<CallFacets> = object<CallFacets>(
  {
    total: integer(),
    exact: flag(),
    cap: maybe(integer()),
    capOf: maybe(choice({ counted: true, looked_at: true })),
    outcome: facetShape,
    status: facetShape,
    mode: facetShape,
    toolName: facetShape,
    code: facetShape,
  },
  'CallFacets',
);

const newCallShape: Shape<NewCall> = object<NewCall>(
  {
    sessionId: idText(),
    turnId: maybe(text({ minLength: 1, maxLength: 1_000 })),
    call: object<NewCall['call']>({
      id: idText(),
      name: text({ minLength: 1, maxLength: 1_000 }),
      arguments: oneOf<JsonObject | string>([anyObject(), text()]),
    }),
    principal: maybe(principalShape),
    provenance: maybe(provenanceShape),
    attrs: maybe(anyObject()),
    waitMs: maybe(integer({ minimum: 0, maximum: longestWaitMs })),
    worker: maybe(nameText(100)),
    leaseMs: maybe(integer({ minimum: 1 })),
    requestId: maybe(text(requestIdLimits)),
    reclaim: maybe(list(text(requestIdLimits), { maxItems: mostReclaimed })),
  },
  'NewCall',
);

export const callRoutes: readonly Route[] = [
  defineRoute<'/v1/calls', Filters & PageQuery, undefined, CallPage>({
    method: 'GET',
    path: '/v1/calls',
    access: 'viewer',
    summary: 'Lists calls, newest first.',
    query: { ...filterFields, ...pageFields },
    answer: callPageShape,
    handle({ service, query: { limit = 50, cursor, ...filters }, ...asked }) {
      const query = { ...toQuery(filters), limit, cursor };
      return service.reader.answer('calls', query, asked, { costOf: costOfList(filters, limit) });
    },
  }),
  defineRoute<'/v1/calls/facets', Filters, undefined, CallFacets>({
    method: 'GET',
    path: '/v1/calls/facets',
    access: 'viewer',
    summary: 'Counts calls of each kind under the same filters as the list.',
    query: filterFields,
    answer: facetsShape,
    handle: ({ service, query, ...asked }) =>
      service.reader.answer('facets', toQuery(query), asked, { isRemembered: true }),
  }),
  defineRoute<'/v1/calls', object, NewCall, CallAnswer>({
    method: 'POST',
    path: '/v1/calls',
    access: 'operator',
    summary: 'Asks for a call: it is allowed and handed over, denied, held, being made, or settled.',
    body: newCallShape,
    answer: callAnswerShape,
    size: 'judged',
    handle: ({ service, actor, body, signal }) => askCall(service, actor, body, signal),
  }),
  defineRoute<'/v1/sessions/{sessionId}/calls/{callId}', object, undefined, CallDetail>({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/calls/{callId}',
    access: 'viewer',
    summary: 'Shows one call with its events, audit records and trace.',
    answer: callDetailShape,
    handle: ({ service, params: { sessionId, callId }, ...asked }) =>
      service.reader.answer('call', { sessionId, callId, url: service.url() }, asked, { costOf: 1 }),
  }),
];

/** What a page costs here, in about milliseconds; undefined where no index finds its rows. */
function costOfList(filters: Filters, limit: number): number | undefined {
  const given = Object.entries(filters).flatMap(([name, value]) =>
    value === undefined || name === 'since' || name === 'until' ? [] : [name],
  );
  const isIndexed = given.length <= 1 && given.every((name) => indexed.has(name));
  return isIndexed && limit <= mostRowsHere ? 1 + limit / 50 : undefined;
}

const indexed: ReadonlySet<string> = new Set(['sessionId', 'toolName', 'principal', 'outcome']);
const mostRowsHere = 100;
