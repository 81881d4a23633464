import type { Head } from '../../ledger/chain.ts';
import type { HeadPage, Job, JobList, NewVerification } from '../api/job.ts';
import { jobShape, jobSummaryShape, kindShape } from '../job-shape.ts';
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
    handle: ({ service, query: { limit = 100, cursor }, ...asked }) =>
      service.reader.answer('heads', { limit, cursor }, asked, {
        costOf: limit <= 100 ? 1 + limit / 50 : undefined,
      }),
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
      const over = AbortSignal.any([signal, service.closing]);
      const started = await service.exports.start(sessionId, over);
      try {
        return new Response(streamOf(asked, started.pieces, service.closing), {
          headers: {
            'content-type': 'application/jsonl; charset=utf-8',
            'content-disposition': `attachment; filename="${sessionId === undefined ? 'ledger' : 'session'}.jsonl"`,
            'cache-control': 'no-store',
          },
        });
      } catch (error) {
        started.end();
        throw error;
      }
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
