/**
 * All routes behind one `fetch`. Hono finds the route. This file fixes the order of the steps: identify the caller, check
 * its role, check the request, handle it, answer.
 */
import { isIP } from 'node:net';
import { isJsonObject } from 'quittance/internal/base/json';
import { safeIdBy } from 'quittance/internal/base/safe-id';
import { readTraceparent, traceIdsOf } from 'quittance/internal/base/traceparent';
import type { HonoRequest } from 'hono';
import { Hono } from 'hono';
import type { JsonSchemaChecker } from 'quittance/internal/tool/schema';
import { compileJsonSchema } from 'quittance/internal/tool/schema';
import { isQuittanceError, QuittanceError } from 'quittance/internal/base/error';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isPromiseLike } from 'quittance/internal/base/deadlines';
import { createSeal } from 'quittance/internal/ledger/seal';
import type { Actor } from './actor.ts';
import { anonymous } from './actor.ts';
import { Allowance } from './allowance.ts';
import type { ConsoleFile } from './console-files.ts';
import { withEtag } from './matches-etag.ts';
import { addPages } from './page-routes.ts';
import type { Connection, Visit } from './visit.ts';
import { HttpRefusal, problemResponse } from './problem.ts';
import { RateLimit } from './rate-limit.ts';
import type { Rate } from './rate-limit.ts';
import type { BodyLimits } from './read-request.ts';
import { readBody, readRequestQuery } from './read-request.ts';
import type { BodySize, Route } from './route.ts';
import { routes } from './routes.ts';
import { addSafeHeaders } from './safe-headers.ts';
import type { Devices } from './sign-in/devices.ts';
import type { SignInRoutesOptions } from './sign-in/sign-in-routes.ts';
import type { Service } from './service.ts';
import type { SchemaIssue } from 'quittance/internal/tool/schema-issue';
import { apiSchemas } from './api-schemas.ts';

export type AppLimits = {
  readonly bodyBytes: number;
  /** The largest body that rules judge. */
  readonly callBytes: number;
  /** The largest body without a valid token. */
  readonly strangerBodyBytes: number;
  /** Bytes of large bodies per token. */
  readonly bodyRate: Rate;
  /** Requests per token. */
  readonly rate: Rate;
  /** Requests per address without a valid token. */
  readonly strangerRate: Rate;
  /** Steps of sign-in per address. Each may ask the identity provider. */
  readonly signInRate: Rate;
};

type AppOptions = {
  readonly service: Service;
  readonly limits: AppLimits;
  readonly hosts: () => ReadonlySet<string>;
  readonly console: ReadonlyMap<string, ConsoleFile>;
  /** Devices that wait for a sign-in; undefined without an identity provider. */
  readonly devices: Devices | undefined;
  /** Receives errors of the server itself. */
  readonly onError: (error: unknown) => void;
  /** Receives each answered request. */
  readonly onRequest: (request: AnsweredRequest) => void;
};

/** An answered request, without anything that could be secret: the path is the pattern of its route. */
export type AnsweredRequest = {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly elapsedMs: number;
  /** The trace that the caller sent. */
  readonly traceId: string | undefined;
  /** The call that the request is about. Masked if an id looks like a secret. */
  readonly sessionId: string | undefined;
  readonly callId: string | undefined;
};

export type App = (request: Request, connection: Connection) => Promise<Response>;

/** What the steps of a request share. */
type AppContext = Pick<AppOptions, 'service' | 'limits' | 'onError'> & {
  readonly rate: RateLimit;
  readonly strangers: RateLimit;
  readonly bodies: Allowance;
};

