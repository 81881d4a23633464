/** A server cannot keep the gateway busy with schemas, lists or announcements. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { readListedSchema } from '../../../packages/mcp/src/tools/tool-from-listed.ts';
import { compileJsonSchema } from '../../../packages/quittance/src/tool/schema.ts';
import { readForeignSchema, schemaBounds } from '../../../packages/quittance/src/tool/foreign-schema.ts';
import type { JsonObject, JsonValue } from '../../../packages/quittance/src/base/json.ts';
import { postModern, startRawServer, WithError, WithNotices } from './raw-server.ts';
import type { StartedGateway } from './start-gateway.ts';
import { startGateway } from './start-gateway.ts';

const many = (count: number, make: (index: number) => JsonValue): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, make(index)]));
const list = (count: number, make: (index: number) => JsonValue): JsonValue[] =>
  Array.from({ length: count }, (_, index) => make(index));
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});
const nested = (depth: number, wrap: (inner: JsonObject) => JsonObject): JsonObject => {
  let schema: JsonObject = { type: 'string' };
  for (let level = 0; level < depth; level++) schema = wrap(schema);
  return schema;
};
/** Each definition refers to the next one several times. */
const bomb = (levels: number, refer: (ref: JsonObject) => JsonObject): JsonObject =>
  object(
    { a: { $ref: '#/$defs/p0' } },
    {
      $defs: many(levels, (index) =>
        index + 1 < levels ? refer({ $ref: `#/$defs/p${index + 1}` }) : { type: 'string' },
      ),
    },
  );

describe.each<[string, JsonObject]>([
  [
    'with 93 KB of alternatives',
    object({ a: { oneOf: list(1_900, (index) => ({ type: 'string', const: `${index}` })) } }),
  ],
  ['whose references double', bomb(30, (ref) => object({ a: ref, b: ref }))],
  ['whose references double in place', bomb(30, (ref) => ({ allOf: [ref, ref] }))],
  ['with thousands of properties', object(many(5_000, () => ({ type: 'string', minLength: 1 })))],
  ['with thousands of misspelt keywords', object(many(2_000, () => ({ type: 'string', requird: true })))],
  ['with thousands of unknown formats', object(many(2_000, () => ({ type: 'string', format: 'nope' })))],
  ['nested a thousand times', nested(1_000, (inner) => object({ a: inner }))],
  ['with negations in negations', object({ a: nested(900, (inner) => ({ not: inner })) })],
  ['with a long list of values', object({ a: { enum: list(20_000, (index) => ({ v: index })) } })],
  ['with long names', object({ ['x'.repeat(200_000)]: { type: 'string' } })],
  ['with a long pattern', object({ a: { type: 'string', pattern: '(a|b)*'.repeat(20_000) } })],
  [
    'with many conditions',
    object({}, { allOf: list(800, (index) => ({ if: { const: index }, else: { maxProperties: 9 } })) }),
  ],
  [
    'with many dependencies',
    object({}, { dependentSchemas: many(900, (index) => ({ required: [`x${index}`] })) }),
  ],
])('a schema %s', (_, schema) => {
  it('is cut down to what compiles quickly, and still checks types', async () => {
    const { schema: kept } = readForeignSchema(schema);
    expect(JSON.stringify(kept).length).toBeLessThanOrEqual(2 * schemaBounds.characters);
    const read = readListedSchema(schema, { what: 'input', tool: 'evil' });
    expect(await read.check({})).toMatchObject({ ok: true });
    expect(await read.check([])).toMatchObject({ ok: false });
  });
});

const limited = { type: 'string', maxLength: 1 };
const { characters, values, schemas, branches, depth, expansion } = schemaBounds;
const spread = Math.ceil(Math.sqrt(expansion));
describe.each<[string, JsonObject]>([
  ['characters', { description: 'x'.repeat(characters + 1) }],
  ['values', { examples: list(values + 1, (index) => index) }],
  ['schemas', { $defs: many(schemas + 1, () => ({})) }],
  ['branches', { anyOf: list(branches + 1, () => ({})) }],
  ['depth', { not: { not: nested(depth, (inner) => ({ not: inner })) } }],
  [
    'references',
    {
      $defs: {
        one: { anyOf: list(Math.min(spread, 45), () => ({ $ref: '#/$defs/two' })) },
        two: object(many(Math.min(spread, 60), () => ({ $ref: '#/$defs/one' }))),
      },
    },
  ],
])('a schema with too many %s, and nothing else that is large', (_, more) => {
  it('is checked in part', async () => {
    const { schema: kept } = readForeignSchema(object({ a: limited }, more));
    expect(kept).toEqual(object({ a: { type: 'string' } }));
  });
});

