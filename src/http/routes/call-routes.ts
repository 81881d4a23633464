import type { JsonObject } from '../../base/json.ts';
import type { CallStatus } from '../../call/call.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { CallQuery, CallSummary, Page } from '../../ledger/call-query.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { parseCursor } from '../../ledger/paging.ts';
import type { ToolMode } from '../../tool/mode.ts';
import type { CallAnswer, CallDetail, CallFacets, CallPage, FacetCount, NewCall } from '../api/call.ts';
import { askCall, longestWaitMs } from '../ask-call.ts';
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
import { countFacets } from '../count-facets.ts';
import { readCallDetail } from '../read-call-detail.ts';
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

/** What a search looks at, and for how long, before it answers; `next` goes on from there. */
const mostScanned = 16_000;
const scanAtOnce = 4_000;
const longestSearchMs = 40;

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
    async handle({ service, query: { limit = 50, cursor, ...filters } }) {
      const { rows, next } = await search(service.ledger, { ...toQuery(filters), limit, cursor });
      const isShort = next !== undefined && rows.length < limit;
      return { rows, next, searchedTo: isShort ? parseCursor(next)[0] : undefined };
    },
  }),
  defineRoute<'/v1/calls/facets', Filters, undefined, CallFacets>({
    method: 'GET',
    path: '/v1/calls/facets',
    access: 'viewer',
    summary: 'Counts calls of each kind under the same filters as the list.',
    query: filterFields,
    answer: facetsShape,
    handle: ({ service, query }) =>
      service.remembered.get(`facets ${JSON.stringify(query)}`, () =>
        countFacets(service.ledger, toQuery(query)),
      ),
  }),
  defineRoute<'/v1/calls', object, NewCall, CallAnswer>({
    method: 'POST',
    path: '/v1/calls',
    access: 'operator',
    summary: 'Asks for a call: it is allowed and handed over, denied, held, being made, or settled.',
    body: newCallShape,
    answer: callAnswerShape,
    handle: ({ service, actor, body, signal }) => askCall(service, actor, body, signal),
  }),
  defineRoute<'/v1/sessions/{sessionId}/calls/{callId}', object, undefined, CallDetail>({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/calls/{callId}',
    access: 'viewer',
    summary: 'Shows one call with its events, audit records and trace.',
    answer: callDetailShape,
    handle: ({ service, params }) =>
      readCallDetail(service.ledger, params.sessionId, params.callId, service.url()),
  }),
];

/** A page of calls, or as much of it as is found in a moment: nobody waits long for the first of it. */
async function search(
  ledger: Ledger,
  query: CallQuery & { readonly limit: number },
): Promise<Page<CallSummary>> {
  const beganMs = performance.now();
  const rows: CallSummary[] = [];
  let { cursor } = query;
  for (let scanned = 0; ;) {
    const page = await ledger.queryCalls({
      ...query,
      limit: query.limit - rows.length,
      cursor,
      scan: scanAtOnce,
    });
    rows.push(...page.rows);
    cursor = page.next;
    scanned += scanAtOnce;
    const isEnough = cursor === undefined || rows.length >= query.limit || scanned >= mostScanned;
    if (isEnough || performance.now() - beganMs > longestSearchMs) return { rows, next: cursor };
    await new Promise(setImmediate);
  }
}