export function createApp(options: AppOptions): App {
  const { service, limits, onError } = options;
  const app = new Hono<{ Bindings: Visit }>();
  const context: AppContext = {
    service,
    limits,
    onError,
    rate: new RateLimit(limits.rate),
    strangers: new RateLimit(limits.strangerRate),
    bodies: new Allowance(limits.bodyRate),
  };
  for (const [path, all] of Map.groupBy(routes, (route) => route.path)) addRoutes(app, context, path, all);
  const description = JSON.stringify(toOpenApi(routes, service.version));
  app.get('/openapi.json', ({ req }) =>
    withEtag(description, 'application/json; charset=utf-8', req.raw.headers),
  );
  app.all('/openapi.json', () => {
    throw notTaken('GET');
  });
  addPages(app, {
    access: service.access,
    hosts: options.hosts,
    files: options.console,
    strangers: context.strangers,
    url: () => service.url(),
    signIn: toSignInRoutes(options),
  });
  app.notFound(() =>
    problemResponse(
      new HttpRefusal('http.not_found', 'There is no such route. GET /openapi.json lists them.'),
    ),
  );
  app.onError((error) => {
    if (!isOurs(error)) onError(error);
    return problemResponse(error);
  });

  return async (request, connection) => {
    const startedAt = performance.now();
    const visit: Visit = { ...connection, route: 'other', call: undefined, arrivedAt: service.ledger.now() };
    let response: Response;
    let cookie: string | undefined;
    try {
      if (!isProbeByAddress(request)) service.access.checkHost(request.headers);
      cookie = await readTokens(service, request);
      response = await app.fetch(request, visit);
    } catch (error) {
      response = problemResponse(error);
    }
    addSafeHeaders(response);
    if (cookie !== undefined && !response.headers.has('set-cookie'))
      response.headers.set('set-cookie', cookie);
    const { method } = request;
    const [{ route }, { status }, elapsedMs] = [visit, response, performance.now() - startedAt];
    service.metrics.noteRequest(method, route, status, elapsedMs);
    const traceparent = readTraceparent(request.headers.get('traceparent'));
    options.onRequest({
      method,
      route,
      status,
      elapsedMs,
      traceId: traceparent && traceIdsOf(traceparent).traceId,
      sessionId: visit.call && safeIdBy(service.runtime.redactor, visit.call.sessionId),
      callId: visit.call && safeIdBy(service.runtime.redactor, visit.call.callId),
    });
    return response;
  };
}

const probePaths: ReadonlySet<string> = new Set(
  routes.filter(({ isProbe }) => isProbe).map(({ path }) => path),
);

/**
 * Orchestrators and load balancers ask for the health of a server by its address, which no setting names. A page of
 * another site cannot use this: it needs a name for its own server.
 */
function isProbeByAddress({ method, url, headers }: Request): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  if (!probePaths.has(URL.parse(url)?.pathname ?? '')) return false;
  const host = URL.parse(`http://${headers.get('host') ?? ''}`);
  return host?.username === '' && host.pathname === '/' && isIP(host.hostname.replaceAll(/[[\]]/g, '')) !== 0;
}

function toSignInRoutes({
  service,
  devices,
  limits,
  hosts,
  onError,
}: AppOptions): SignInRoutesOptions | undefined {
  const { access, signIns, ledger } = service;
  if (signIns === undefined || devices === undefined) return undefined;
  return {
    access,
    signIns,
    devices,
    seal: createSeal(ledger.sealKey),
    throttle: new RateLimit(limits.signInRate),
    hosts,
    url: () => service.url(),
    now: () => ledger.now(),
    onError,
  };
}

/** Tokens in files are read when they are needed; those in a database before. A failure is reported where they are used. */
async function readTokens({ access }: Service, { method, headers }: Request): Promise<string | undefined> {
  try {
    const reading = access.refresh(method, headers);
    return isPromiseLike(reading) ? await reading : reading;
  } catch {
    return undefined;
  }
}

/** The routes of one path. Other methods are refused. */
function addRoutes(
  app: Hono<{ Bindings: Visit }>,
  context: AppContext,
  path: string,
  all: readonly Route[],
): void {
  const { service } = context;
  const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
  for (const route of all) {
    let checks: Checks | undefined; // compiled on first use: there are many, and most servers use a few
    app.on([route.method], pattern, async ({ req, env }) => {
      env.route = path;
      // The stream behind the head would continue, and the client would see none of it.
      if (req.raw.method === 'HEAD' && typeof route.answer !== 'string' && route.answer.isWhole !== true)
        throw wrongMethod(all);
      const actor = identify(context, req.raw, env.address, route);
      service.access.require(actor, route.access);
      checks ??= compileChecks(route);
      if (checks.body !== undefined) refuseManyBodies(context, req.raw, actor);
      // Called before the body arrives: a decision that waits for the body must know that it is coming.
      const handled = route.expect?.({ service, arrivedAt: env.arrivedAt, params: req.param() });
      try {
        return await answer(context, req, env, { route, checks, actor });
      } finally {
        handled?.();
      }
    });
  }
  app.all(pattern, () => {
    throw wrongMethod(all);
  });
}

