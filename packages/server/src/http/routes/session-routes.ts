import type { SessionSummary } from 'quittance/internal/ledger/call-query';
import { HttpRefusal } from '../problem.ts';
import { readOrigin } from '../read-fork.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { serveArtifact, shownTypes } from '../serve-artifact.ts';
import type { Service } from '../service.ts';
import { readHeads, findSessions } from 'quittance/internal/ledger/reads';

const artifact = { mediaType: 'application/octet-stream', otherTypes: shownTypes } as const;
const sessionPath = '/v1/sessions/{sessionId}';

export const sessionRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/sessions',
    access: 'viewer',
    summary: 'Lists sessions, newest first.',
    query: 'SessionListQuery',
    answer: 'SessionPage',
    handle({ service, query: { search, ...query }, ...asked }) {
      const { limit = 50 } = query;
      const costOf = search === undefined && limit <= 100 ? 1 + limit / 50 : undefined;
      const wanted = { ...query, text: search === '' ? undefined : search };
      return service.reader.answer('sessions', wanted, asked, { costOf });
    },
  }),
  defineRoute({
    method: 'GET',
    path: sessionPath,
    access: 'viewer',
    summary: 'Shows one session and the head of its chain.',
    answer: 'SessionDetail',
    async handle({ service, params: { sessionId } }) {
      const session = await findSession(service, sessionId);
      const [last] = await readHeads(service.ledger, sessionId);
      return {
        session,
        head: last && { sequence: last.sequence, hash: last.hash },
        fork: await readOrigin(service.ledger, sessionId),
      };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${sessionPath}/timeline`,
    access: 'viewer',
    summary: 'Shows the calls of a session as bars in lanes, newest first.',
    query: 'TimelineQuery',
    answer: 'Timeline',
    async handle({ service, params: { sessionId }, query: { limit = 100, cursor }, ...asked }) {
      await findSession(service, sessionId);
      return service.reader.answer('timeline', { sessionId, limit, cursor }, asked);
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${sessionPath}/compare`,
    access: 'viewer',
    summary: 'Compares the session with another one, call by call, what matters first.',
    query: 'ComparisonQuery',
    answer: 'SessionComparison',
    async handle({ service, params: { sessionId: a }, query: { with: b }, ...asked }) {
      for (const sessionId of [a, b]) await findSession(service, sessionId);
      return service.reader.answer('comparison', { a, b }, asked);
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${sessionPath}/forks`,
    access: 'operator',
    summary:
      'Makes the calls of the session again from one call on, live and through all gates, in a new session.',
    body: 'NewFork',
    answer: 'StartedFork',
    status: 201,
    async handle({ service, actor, params: { sessionId }, body, headers, signal }) {
      await findSession(service, sessionId);
      return service.forks.start(service, { actor, headers, signal }, sessionId, body);
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${sessionPath}/artifacts/{artifactId}`,
    access: 'viewer',
    summary: 'Downloads a large output. Accepts Range.',
    headers: {
      Range: 'One range of bytes, for example bytes=0-1023.',
      'If-Range': 'The ETag of the parts that the client has. If it differs, the whole artifact is sent.',
      'If-None-Match': 'The ETag of an artifact that the client has.',
    },
    answer: { ...artifact, isWhole: true },
    also: { 206: artifact },
    handle: ({ service, params, headers }) =>
      serveArtifact(service.ledger, params.sessionId, params.artifactId, headers),
  }),
];

/** The summary of the session with exactly this id. */
async function findSession({ ledger }: Service, sessionId: string): Promise<SessionSummary> {
  const { rows } = await findSessions(ledger, { sessionId, limit: 1 });
  const found = rows.find((session) => session.sessionId === sessionId);
  if (found !== undefined) return found;
  throw new HttpRefusal(
    'http.not_found',
    `There is no session ${JSON.stringify(sessionId.slice(0, 200))}. GET /v1/sessions lists them.`,
  );
}
