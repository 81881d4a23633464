import type { Head } from '../../ledger/chain.ts';
import { exportLedger } from '../../replay/export-ledger.ts';
import type { HeadPage, Job, JobList, NewVerification } from '../api/job.ts';
import { jobShape, jobSummaryShape, kindShape } from '../job-shape.ts';
import { HttpRefusal } from '../problem.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Service } from '../service.ts';
import { integer, list, maybe, object, text } from '../shape.ts';
import { streamOf } from '../stream-of.ts';
import type { PageQuery } from './page-fields.ts';
import { pageFields } from './page-fields.ts';

export const jobRoutes: readonly Route[] = [
  defineRoute<'/v1/verify', object, NewVerification, Job>({
    method: 'POST',
    path: '/v1/verify',
    access: 'admin',
    summary: 'Starts a job: is everything in the ledger as it was written?',
    body: object<NewVerification>({ anchor: maybe(text()) }, 'NewVerification'),
    answer: jobShape,
    status: 202,
    handle: ({ service, body, actor }) =>
      Promise.resolve(service.jobs.start({ kind: 'verify', anchor: body.anchor }, actor.name)),
  }),
  defineRoute<'/v1/jobs', JobQuery, undefined, JobList>({
    method: 'GET',
    path: '/v1/jobs',
    access: 'viewer',
    summary: 'Lists the last jobs, newest first: who started them, and what came of them.',
    query: { kind: maybe(kindShape), limit: maybe(integer({ minimum: 1, maximum: 50 })) },
    answer: object<JobList>({ rows: list(jobSummaryShape) }, 'JobList'),
    handle: ({ service, query: { kind, limit = 50 } }) =>
      Promise.resolve({ rows: service.jobs.list(kind, limit) }),
  }),
  defineRoute<'/v1/jobs/{jobId}', object, undefined, Job>({
    method: 'GET',
    path: '/v1/jobs/{jobId}',
    access: 'viewer',
    summary: 'Shows how far a job is.',
    answer: jobShape,
    handle: ({ service, params }) => Promise.resolve(service.jobs.get(params.jobId)),
  }),
  defineRoute<'/v1/jobs/{jobId}/events'>({
    method: 'GET',
    path: '/v1/jobs/{jobId}/events',
    access: 'viewer',
    summary: 'Follows a job as server-sent events, until it is over.',
    answer: { mediaType: 'text/event-stream', message: jobShape },
    handle(asked) {
      const { service, params } = asked;
      const { jobId } = service.jobs.get(params.jobId);
      return Promise.resolve(
        new Response(
          streamOf(asked, (signal) => messagesOf(service, jobId, signal)),
          {
            headers: {
              'content-type': 'text/event-stream; charset=utf-8',
              'cache-control': 'no-store',
              'x-accel-buffering': 'no',
            },
          },
        ),
      );
    },
  }),
  defineRoute<'/v1/jobs/{jobId}', object, undefined, Job>({
    method: 'DELETE',
    path: '/v1/jobs/{jobId}',
    access: 'operator',
    summary: 'Stops a job; what was found until then is its result.',
    answer: jobShape,
    handle: ({ service, params }) => Promise.resolve(service.jobs.stop(params.jobId)),
  }),
  defineRoute<'/v1/heads', PageQuery, undefined, HeadPage>({
    method: 'GET',
    path: '/v1/heads',
    access: 'viewer',
    summary: 'Lists where the chains stand, in the order of session ids.',
    query: pageFields,
    answer: object<HeadPage>(
      {
        rows: list(object<Head>({ sessionId: text(), sequence: integer(), hash: text() }, 'Head')),
        next: maybe(text()),
        sessions: integer(),
      },
      'HeadPage',
    ),
    async handle({ service, query: { limit = 100, cursor } }) {
      const after = cursor === undefined ? undefined : decodeCursor(cursor);
      // One more than asked for tells whether there are more.
      const found = await service.ledger.queryHeads({ after, limit: limit + 1 });
      const rows = found.slice(0, limit);
      const last = rows.at(-1);
      return {
        rows,
        next: found.length > limit && last !== undefined ? encodeCursor(last.sessionId) : undefined,
        sessions: await service.ledger.countSessions(),
      };
    },
  }),
  defineRoute<'/v1/export', { readonly sessionId?: string }>({
    method: 'GET',
    path: '/v1/export',
    access: 'admin',
    summary:
      'Gives the ledger, or a session of it, as JSON lines that verify on their own. Nothing sealed is in it.',
    query: { sessionId: maybe(text()) },
    answer: { mediaType: 'application/jsonl' },
    async handle(asked) {
      const { service, query, signal } = asked;
      const { sessionId } = query;
      const sessions = sessionId === undefined ? undefined : await service.ledger.readHeads(sessionId);
      if (sessions?.length === 0)
        throw new HttpRefusal('http.not_found', 'There is no such session. GET /v1/sessions lists them.');
      const given = { sessions, toolVersion: service.version };
      const over = AbortSignal.any([signal, service.closing]);
      const { text: pieces } = await exportLedger(service.ledger, { ...given, signal: over });
      return new Response(
        streamOf(asked, () => pieces, service.closing),
        {
          headers: {
            'content-type': 'application/jsonl; charset=utf-8',
            'content-disposition': `attachment; filename="${sessionId === undefined ? 'ledger' : 'session'}.jsonl"`,
            'cache-control': 'no-store',
          },
        },
      );
    },
  }),
];

type JobQuery = { readonly kind?: Job['kind']; readonly limit?: number };

async function* messagesOf(
  { jobs }: Service,
  jobId: string,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  let id = 0;
  for await (const job of jobs.follow(jobId, signal))
    yield `id: ${++id}\nevent: job\ndata: ${JSON.stringify(job)}\n\n`;
}

const encodeCursor = (sessionId: string): string =>
  Buffer.from(JSON.stringify(sessionId)).toString('base64url');

function decodeCursor(cursor: string): string {
  try {
    const sessionId: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (typeof sessionId === 'string') return sessionId;
  } catch {
    // Said below.
  }
  throw new HttpRefusal('http.bad_request', 'cursor must be the "next" of the page before.');
}