/** Bodies are read and parsed on this thread, so one caller must not send large ones in a row. */
function refuseManyBodies({ limits, bodies }: AppContext, request: Request, actor: Actor): void {
  const length = request.headers.get('content-length');
  const bytes = length === null ? limits.bodyBytes : Number(length);
  if (request.body === null || bytes <= smallBodyBytes || bytes > limits.bodyBytes) return;
  if (actor === anonymous || bodies.take(actor.tokenId, bytes)) return;
  throw new HttpRefusal(
    'http.too_many_requests',
    `Bodies of more than ${smallBodyBytes} bytes may have ${limits.bodyRate.perSecond} bytes a second together. Wait a second and send it again.`,
    {},
    { 'retry-after': '1' },
  );
}

function identify(
  { service, rate, strangers, onError }: AppContext,
  request: Request,
  address: string,
  { isProbe = false, access }: Route,
): Actor {
  let actor: Actor;
  try {
    actor = service.access.identify(request.method, request.headers);
  } catch (error) {
    strangers.take(address);
    // A link grants access by itself: a login that is not accepted here does not reduce it.
    if (access === 'anyone' && error instanceof HttpRefusal && error.code === 'http.cross_site')
      return anonymous;
    if (error instanceof HttpRefusal) throw error;
    // The caller is unknown, so it must not learn what is wrong with the tokens or where they are.
    onError(error);
    if (isQuittanceError(error, 'ledger.unavailable'))
      throw new QuittanceError('ledger.unavailable', 'The server cannot read its tokens now. Try again.');
    throw new HttpRefusal(
      'http.internal',
      'The server cannot read its token file, so no token is accepted. The log of the server says why.',
    );
  }
  if (actor !== anonymous) rate.take(actor.tokenId);
  // A client that guesses tokens must not make the server look dead to a monitor at the same address.
  else if (!isProbe) strangers.take(address);
  return actor;
}

/** The call that a request names, in its path or in its body. */
function callOf(params: Readonly<Record<string, string>>, body: unknown): Visit['call'] {
  const { sessionId, callId } = params;
  if (sessionId !== undefined && callId !== undefined) return { sessionId, callId };
  if (!isJsonObject(body) || typeof body['sessionId'] !== 'string' || !isJsonObject(body['call']))
    return undefined;
  const { id } = body['call'];
  return typeof id === 'string' ? { sessionId: body['sessionId'], callId: id } : undefined;
}

async function answer(
  { service, limits }: AppContext,
  req: HonoRequest,
  env: Visit,
  { route, checks, actor }: { readonly route: Route; readonly checks: Checks; readonly actor: Actor },
): Promise<Response> {
  const asked = {
    service,
    actor,
    arrivedAt: env.arrivedAt,
    params: req.param(),
    query: readRequestQuery(new URL(req.url), fieldsOf(route.query), checks.query),
    body: checks.body && (await readBody(req.raw, bodyLimits(limits, actor, route), checks.body)),
    headers: req.raw.method === 'HEAD' ? withoutRange(req.raw.headers) : req.raw.headers,
    cut:
      env.cut &&
      (() => {
        service.metrics.noteCutOff();
        env.cut?.();
      }),
  };
  env.call = callOf(asked.params, asked.body);
  // Only POST requests wait. A read ends by itself, and a stream checks its own access.
  const pass = route.method === 'POST' ? service.access.hold(req.raw.method, req.raw.headers) : undefined;
  const signal = pass ? AbortSignal.any([req.raw.signal, service.closing, pass.ended]) : req.raw.signal;
  let answered: unknown;
  try {
    answered = await route.handle({ ...asked, signal });
  } finally {
    pass?.release();
  }
  // A caller whose access ended while it waited gets a refusal, not the answer.
  if (pass?.ended.aborted === true && actor !== anonymous)
    service.access.identify(req.raw.method, req.raw.headers);
  return answered instanceof Response ? answered : toJson(route, answered, req.raw.headers);
}

