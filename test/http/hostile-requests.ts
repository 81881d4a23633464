/**
 * The worst requests that a viewer may send. The test sends each of them; `npm run load -- --hostile` sends
 * them all at once, mixed with honest requests.
 */
import type { OpenApiRoute } from './open-api-routes.ts';

export type HostileRequest = {
  readonly name: string;
  /** Role of the token it is sent with. */
  readonly as: 'viewer' | 'operator' | 'approver' | 'admin';
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Large calls, sessions and artifacts of the ledger. */
export type LargeThings = {
  readonly sessionId: string;
  readonly callId: string;
  /** Larger than any answer may be. */
  readonly hugeCallId: string;
  readonly artifactId: string | undefined;
  /** The question of a call that is larger than HTTP may change. */
  readonly confirmationId: string;
};

const rule = (n: number, when: string): string =>
  `  - { id: r${n}, type: pre, tool: t, when: ${when}, then: { action: block, message: m } }`;
const ruleset = (rules: readonly string[]): string =>
  `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: { name: x }\ndefaults: { mode: enforce }\nrules:\n${rules.join('\n')}`;
const many = (count: number, make: (n: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, n) => make(n));

const validate = (name: string, text: string): HostileRequest => ({
  name: `validate: ${name}`,
  as: 'viewer',
  method: 'POST',
  path: '/v1/contracts/validate',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ documents: [{ name: 'x', text }] }),
});

const body = (name: string, text: string): HostileRequest => ({
  name: `body: ${name}`,
  as: 'viewer',
  method: 'POST',
  path: '/v1/contracts/validate',
  headers: { 'content-type': 'application/json' },
  body: text,
});

const get = (path: string, headers: Readonly<Record<string, string>> = {}): HostileRequest => ({
  name: path.replaceAll(/\d{6,}/g, 'N').slice(0, 60),
  as: 'viewer',
  method: 'GET',
  path,
  headers,
});

/** `n` makes each of them different, so that no answer is cached. */
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
    get(`/v1/confirmations/${large.confirmationId}`),
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
    { name: 'OPTIONS', as: 'viewer', method: 'OPTIONS', path: '/v1/calls' },
    { name: 'HEAD', as: 'viewer', method: 'HEAD', path: `${session}/calls/${large.callId}` },
  ];
}

/**
 * The worst requests of an agent, an approver and an administrator: those that change something, or ask for
 * everything.
 */
export function hostileChanges(large: LargeThings, n: number): readonly HostileRequest[] {
  const post = (
    as: HostileRequest['as'],
    path: string,
    sent: object,
    name: string = path.slice(0, 60),
  ): HostileRequest => ({
    name: `${as}: ${name}`,
    as,
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(sent),
  });
  const call = (name: string, args: object, callId = `hostile-${name}-${n}`): HostileRequest =>
    post(
      'operator',
      '/v1/calls',
      { sessionId: large.sessionId, call: { id: callId, name: 'get_note', arguments: args }, waitMs: 0 },
      `POST /v1/calls, ${name}`,
    );
  const explain = (name: string, args: object): HostileRequest =>
    post('operator', '/v1/contracts/explain', { toolName: 'get_note', arguments: args }, `explain, ${name}`);
  const shapes: Readonly<Record<string, object>> = {
    'long text': { text: 'x'.repeat(64_000) },
    commands: { command: 'cat $(echo a | sed s/a/b/) "x y" > /tmp/o; '.repeat(1_400) },
    addresses: { text: 'https://a.example/c?d=e '.repeat(2_600) },
    secrets: { password: 'abcdefgh12', text: 'abcdefgh12 '.repeat(5_800) },
    keys: Object.fromEntries(many(900, (i) => `key${i}`).map((key) => [key, 'v/'.repeat(25)])),
    paths: { paths: many(900, (i) => `/tmp/${i}/${'a/../'.repeat(9)}`) },
    depth: many(900, () => '').reduce<object>((inner) => ({ a: inner }), {}),
    'too many values': { list: Array.from({ length: 20_000 }, () => 1) },
    'too much text': { text: 'x'.repeat(1_000_000) },
  };
  const session = `/v1/sessions/${encodeURIComponent(large.sessionId)}`;
  const question = `/v1/confirmations/${large.confirmationId}`;
  return [
    ...Object.entries(shapes).map(([name, args]) => call(name, args)),
    call('the id of a huge call', { text: 'a' }, large.hugeCallId),
    ...Object.entries(shapes).map(([name, args]) => explain(name, args)),
    post('approver', `${question}/decision`, { decision: 'deny' }, 'decision about a large call'),
    post(
      'approver',
      `${question}/decision`,
      { decision: 'edit', arguments: shapes['keys'], inputDigest: 'x' },
      'edit of a large call',
    ),
    post('approver', `${question}/link`, { expiresInMs: 1_000 }, 'link to a large call'),
    post('approver', '/v1/decisions', { token: 'x'.repeat(8_000), decision: 'deny' }),
    post('approver', '/v1/decisions/read', { token: 'x'.repeat(8_000) }),
    post('operator', '/v1/handoffs/claim', { toolName: 'get_note' }, 'claim by tool'),
    post('operator', '/v1/handoffs/claim', { sessionId: large.sessionId, callId: large.hugeCallId }, 'claim'),
    post('operator', '/v1/handoffs/report', { token: 'x', report: { output: 'x'.repeat(250_000) } }),
    post(
      'operator',
      '/v1/handoffs/report',
      { token: 'x', report: { output: many(1_900, String) } },
      'report',
    ),
    post(
      'approver',
      `${session}/calls/${large.hugeCallId}/resolution`,
      { resolution: 'succeeded', result: shapes['keys'] },
      'resolution of a huge call',
    ),
    post('operator', `${session}/calls/${large.hugeCallId}/undo`, {}, 'undo of a huge call'),
    post(
      'approver',
      '/v1/grants',
      {
        sessionId: large.sessionId,
        toolName: '*a'.repeat(400),
        where: { 'args.x': { in: many(900, String) } },
        forMs: 1_000,
      },
      'grant',
    ),
    post(
      'operator',
      '/v1/contracts/backtest',
      { documents: [{ name: 'x', text: '['.repeat(400_000) }] },
      'backtest',
    ),
    { name: 'admin: export', as: 'admin', method: 'GET', path: '/v1/export' },
    {
      name: 'admin: export of a session',
      as: 'admin',
      method: 'GET',
      path: `/v1/export?sessionId=${encodeURIComponent(large.sessionId)}`,
    },
  ];
}

/** One request for each route of the OpenAPI document, with the longest and largest parameters. */
export function generatedRequests(routes: readonly OpenApiRoute[]): readonly HostileRequest[] {
  return routes.map(({ method, path, parameters, hasBody }) => {
    const address = path.replaceAll(/\{\w+\}/g, encodeURIComponent('x'.repeat(900)));
    const query = parameters
      .map(({ name, schema }) => `${name}=${encodeURIComponent(worstOf(schema))}`)
      .join('&');
    return {
      name: `generated: ${method} ${path}`,
      as: 'viewer',
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
