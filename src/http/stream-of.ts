/**
 * Streams text at the speed of the reader, and stops when the reader disconnects or loses access. A complete stream ends
 * normally. Any other is cut off, so that a reader does not take a part for the whole.
 */
import { HttpRefusal } from './problem.ts';
import type { Asked } from './route.ts';

type Reader = Pick<Asked<never, object, unknown>, 'service' | 'headers' | 'signal' | 'cut'>;

const encoder = new TextEncoder();
/** Small pieces are sent together. */
const pieceChars = 16_384;

/** `until` also ends the stream, as incomplete. */
export function streamOf(
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