const smallBodyBytes = 65_536;

function bodyLimits(limits: AppLimits, actor: Actor, { size = 'general' }: Route): BodyLimits {
  const { bytes, values } = limitsOf(size, limits);
  const most = actor === anonymous ? limits.strangerBodyBytes : limits.bodyBytes;
  return { bytes: Math.min(bytes, most), values };
}

/** The runtime works longer on a body than it takes to read it, so its limits are lower. */
function limitsOf(size: BodySize, { bodyBytes, callBytes }: AppLimits): BodyLimits {
  switch (size) {
    case 'general':
      return { bytes: bodyBytes, values: 20_000 };
    case 'judged':
      return { bytes: callBytes, values: 1_000 };
    case 'reported':
      return { bytes: 4 * callBytes, values: 2_000 };
  }
}

/** HEAD describes the whole answer, so a range does not apply. */
function withoutRange(headers: Headers): Headers {
  const left = new Headers(headers);
  left.delete('range');
  return left;
}

const isOurs = (error: unknown): boolean => error instanceof HttpRefusal || isQuittanceError(error);

const wrongMethod = (all: readonly Route[]): HttpRefusal =>
  notTaken(all.map(({ method }) => method).join(', '));

const notTaken = (methods: string): HttpRefusal =>
  new HttpRefusal('http.method_not_allowed', `Use ${methods} here.`, {}, { allow: methods });

type Checks = { readonly query: JsonSchemaChecker; readonly body: JsonSchemaChecker | undefined };

const noQuery = { type: 'object', additionalProperties: false } as const;

const compileChecks = ({ query, body }: Route): Checks => ({
  query: compileJsonSchema(query === undefined ? noQuery : standalone(schemaOf(query))),
  body: body === undefined ? undefined : compileBody(schemaOf(body)),
});

const compileBody = (schema: JsonObject): JsonSchemaChecker =>
  Array.isArray(schema['anyOf'])
    ? checkOptions((schema['anyOf'] as readonly JsonObject[]).map(standalone))
    : compileJsonSchema(standalone(schema));

function toJson(route: Route, answer: unknown, headers: Headers): Response {
  const text = JSON.stringify(answer);
  if (route.method === 'GET') return withEtag(text, 'application/json; charset=utf-8', headers);
  return new Response(text, {
    status: route.status ?? 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
}

/** Checks a value against several alternatives. Issues name the alternative that the value comes closest to. */

export function checkOptions(options: readonly JsonObject[]): JsonSchemaChecker {
  const checks = options.map((option) => compileJsonSchema(option));
  return (value) => {
    const tried = checks.map((check) => check(value));
    if (tried.some((issues) => issues.length === 0)) return [];
    const given = isJsonObject(value) ? Object.keys(value) : [];
    /** Issues about fields that are present, not about missing ones. */
    const wrong = (issues: readonly SchemaIssue[]): readonly SchemaIssue[] =>
      issues.filter(({ path: [field] }) => field === undefined || given.includes(String(field)));
    const wrongFields = tried.map((issues) => new Set(wrong(issues).map(({ path: [field] }) => field)).size);
    const fewest = Math.min(...wrongFields);
    const closest = tried.filter((_, index) => wrongFields[index] === fewest);
    if (closest.length === 1) return closest.flat();
    // Several are equally close: a field that only one of them lacks says nothing about the others.
    if (fewest > 0) return closest.flatMap(wrong);
    const [first = [], ...others] = closest;
    const common = first.filter((issue) =>
      others.every((issues) => issues.some((each) => isAlike(each, issue))),
    );
    return common.length > 0 ? common : closest.flat();
  };
}

const isAlike = (one: SchemaIssue, other: SchemaIssue): boolean =>
  one.message === other.message && one.path.join('/') === other.path.join('/');

/** The OpenAPI 3.1 document, written from the routes and the schemas that requests are checked with. */

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

const problem: JsonObject = {
  description: 'Refused; `detail` says what to do.',
  content: { 'application/problem+json': { schema: ref('Problem') } },
};

function toOpenApi(routes: readonly Route[], version: string): JsonObject {
  const paths: { [path: string]: { [method: string]: JsonValue } } = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = toOperation(route);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Quittance',
      version,
      description: 'Settles the tool calls of agents: every call ends in exactly one typed outcome.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: definitionsFor(paths),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of `quittance tokens create`.' },
      },
    },
  };
}

