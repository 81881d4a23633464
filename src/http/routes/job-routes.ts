import type { Head } from '../../ledger/chain.ts';
import { writeExport } from '../../ledger/export-format.ts';
import { readAllEntries } from '../../replay/read-all-entries.ts';
import type { HeadPage, Job, NewVerification } from '../api/job.ts';
import { jobShape } from '../job-shape.ts';
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
    handle({ service, params, signal }) {
      const { jobId } = service.jobs.get(params.jobId);
      return Promise.resolve(
        new Response(streamOf(messagesOf(service, jobId, signal)), {
          headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
        }),
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
      const heads = await service.remembered.get('heads', async () =>
        (await service.ledger.readHeads()).toSorted((one, other) =>
          one.sessionId < other.sessionId ? -1 : 1,
        ),
      );
      const after = cursor === undefined ? undefined : decodeCursor(cursor);
      const from = after === undefined ? 0 : heads.findIndex(({ sessionId }) => sessionId > after);
      const rows = from === -1 ? [] : heads.slice(from, from + limit);
      const last = rows.at(-1);
      const isMore = last !== undefined && last !== heads.at(-1);
      return { rows, next: isMore ? encodeCursor(last.sessionId) : undefined, sessions: heads.length };
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
    async handle({ service, query: { sessionId }, signal }) {
      const heads = await service.ledger.readHeads(sessionId);
      if (sessionId !== undefined && heads.length === 0)
        throw new HttpRefusal('http.not_found', 'There is no such session. GET /v1/sessions lists them.');
      const manifest = { createdAt: service.ledger.now(), toolVersion: service.version, heads };
      const entries = readAllEntries(service.ledger, signal, sessionId === undefined ? undefined : heads);
      return new Response(streamOf(writeExport(entries, manifest)), {
        headers: {
          'content-type': 'application/jsonl; charset=utf-8',
          'content-disposition': 'attachment; filename="ledger.jsonl"',
          'cache-control': 'no-store',
        },
      });
    },
  }),
];

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
