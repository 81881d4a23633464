/** The OpenAPI 3.1 document, written from the routes and the very shapes they check with. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { problemShape } from './problem-shape.ts';
import type { Route } from './route.ts';
import { isShape } from './route.ts';
import type { AnyShape, Place } from './shape.ts';
import { wholeSchema } from './shape.ts';

export function toOpenApi(routes: readonly Route[], version: string): JsonObject {
  const schemas: { [name: string]: JsonValue } = {};
  const place: Place = (shape) => {
    if (shape.name === undefined) return shape.toSchema(place);
    if (!Object.hasOwn(schemas, shape.name)) {
      schemas[shape.name] = {}; // there before what it is made of may name it
      schemas[shape.name] = shape.toSchema(place);
    }
    return { $ref: `#/components/schemas/${shape.name}` };
  };
  const problem = {
    description: 'Refused; `detail` says what to do.',
    content: { 'application/problem+json': { schema: place(problemShape) } },
  };
  const paths: { [path: string]: { [method: string]: JsonValue } } = {};
  for (const route of routes)
    (paths[route.path] ??= {})[route.method.toLowerCase()] = toOperation(route, place, problem);
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
      schemas,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of `quittance tokens create`.' },
      },
    },
  };
}

function toOperation(route: Route, place: Place, problem: JsonObject): JsonObject {
  const { method, path, access, summary, query, body, headers, answer, status, also } = route;
  const isTagged =
    'If-None-Match' in headers || (method === 'GET' && isShape(answer) && Object.keys(also).length === 0);
  const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const parameters: JsonValue[] = [
    ...params,
    ...Object.entries(query).map(([name, field]) => ({
      name,
      in: 'query',
      required: !('maybe' in field),
      schema: place('maybe' in field ? field.maybe : field),
    })),
    ...Object.entries({
      ...(isTagged && { 'If-None-Match': 'The ETag of an answer that is there already.' }),
      ...headers,
    }).map(([name, description]) => ({
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
      requestBody: { required: isNeeded(body), content: { 'application/json': { schema: place(body) } } },
    }),
    security: access === 'anyone' ? [] : [{ token: [] }],
    'x-quittance-role': access,
    responses: {
      [String(status)]: toAnswer(answer, place),
      ...(isTagged && { 304: { description: 'As it was under the ETag that was sent.' } }),
      ...Object.fromEntries(
        Object.entries(also).map(([other, given]) => [other, toAnswer(given, place)] as const),
      ),
      default: problem,
    },
  };
}

/** Where every field may be left out, so may the body. */
const isNeeded = (body: AnyShape): boolean => {
  const schema = wholeSchema(body);
  return schema['required'] !== undefined || schema['anyOf'] !== undefined;
};

const toAnswer = (answer: Route['answer'], place: Place): JsonObject =>
  isShape(answer)
    ? { description: 'As asked.', content: { 'application/json': { schema: place(answer) } } }
    : {
        description: 'As asked.',
        content: {
          [answer.mediaType]: { schema: toText(answer.message, place) },
          ...Object.fromEntries((answer.otherTypes ?? []).map((type) => [type, {}] as const)),
          ...(answer.json !== undefined && { 'application/json': { schema: place(answer.json) } }),
        },
      };

/** OpenAPI has no word for the messages of a stream: what `data` holds is told beside it. */
const toText = (message: AnyShape | undefined, place: Place): JsonObject => ({
  type: 'string',
  ...(message !== undefined && { contentMediaType: 'application/json', contentSchema: place(message) }),
});

const toOperationId = (method: string, path: string): string =>
  `${method.toLowerCase()}${path
    .replace(/^\/v1/, '')
    .split(/[/{}_-]+/)
    .filter((part) => part !== '')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')}`;