function toOperation(route: Route): JsonObject {
  const { method, path, access, summary, query, body, headers = {}, answer, status = 200, also = {} } = route;
  const isTagged =
    'If-None-Match' in headers ||
    (method === 'GET' && typeof answer === 'string' && Object.keys(also).length === 0);
  const tagHeader = { 'If-None-Match': 'The ETag of an answer that the client has.' };
  const parameters: JsonValue[] = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...Object.entries(fieldsOf(query)).map(([name, schema]) => ({
      name,
      in: 'query',
      required: query !== undefined && requiredOf(query).includes(name),
      schema,
    })),
    ...Object.entries({ ...(isTagged && tagHeader), ...headers }).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
  ];
  return {
    operationId: toOperationId(method, path),
    summary,
    tags: [path.split('/')[2] ?? 'server'],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: isNeeded(body), content: { 'application/json': { schema: ref(body) } } },
    }),
    security: access === 'anyone' ? [] : [{ token: [] }],
    'x-quittance-role': access,
    responses: {
      [String(status)]: toAnswer(answer),
      ...(isTagged && { 304: { description: 'Unchanged: the ETag that was sent is still current.' } }),
      ...Object.fromEntries(Object.entries(also).map(([other, given]) => [other, toAnswer(given)] as const)),
      default: problem,
    },
  };
}

const requiredOf = (name: string): readonly unknown[] => (schemaOf(name)['required'] ?? []) as JsonValue[];

/** If every field is optional, so is the body. */
const isNeeded = (body: string): boolean =>
  requiredOf(body).length > 0 || schemaOf(body)['anyOf'] !== undefined;

const toAnswer = (answer: Route['answer']): JsonObject =>
  typeof answer === 'string'
    ? { description: 'Success.', content: { 'application/json': { schema: ref(answer) } } }
    : {
        description: 'Success.',
        content: {
          [answer.mediaType]: { schema: toText(answer.message) },
          ...Object.fromEntries((answer.otherTypes ?? []).map((type) => [type, {}] as const)),
          ...(answer.json !== undefined && { 'application/json': { schema: ref(answer.json) } }),
        },
      };

/** OpenAPI cannot describe the messages of a stream, so `contentSchema` says what their `data` holds. */
const toText = (message: string | undefined): JsonObject => ({
  type: 'string',
  ...(message !== undefined && { contentMediaType: 'application/json', contentSchema: ref(message) }),
});

const toOperationId = (method: string, path: string): string =>
  `${method.toLowerCase()}${path
    .replace(/^\/v1/, '')
    .split(/[/{}_-]+/)
    .filter((part) => part !== '')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')}`;

/** The definitions that these values refer to, directly or through others. */
export function definitionsFor(...values: readonly unknown[]): JsonObject {
  const found = new Map<string, JsonObject>();
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const schema = apiSchemas[name];
      if (schema === undefined || found.has(name)) continue;
      found.set(name, schema);
      visit(schema);
    }
  };
  for (const value of values) visit(value);
  return Object.fromEntries(found);
}

/** A schema that compiles on its own. */
export const standalone = (schema: JsonObject): JsonObject => ({
  ...schema,
  components: { schemas: definitionsFor(schema) },
});

export const schemaOf = (name: string): JsonObject => apiSchemas[name] ?? {};

/** The schemas of the fields of an object type. */
export const fieldsOf = (name: string | undefined): Readonly<Record<string, JsonObject>> =>
  name === undefined ? {} : (schemaOf(name)['properties'] as Readonly<Record<string, JsonObject>>);
