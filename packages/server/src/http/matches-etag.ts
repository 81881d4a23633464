import { createHash } from 'node:crypto';

/** Does If-None-Match contain this ETag? Weak tags match too, because this is for reads. */
export function matchesEtag(headers: Headers, etag: string): boolean {
  const known = (headers.get('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes(etag) || known.includes('*');
}

/** The answer depends on the caller. */
export const taggedHeaders = { vary: 'authorization, cookie, x-quittance-page-key' } as const;

/** Answers 304 if the client already has this text. */
export function withEtag(text: string, type: string, headers: Headers): Response {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
  const common = { etag, ...taggedHeaders };
  if (matchesEtag(headers, etag)) return new Response(null, { status: 304, headers: common });
  return new Response(text, { headers: { ...common, 'content-type': type } });
}
