import { createHash } from 'node:crypto';

/** Whether who asks has seen what the tag stands for. Weak tags count: it is for reading, not for changing. */
export function isKnown(headers: Headers, etag: string): boolean {
  const known = (headers.get('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes(etag) || known.includes('*');
}

/** Of an answer that has a tag: it is for this caller alone, and must be asked for anew. */
export const taggedHeaders = {
  'cache-control': 'private, no-cache',
  vary: 'authorization, cookie, x-quittance-page-key',
} as const;

/** Whoever has seen the very same is told so, and nothing is sent again. */
export function withTag(text: string, type: string, headers: Headers): Response {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
  const common = { etag, ...taggedHeaders };
  if (isKnown(headers, etag)) return new Response(null, { status: 304, headers: common });
  return new Response(text, { headers: { ...common, 'content-type': type } });
}
