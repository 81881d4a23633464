/**
 * The worst requests a viewer may send: one list for the test, which sends each of them, and for `npm run load --
 * --hostile`, which sends them all at once beside honest requests.
 */
import type { OpenApiRoute } from './open-api-routes.ts';

export type HostileRequest = {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Calls, sessions and artifacts of the ledger that are large. */
export type LargeThings = {
  readonly sessionId: string;
  readonly callId: string;
  /** Larger than any answer may be. */
  readonly hugeCallId: string;
  readonly artifactId: string | undefined;
};

const rule = (n: number, when: string): string =>
  `  - { id: r${n}, type: pre, tool: t, when: ${when}, then: { action: block, message: m } }`;
const ruleset = (rules: readonly string[]): string =>
  `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: { name: x }\ndefaults: { mode: enforce }\nrules:\n${rules.join('\n')}`;
const many = (count: number, make: (n: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, n) => make(n));

const validate = (name: string, text: string): HostileRequest => ({
  name: `validate: ${name}`,
  method: 'POST',
  path: '/v1/contracts/validate',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ documents: [{ name: 'x', text }] }),
});

const body = (name: string, text: string): HostileRequest => ({
  name: `body: ${name}`,
  method: 'POST',
  path: '/v1/contracts/validate',
  headers: { 'content-type': 'application/json' },
  body: text,
});

const get = (path: string, headers: Readonly<Record<string, string>> = {}): HostileRequest => ({
  name: path.replaceAll(/\d{6,}/g, 'N').slice(0, 60),
  method: 'GET',
  path,
  headers,
});

/** `n` makes each of them another one, so that no answer is remembered. */
export function hostileRequests(large: LargeThings, n: number, now: number): readonly HostileRequest[] {
  const session = `/v1/sessions/${encodeURIComponent(large.sessionId)}`;
  const asJson = { accept: 'application/json' };
  return [
    validate(
      'patterns',
      ruleset(many(2_000, (i) => rule(i, `{ args.x: { matches: '(([a-z]{1,9}){1,9}){1,10}${i}' } }`))),
    ),
    validate('many rules', ruleset(many(4_000, (i) => rule(i, '{ args.x: { contains: y } }')))),
    validate('nesting', '['.repeat(400_000)),
    validate('broken lines', ': :\n'.repeat(100_000)),
    validate(
      'aliases',
      `a: &a [x,x,x,x]\n${many(20, (i) => `b${i}: &b${i} [${`${i === 0 ? '*a' : `*b${i - 1}`},`.repeat(9)}]`).join('\n')}`,
    ),
    body('numbers', `{"documents":[${'1,'.repeat(500_000)}1]}`),
    body('long numbers', `{"documents":[${'12345678901234567890,'.repeat(45_000)}1]}`),
    body('depth', '['.repeat(1_000_000)),
    body('keys', `{${many(60_000, (i) => `"k${i}":1`).join(',')}}`),
    body('spaces', ' '.repeat(1_048_000)),
    get(`/v1/calls?search=${n}zzz&limit=1000`),
    get(`/v1/calls?search=${'a'.repeat(200)}`),
    get(`/v1/calls?limit=1000&mode=read&code=x${n}&status=settled`),
    get(`/v1/calls?limit=1000&until=${now + n}`),
    get(`/v1/calls/facets?search=${n}`),
    get(`/v1/calls/facets?mode=read&until=${now + n}`),
    get(`/v1/stats?since=${n}&until=253402300799999&buckets=500`),
    get(`/v1/stats?since=${now - 21_000_000 - n}&buckets=500`),
    get(`/v1/stats?since=${now - 31 * 86_400_000 + n}&buckets=500&toolName=x${n}`),
    get(`${session}/calls/${large.callId}`),
    get(`${session}/calls/${large.hugeCallId}`),
    get(`${session}/timeline?limit=500`),
    get(`/v1/events?limit=1000&after=${n % 50}`, asJson),
    get(`/v1/events?limit=1000&type=no.such`, asJson),
    get('/v1/audit?limit=1000'),
    get(`/v1/audit?limit=1000&kind=started&callId=x${n}`),
    get('/v1/confirmations?limit=1000'),
    get('/v1/unresolved?limit=1000'),
    get('/v1/sessions?limit=1000'),
    get(`/v1/sessions?search=${n}zz&limit=1000`),
    get('/v1/heads?limit=1000'),
    get('/v1/handoffs?limit=1000'),
    get('/v1/grants'),
    get('/v1/contracts'),
    get('/v1/contracts/versions'),
    get('/v1/contracts/hits'),
    get('/v1/tools'),
    get(`/v1/tools/x${n}`),
    get('/metrics'),
    get('/openapi.json'),
    get(`/v1/calls?cursor=${'x'.repeat(8_000)}`),
    get('/v1/me', Object.fromEntries(many(90, (i) => `x-${i}`).map((name) => [name, 'y'.repeat(100)]))),
    ...(large.artifactId === undefined
      ? []
      : [
          get(`${session}/artifacts/${large.artifactId}`),
          get(`${session}/artifacts/${large.artifactId}`, { range: 'bytes=1-' }),
          get(`${session}/artifacts/${large.artifactId}`, { range: `bytes=${n}-${n}` }),
        ]),
    { name: 'OPTIONS', method: 'OPTIONS', path: '/v1/calls' },
    { name: 'HEAD', method: 'HEAD', path: `${session}/calls/${large.callId}` },
  ];
}

/** One request for each route of the OpenAPI document, with parameters as long and as large as they may be. */
export function generatedRequests(routes: readonly OpenApiRoute[]): readonly HostileRequest[] {
  return routes.map(({ method, path, parameters, hasBody }) => {
    const address = path.replaceAll(/\{\w+\}/g, encodeURIComponent('x'.repeat(900)));
    const query = parameters
      .map(({ name, schema }) => `${name}=${encodeURIComponent(worstOf(schema))}`)
      .join('&');
    return {
      name: `generated: ${method} ${path}`,
      method,
      path: `${address}${query === '' ? '' : `?${query}`}`,
      ...(hasBody && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ x: Array.from({ length: 20_000 }, (_, index) => ({ [`k${index}`]: index })) }),
      }),
    };
  });
}

function worstOf(schema: { readonly [name: string]: unknown }): string {
  if (Array.isArray(schema['enum'])) return String(schema['enum'].at(-1));
  if (schema['type'] === 'integer' || schema['type'] === 'number')
    return String(Number(schema['maximum'] ?? 999_999_999_999));
  if (schema['type'] === 'boolean') return 'true';
  return 'x'.repeat(Math.min(200, Number(schema['maxLength'] ?? 200)));
}