it('a pattern that is long is left out, and so is one for names that repeats more than one thing', () => {
  const long = { type: 'string', pattern: 'a'.repeat(2_000), maxLength: 1 };
  expect(readForeignSchema(object({ a: long })).schema).toEqual(object({ a: limited }));
  const names = object({ a: limited }, { patternProperties: { '^(a+)+$': {} }, additionalProperties: false });
  expect(readForeignSchema(names).schema).toEqual(object({ a: limited }));
});

it('unknown keywords beyond a hundred are left out, and the rest of the schema stays', () => {
  const strange = many(150, (index) => index);
  const { schema: kept } = readForeignSchema({ ...object({ a: limited }), ...strange });
  expect(kept).toMatchObject(object({ a: limited }));
  expect(Object.keys(kept)).toHaveLength(2 + 100);
});

it('a definition is compiled once, however many references lead to it', () => {
  const readsWith = (references: number): number => {
    let reads = 0;
    const target = {
      type: 'object',
      get required(): JsonValue {
        reads += 1;
        return ['b', 'c'];
      },
    };
    compileJsonSchema({ ...object(many(references, () => ({ $ref: '#/$defs/t' }))), $defs: { t: target } });
    return reads;
  };
  expect(readsWith(100)).toBe(readsWith(1));
});

describe.each<[string, JsonObject, JsonValue]>([
  ['a format that tracks back', { type: 'string', format: 'url' }, `http://${'::'.repeat(400_000)}::1g`],
  ['a pattern that tracks back', { type: 'string', pattern: '^(a|aa)+$' }, `${'a'.repeat(60)}!`],
  ['unique items', { type: 'array', uniqueItems: true }, list(20_000, (index) => ({ a: { b: index } }))],
  [
    'alternatives for each of many items',
    {
      type: 'array',
      items: { anyOf: list(branches - 5, (index) => ({ type: 'object', required: [`r${index}`] })) },
    },
    list(100_000, () => ({})),
  ],
  [
    'a quadratic pattern for names',
    { patternProperties: { 'a*b': { type: 'string' } } },
    { ['a'.repeat(200_000)]: 1 },
  ],
  [
    'contains in contains',
    {
      type: 'array',
      contains: { type: 'array', contains: { type: 'array', uniqueItems: true, minItems: 1_000_000 } },
    },
    list(500, () => list(200, () => [1, 2, 3])),
  ],
])('a check with %s', (_, property, value) => {
  it('ends in time, whatever is checked', async () => {
    const read = readListedSchema(object({ a: property }), { what: 'output', tool: 'evil' });
    expect(await read.check({ a: value })).toMatchObject({ ok: false });
  });
});

it('a small schema within the bounds is kept whole', () => {
  const schema = object(
    many(100, () => ({ type: 'string', description: 'x'.repeat(100), enum: ['a', 'b'] })),
  );
  expect(readForeignSchema(schema).schema).toEqual(schema);
});

describe('a server with long lists', () => {
  const listOf = async (field: string, entries: readonly object[]): Promise<StartedGateway> => {
    const server = await startRawServer(({ method }) => ({
      resultType: 'complete',
      tools: [],
      ...(method === `${field}/list` && { [field]: entries }),
    }));
    return startGateway([server.entry], { observe: true });
  };
  const inputSchema = { type: 'object' };

  it('a server with long lists of tools is listed up to a thousand of them', async () => {
    const tools = Array.from({ length: 1_100 }, (_, index) => ({ name: `get_${index}`, inputSchema }));
    const { gateway } = await listOf('tools', tools);
    expect(gateway.status().servers[0]?.tools).toBe(1_000);
  });

  it('a server with long lists of tools is listed up to a size', async () => {
    const examples = Array.from({ length: 30_000 }, (_, index) => index);
    const tools = list(10, (index) => ({ name: `get_${index}`, inputSchema: { ...inputSchema, examples } }));
    const { gateway } = await listOf('tools', tools as readonly object[]);
    expect(gateway.status().servers[0]?.tools).toBe(3);
  });

  it('a server with long lists of prompts is shown up to ten thousand of them', async () => {
    const { url } = await listOf(
      'prompts',
      Array.from({ length: 10_100 }, (_, index) => ({ name: `p${index}` })),
    );
    const { result } = await postModern(url, 'prompts/list');
    expect(result?.['prompts']).toHaveLength(10_000);
  });
});

