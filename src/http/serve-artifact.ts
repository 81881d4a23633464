/** An artifact in pieces. Whatever a tool wrote is data here: nothing of it runs in a page of this server. */
import type { Ledger } from '../ledger/ledger.ts';
import { isKnown } from './known-tag.ts';
import { HttpRefusal } from './problem.ts';

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
  ledger: Ledger,
  sessionId: string,
  artifactId: string,
  headers: Headers,
): Promise<Response> {
  // Ids are made by the runtime; whatever else is asked for, a path above all, is no id.
  const found =
    /^[\w.:-]{1,200}$/.test(artifactId) && !artifactId.includes('..')
      ? await ledger.readArtifact(sessionId, artifactId)
      : undefined;
  if (found === undefined)
    throw new HttpRefusal(
      'http.not_found',
      'This session has no such artifact. It may have been erased; the outcome of the call names the ones there are.',
    );
  const bytes = typeof found.content === 'string' ? Buffer.from(found.content, 'utf8') : found.content;
  const [type = ''] = found.mimeType.toLowerCase().split(';');
  const isText = typeof found.content === 'string';
  // What is kept under an id is never changed.
  const etag = `"${artifactId}"`;
  const common = {
    etag,
    'content-type': shown.has(type.trim())
      ? `${type.trim()}${isText ? '; charset=utf-8' : ''}`
      : 'application/octet-stream',
    'content-disposition': `attachment; filename="${artifactId.replaceAll(/[^\w.-]/g, '_')}"`,
    'content-security-policy': "default-src 'none'; sandbox",
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
  };
  if (isKnown(headers, etag)) return new Response(null, { status: 304, headers: common });
  // Pieces of something else are of no use to whoever has pieces of that.
  const isWanted = headers.get('if-range') === null || headers.get('if-range') === etag;
  const range = readRange(isWanted ? headers.get('range') : null, bytes.byteLength);
  if (range === undefined)
    return new Response(bytes as Uint8Array<ArrayBuffer>, {
      headers: { ...common, 'content-length': String(bytes.byteLength) },
    });
  const piece = bytes.subarray(range.from, range.to + 1);
  return new Response(piece as Uint8Array<ArrayBuffer>, {
    status: 206,
    headers: {
      ...common,
      'content-range': `bytes ${range.from}-${range.to}/${bytes.byteLength}`,
      'content-length': String(piece.byteLength),
    },
  });
}

/** One range of bytes. Several at once, or another unit, is answered with the whole, as the standard allows. */
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
