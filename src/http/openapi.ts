/** The OpenAPI 3.1 document, written from the routes and the schemas that requests are checked with. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Route } from './route.ts';
import { definitionsFor, fieldsOf, schemaOf } from './schema-of.ts';

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

const problem: JsonObject = {
  description: 'Refused; `detail` says what to do.',
  content: { 'application/problem+json': { schema: ref('Problem') } },
};

export function toOpenApi(routes: readonly Route[], version: string): JsonObject {
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
