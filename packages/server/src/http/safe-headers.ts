/** Headers of every answer, including refusals outside of routes. The files of the console have their own caching. */
export const safeHeaders: readonly (readonly [name: string, value: string])[] = Object.entries({
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
});

export function addSafeHeaders(response: Response): Response {
  for (const [name, value] of safeHeaders) if (!response.headers.has(name)) response.headers.set(name, value);
  return response;
}
