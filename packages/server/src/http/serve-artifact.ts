/** Sends an artifact. A tool wrote it, so browsers must treat it as data and never run it. */
import type { ArtifactFacts } from 'quittance/internal/ledger/artifacts';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { matchesEtag } from './matches-etag.ts';
import { HttpRefusal } from './problem.ts';
import { measureArtifact, readWholeArtifact, readArtifactBytes } from 'quittance/internal/ledger/reads';

/** Types that a browser shows without running anything. */
export const shownTypes = [
  'application/json',
  'text/plain',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
] as const;
const shown: ReadonlySet<string> = new Set(shownTypes);

export async function serveArtifact(
  ledger: OpenLedger,
  sessionId: string,
  artifactId: string,
  headers: Headers,
): Promise<Response> {
  // The runtime makes ids. Anything else, such as a path, is not an id.
  const isId = /^[\w.:-]{1,200}$/.test(artifactId) && !artifactId.includes('..');
  const found = isId ? await measureArtifact(ledger, sessionId, artifactId) : undefined;
  if (found === undefined)
    throw new HttpRefusal(
      'http.not_found',
      'This session has no such artifact. It may have been erased; the outcome of the call names the ones there are.',
    );
  const content = await contentOf(ledger, sessionId, artifactId, found);
  const [type = ''] = found.mimeType.toLowerCase().split(';');
  // The content of an id never changes.
  const etag = `"${artifactId}"`;
  const common = {
    etag,
    'content-type': shown.has(type.trim())
      ? `${type.trim()}${found.encoding === 'bytes' ? '' : '; charset=utf-8'}`
      : 'application/octet-stream',
    'content-disposition': `attachment; filename="${artifactId.replaceAll(/[^\w.-]/g, '_')}"`,
    'content-security-policy': "default-src 'none'; sandbox",
    'accept-ranges': 'bytes',
  };
  if (matchesEtag(headers, etag)) return new Response(null, { status: 304, headers: common });
  // If-Range names another version: send the whole artifact.
  const isWanted = headers.get('if-range') === null || headers.get('if-range') === etag;
  const range = readRange(isWanted ? headers.get('range') : null, content.bytes);
  const { from, to } = range ?? { from: 0, to: content.bytes - 1 };
  return new Response(content.stream(from, to), {
    status: range === undefined ? 200 : 206,
    headers: {
      ...common,
      ...(range !== undefined && { 'content-range': `bytes ${from}-${to}/${content.bytes}` }),
      'content-length': String(to - from + 1),
    },
  });
}

type Content = {
  readonly bytes: number;
  /** Sent in pieces as the client reads them, so a large file is never in memory. */
  readonly stream: (from: number, to: number) => ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>;
};

const pieceBytes = 262_144;
/** Text with lone surrogates must be read whole to be sent as UTF-8. */
const largestOdd = 4_194_304;

async function contentOf(
  ledger: OpenLedger,
  sessionId: string,
  artifactId: string,
  { encoding, bytes }: ArtifactFacts,
): Promise<Content> {
  if (encoding === 'utf16le') {
    if (bytes > largestOdd)
      throw new HttpRefusal(
        'http.too_large',
        `The artifact holds text that is not valid Unicode, and ${bytes} bytes of it; at most ${largestOdd} of such are sent over HTTP.`,
      );
    const found = await readWholeArtifact(ledger, sessionId, artifactId);
    const text = new TextEncoder().encode(typeof found?.content === 'string' ? found.content : '');
    return { bytes: text.byteLength, stream: (from, to) => text.slice(from, to + 1) };
  }
  // Throws if the file was changed, before anything is sent.
  await readArtifactBytes(ledger, sessionId, artifactId, 0, 1);
  return {
    bytes,
    stream(from, to) {
      let at = from;
      return new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            const most = Math.min(pieceBytes, to + 1 - at);
            const piece =
              most <= 0 ? undefined : await readArtifactBytes(ledger, sessionId, artifactId, at, most);
            if (piece === undefined && most > 0) throw new Error(`Artifact ${artifactId} was erased.`);
            if (piece === undefined || piece.byteLength === 0) {
              controller.close();
              return;
            }
            at += piece.byteLength;
            controller.enqueue(piece);
          },
        },
        { highWaterMark: 1 },
      );
    },
  };
}

/** One range of bytes. Several ranges or another unit get the whole, as the standard allows. */
function readRange(
  header: string | null,
  size: number,
): { readonly from: number; readonly to: number } | undefined {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '');
  if (match === null) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (from > to || from >= size)
    throw new HttpRefusal(
      'http.range_not_satisfiable',
      `The artifact has ${size} bytes.`,
      {},
      { 'content-range': `bytes */${size}` },
    );
  return { from, to };
}