describe('a server that says more than half a million characters', () => {
  const long = 'https://a:b@'.repeat(45_000);
  const part = (type: string): object => ({ type, data: 'A'.repeat(540_000), mimeType: 'image/png' });
  const keys = Object.fromEntries(Array.from({ length: 75_000 }, (_, index) => [`k${index}`, '']));
  it.each<[string, unknown]>([
    ['in a text', { content: [{ type: 'text', text: long }] }],
    ['in structured content', { content: [], structuredContent: { a: long } }],
    ['in a name', { content: [{ type: 'resource_link', uri: 'test://a', name: long }] }],
    ['in metadata', { content: [], _meta: { a: long } }],
    ['in many parts', { content: list(25_000, () => ({ type: 'text', text: 'a' })) }],
    ['in many keys', { content: [], structuredContent: keys }],
    ['in many numbers', { content: [], structuredContent: { a: list(26_000, (index) => 4e15 + index) } }],
    ['in many empty texts', { content: [], structuredContent: { a: list(500_001, () => '') } }],
    ['in the data of a text', { content: [part('text')] }],
    ['in an error', new WithError({ code: -1, message: long, data: { a: long } })],
  ])('%s is not looked through', async (_, result) => {
    const server = await startRawServer(({ method }) =>
      method === 'tools/list' ? { tools: [{ name: 'get_note', inputSchema: { type: 'object' } }] } : result,
    );
    const { url } = await startGateway([server.entry], { observe: true });
    const text = JSON.stringify(await postModern(url, 'tools/call', { name: 'get_note', arguments: {} }));
    expect(text.length).toBeLessThan(20_000);
    expect(text).toMatch(/more than half a million characters|"code":-1/);
  });

  it.each<[string, object]>([
    ['as much in a picture', part('image')],
    ['as much in a file', { type: 'resource', resource: { uri: 'test://a', blob: 'A'.repeat(540_000) } }],
    ['a little less in a text', { type: 'text', text: 'a line of a log\n'.repeat(30_000) }],
  ])('may send %s', async (_, content) => {
    const server = await startRawServer(({ method }) =>
      method === 'tools/list'
        ? { tools: [{ name: 'get_note', inputSchema: { type: 'object' } }] }
        : { content: [content] },
    );
    const { url } = await startGateway([server.entry], { observe: true });
    const { result } = await postModern(url, 'tools/call', { name: 'get_note', arguments: {} });
    expect(result).not.toHaveProperty('isError');
  });
});

describe('a server whose tools change', () => {
  const toolNamed = (description: string): object => ({
    name: 'get_note',
    description,
    inputSchema: { type: 'object', properties: {} },
  });

  it('a server whose tools change with each listing is taken over a limited number of times', async () => {
    let listings = 0;
    const server = await startRawServer(({ method }) =>
      method === 'tools/list'
        ? { resultType: 'complete', tools: [toolNamed(`version ${(listings += 1)}`)] }
        : { resultType: 'complete', content: [] },
    );
    const { url } = await startGateway([server.entry], { observe: true });
    const seen = new Set<unknown>();
    for (let round = 0; round < 60; round++) {
      const { result } = await postModern(url, 'tools/list');
      seen.add(JSON.stringify(result?.['tools']));
    }
    expect(listings).toBeGreaterThan(50);
    expect(seen.size).toBeLessThan(25);
  });

  it('a server whose tools change and says so thousands of times, is listed a few times', async () => {
    let listings = 0;
    const storm = Array.from({ length: 5_000 }, () => ({ method: 'notifications/tools/list_changed' }));
    const server = await startRawServer(({ method }) => {
      if (method === 'tools/call') return new WithNotices(storm, { resultType: 'complete', content: [] });
      listings += 1;
      return { resultType: 'complete', tools: [toolNamed('steady')] };
    });
    const { url } = await startGateway([server.entry], { observe: true });
    for (let round = 0; round < 3; round++)
      await postModern(url, 'tools/call', { name: 'get_note', arguments: {} });
    // At most one a second, however slow the machine is.
    expect(listings).toBeLessThan(300);
  });

  it('a server whose tools change and says so on the connection that clients share, is listed a few times', async () => {
    let listings = 0;
    const storm = Array.from({ length: 500 }, () => ({ method: 'notifications/tools/list_changed' }));
    const server = await startRawServer(
      ({ method }) => {
        if (method === 'tools/call') return new WithNotices(storm, { content: [] });
        listings += 1;
        return { tools: [toolNamed('steady')] };
      },
      { era: 'legacy' },
    );
    const { url } = await startGateway([server.entry], { observe: true });
    for (let round = 0; round < 3; round++)
      await postModern(url, 'tools/call', { name: 'get_note', arguments: {} });
    expect(listings).toBeLessThan(6);
  });

  it('a server whose tools change and that lists hundreds of large tools, leaves the event loop free in between', async () => {
    const tools = Array.from({ length: 300 }, (_, index) => ({
      name: `get_note_${index}`,
      inputSchema: object(many(30, () => ({ type: 'string', minLength: index }))),
    }));
    const server = await startRawServer(({ method }) =>
      method === 'tools/list' ? { resultType: 'complete', tools } : { resultType: 'complete' },
    );
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const { gateway } = await startGateway([server.entry], { observe: true });
    delay.disable();
    expect(gateway.status().servers[0]?.tools).toBeGreaterThan(100);
    // Other work ran between the tools: the loop was sampled many times.
    expect(delay.count).toBeGreaterThan(20);
  });
});
