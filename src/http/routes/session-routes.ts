import type { SessionSummary } from '../../ledger/call-query.ts';
import type { SessionDetail, SessionPage, Timeline, TimelineCall, TimelineSpan } from '../api/session.ts';
import { callSummaryShape, relatedCallShape } from '../call-shapes.ts';
import { HttpRefusal } from '../problem.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { serveArtifact, shownTypes } from '../serve-artifact.ts';
import type { Service } from '../service.ts';
import type { Shape } from '../shape.ts';
import { choice, integer, list, maybe, moment, object, text } from '../shape.ts';
import type { PageQuery } from './page-fields.ts';
import { pageFields, spanFields } from './page-fields.ts';

type SessionFilters = PageQuery & {
  readonly since?: number;
  readonly until?: number;
  readonly search?: string;
};

const summaryShape: Shape<SessionSummary> = object<SessionSummary>(
  {
    sessionId: text(),
    calls: integer(),
    openCalls: integer(),
    failures: integer(),
    denials: integer(),
    unresolved: integer(),
    firstAt: moment(),
    lastAt: moment(),
  },
  'SessionSummary',
);

const timelineShape: Shape<Timeline> = object<Timeline>(
  {
    sessionId: text(),
    rows: list(
      object<TimelineCall>(
        {
          call: callSummaryShape,
          lane: integer(),
          spans: list(
            object<TimelineSpan>({
              kind: choice({ deciding: true, held: true, waiting: true, running: true }),
              attempt: integer(),
              from: moment(),
              to: maybe(moment()),
            }),
          ),
          related: list(relatedCallShape),
        },
        'TimelineCall',
      ),
    ),
    next: maybe(text()),
    lanes: integer(),
  },
  'Timeline',
);

const artifact = { mediaType: 'application/octet-stream', otherTypes: shownTypes } as const;
const sessionPath = '/v1/sessions/{sessionId}';

export const sessionRoutes: readonly Route[] = [
  defineRoute<'/v1/sessions', SessionFilters, undefined, SessionPage>({
    method: 'GET',
    path: '/v1/sessions',
    access: 'viewer',
    summary: 'Lists sessions, newest first.',
    query: { ...pageFields, ...spanFields, search: maybe(text({ maxLength: 200 })) },
    answer: object<SessionPage>({ rows: list(summaryShape), next: maybe(text()) }, 'SessionPage'),
    handle({ service, query: { search, ...query }, ...asked }) {
      const { limit = 50 } = query;
      const costOf = search === undefined && limit <= 100 ? 1 + limit / 50 : undefined;
      const wanted = { ...query, text: search === '' ? undefined : search };
      return service.reader.answer('sessions', wanted, asked, { costOf });
    },
  }),
  defineRoute<typeof sessionPath, object, undefined, SessionDetail>({
    method: 'GET',
    path: sessionPath,
    access: 'viewer',
    summary: 'Shows one session and where its chain stands.',
    answer: object<SessionDetail>(
      {
        session: summaryShape,
        head: maybe(object<NonNullable<SessionDetail['head']>>({ sequence: integer(), hash: text() })),
      },
      'SessionDetail',
    ),
    async handle({ service, params: { sessionId } }) {
      const session = await findSession(service, sessionId);
      const [last] = await service.ledger.integrity.readHeads(sessionId);
      return { session, head: last && { sequence: last.sequence, hash: last.hash } };
    },
  }),
  defineRoute<`${typeof sessionPath}/timeline`, PageQuery, undefined, Timeline>({
    method: 'GET',
    path: `${sessionPath}/timeline`,
    access: 'viewer',
    summary: 'Shows the calls of a session as bars in lanes, newest first.',
    query: { ...pageFields, limit: maybe(integer({ minimum: 1, maximum: 500 })) },
    answer: timelineShape,
    async handle({ service, params: { sessionId }, query: { limit = 100, cursor }, ...asked }) {
      await findSession(service, sessionId);
      return service.reader.answer('timeline', { sessionId, limit, cursor }, asked);
    },
  }),
  defineRoute<`${typeof sessionPath}/artifacts/{artifactId}`>({
    method: 'GET',
    path: `${sessionPath}/artifacts/{artifactId}`,
    access: 'viewer',
    summary: 'Gives an output that was kept aside; takes Range.',
    headers: {
      Range: 'One range of bytes, as bytes=0-1023.',
      'If-Range': 'The ETag of the pieces that are there already; whole where it is another.',
      'If-None-Match': 'The ETag of an artifact that is there already.',
    },
    answer: { ...artifact, isWhole: true },
    also: { 206: artifact },
    handle: ({ service, params, headers }) =>
      serveArtifact(service.ledger, params.sessionId, params.artifactId, headers),
  }),
];

/** The summary of a session, by its exact name. */
async function findSession({ ledger }: Service, sessionId: string): Promise<SessionSummary> {
  const { rows } = await ledger.queries.findSessions({ sessionId, limit: 1 });
  const found = rows.find((session) => session.sessionId === sessionId);
  if (found !== undefined) return found;
  throw new HttpRefusal(
    'http.not_found',
    `There is no session ${JSON.stringify(sessionId.slice(0, 200))}. GET /v1/sessions lists them.`,
  );
}
