import type { Route, Asked } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Service } from '../service.ts';
import { HttpRefusal } from '../problem.ts';

export const jobRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/v1/verify',
    access: 'admin',
    summary: 'Starts a job that verifies that the ledger is unchanged.',
    body: 'NewVerification',
    answer: 'Job',
    status: 202,
    handle: ({ service, body, actor }) =>
      Promise.resolve(service.jobs.start({ kind: 'verify', anchor: body.anchor }, actor.name)),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/jobs',
    access: 'viewer',
    summary: 'Lists the last jobs, newest first, with their starters and results.',
    query: 'JobListQuery',
    answer: 'JobList',
    handle: ({ service, query: { kind, limit = 50 } }) =>
      Promise.resolve({ rows: service.jobs.list(kind, limit) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/jobs/{jobId}',
    access: 'viewer',
    summary: 'Shows the progress of a job.',
    answer: 'Job',
    handle: ({ service, params }) => Promise.resolve(service.jobs.get(params.jobId)),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/jobs/{jobId}/events',
    access: 'viewer',
    summary: 'Follows a job as server-sent events until it ends.',
    answer: { mediaType: 'text/event-stream', message: 'Job' },
    handle(asked) {
      const { service, params } = asked;
      const { jobId } = service.jobs.get(params.jobId);
      return Promise.resolve(
        new Response(
          streamOf(asked, (signal) => messagesOf(service, jobId, signal)),
          {
            headers: {
              'content-type': 'text/event-stream; charset=utf-8',
              'x-accel-buffering': 'no',
            },
          },
        ),
      );
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/v1/jobs/{jobId}',
    access: 'operator',
    summary: 'Stops a job. Its result is what it found so far.',
    answer: 'Job',
    handle: ({ service, params }) => Promise.resolve(service.jobs.stop(params.jobId)),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/heads',
    access: 'viewer',
    summary: 'Lists the heads of the chains, ordered by session id.',
    query: 'PageQuery',
    answer: 'HeadPage',
    handle: ({ service, query: { limit = 100, cursor }, ...asked }) =>
      service.reader.answer('heads', { limit, cursor }, asked, {
        costOf: limit <= 100 ? 1 + limit / 50 : undefined,
      }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/export',
    access: 'admin',
    summary:
      'Exports the ledger, or one session, as JSON lines that verify on their own. The export leaves out sealed values.',
    query: 'ExportQuery',
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
          },
        });
      } catch (error) {
        started.end();
        throw error;
      }
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

/**
 * Streams text at the speed of the reader, and stops when the reader disconnects or loses access. A complete stream ends
 * normally. Any other is cut off, so that a reader does not take a part for the whole.
 */

type Reader = Pick<Asked<never, object, unknown>, 'service' | 'headers' | 'signal' | 'cut'>;

const encoder = new TextEncoder();
/** Small pieces are sent together. */
const pieceChars = 16_384;

/** `until` also ends the stream, as incomplete. */
function streamOf(
  { service: { access }, headers, signal, cut }: Reader,
  make: (signal: AbortSignal) => AsyncGenerator<string, void, undefined>,
  until?: AbortSignal,
): ReadableStream<Uint8Array> {
  const pass = access.hold('GET', headers);
  if (!access.isStillIn('GET', headers)) {
    pass.release();
    throw new HttpRefusal('http.unauthenticated', 'The token was revoked, or its time is up.');
  }
  const gone = new AbortController();
  const over = AbortSignal.any([gone.signal, signal, pass.ended, ...(until === undefined ? [] : [until])]);
  const texts = make(over);
  const leave = (): void => {
    pass.release();
    over.removeEventListener('abort', end);
    gone.abort();
    texts.return().catch(() => undefined); // the reader is gone
  };
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const fail = (error: unknown): void => {
    leave();
    // A failed stream would get a normal end, so cut the connection to show the failure.
    if (cut === undefined) controller?.error(error);
    else if (!signal.aborted) cut();
  };
  const end = (): void => fail(new Error('Cut off before the end.'));
  over.addEventListener('abort', end, { once: true });
  return new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      async pull(given) {
        try {
          const { piece, isLast } = await nextPiece(texts);
          if (gone.signal.aborted) return;
          if (piece !== '') given.enqueue(encoder.encode(piece));
          if (!isLast) return;
          leave();
          given.close();
        } catch (error) {
          if (!gone.signal.aborted) fail(error);
        }
      },
      cancel: leave,
    },
    { highWaterMark: 1 },
  );
}

async function nextPiece(
  texts: AsyncGenerator<string, void, undefined>,
): Promise<{ readonly piece: string; readonly isLast: boolean }> {
  let piece = '';
  while (piece.length < pieceChars) {
    const next = await texts.next();
    if (next.done === true) return { piece, isLast: true };
    piece += next.value;
    // Send an event at once; do not wait for more.
    if (next.value.startsWith('id: ')) break;
  }
  return { piece, isLast: false };
}
