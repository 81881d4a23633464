import { expect, test } from 'vitest';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import type { ToolRow } from '../../packages/server/src/http/api/tool.ts';
import { scaleFor } from '../../packages/console/src/charts/scale.ts';
import { formatShare, toneOfShare } from '../../packages/console/src/pages/tools/format-share.ts';
import { describeSchema, schemaFields } from '../../packages/console/src/pages/tools/schema-fields.ts';
import { findTools, isToolOrder, sortTools } from '../../packages/console/src/pages/tools/sort-tools.ts';
import { sampleOf } from '../../packages/console/src/ui/sample-of.ts';

const none = { succeeded: 0, failed: 0, timedOut: 0, denied: 0, indeterminate: 0, open: 0 };
const tool = (name: string, more: Partial<ToolRow> = {}): ToolRow => ({
  name,
  known: true,
  description: undefined,
  mode: 'read',
  modeOrigin: 'declared',
  handoff: false,
  calls: 0,
  outcomes: none,
  errorRate: undefined,
  latency: { count: 0, p50Ms: undefined, p90Ms: undefined, p95Ms: undefined, p99Ms: undefined },
  costMicros: 0,
  schemaDigest: undefined,
  drifted: false,
  ...more,
});
const names = (rows: readonly ToolRow[]): readonly string[] => rows.map(({ name }) => name);

test('numbers start with the greatest, names with the first, and the reverse order is the opposite', () => {
  const rows = [tool('b', { calls: 3 }), tool('C', { calls: 7 }), tool('a', { calls: 3 })];
  expect(names(sortTools(rows, 'calls', false))).toEqual(['C', 'a', 'b']);
  expect(names(sortTools(rows, 'calls', true))).toEqual(['a', 'b', 'C']);
  expect(names(sortTools(rows, 'name', false))).toEqual(['a', 'b', 'C']);
  expect(names(sortTools(rows, 'name', true))).toEqual(['C', 'b', 'a']);
});

test('a tool without a number comes last in either order', () => {
  const rows = [tool('never'), tool('bad', { errorRate: 0.5 }), tool('good', { errorRate: 0 })];
  expect(names(sortTools(rows, 'errors', false))).toEqual(['bad', 'good', 'never']);
  expect(names(sortTools(rows, 'errors', true))).toEqual(['good', 'bad', 'never']);
});

test('an invalid order in the address is ignored', () => {
  expect(isToolOrder('p95')).toBe(true);
  expect(isToolOrder('constructor')).toBe(false);
  expect(isToolOrder(null)).toBe(false);
});

test('tools are found by name, description and mode', () => {
  const rows = [tool('refund', { description: 'Money back.' }), tool('drop_table', { mode: 'destructive' })];
  expect(names(findTools(rows, ' MONEY '))).toEqual(['refund']);
  expect(names(findTools(rows, 'destr'))).toEqual(['drop_table']);
  expect(names(findTools(rows, ''))).toEqual(['refund', 'drop_table']);
});

test('a small share is never shown as zero, and a large one never as all', () => {
  expect([undefined, 0, 0.0004, 0.125, 0.9996, 1].map(formatShare)).toEqual([
    '–',
    '0.0 %',
    '<0.1 %',
    '12.5 %',
    '>99.9 %',
    '100.0 %',
  ]);
  expect([undefined, 0, 0.1, 0.5].map(toneOfShare)).toEqual(['quiet', 'quiet', 'attention', 'bad']);
});

const order: JsonObject = {
  type: 'object',
  required: ['order', 'items'],
  properties: {
    order: { type: 'string', description: 'Its number.', pattern: '^A-' },
    items: {
      type: 'array',
      items: { type: 'object', required: ['cents'], properties: { cents: { type: 'integer', minimum: 1 } } },
    },
    currency: { enum: ['eur', 'usd'] },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
};

test('a schema is listed field by field, lists with their items', () => {
  expect(schemaFields(order)).toEqual([
    { path: 'order', type: 'string, like ^A-', required: true, description: 'Its number.' },
    { path: 'items', type: 'list of object', required: true, description: undefined },
    { path: 'items[].cents', type: 'integer, 1 or more', required: true, description: undefined },
    { path: 'currency', type: '"eur" or "usd"', required: false, description: undefined },
    { path: 'note', type: 'string or null', required: false, description: undefined },
  ]);
});

test('bounds that say nothing about an integer are left out', () => {
  expect(describeSchema({ type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 })).toBe(
    'integer',
  );
});

test('schemas that contradict themselves, and recursive ones, are shown as far as possible', () => {
  const deep: { [name: string]: JsonObject } = {};
  let at = deep;
  for (let depth = 0; depth < 5_000; depth++) {
    const inner: { [name: string]: JsonObject } = {};
    at['properties'] = { a: inner };
    at = inner;
  }
  expect(schemaFields(deep).length).toBeLessThan(20);
  expect(describeSchema({ anyOf: [deep] })).toBe('anything');
  const own = JSON.parse(
    '{"properties":{"__proto__":{"type":"string"},"constructor":7},"required":"all"}',
  ) as JsonObject;
  expect(schemaFields(own)).toEqual([
    { path: '__proto__', type: 'string', required: false, description: undefined },
  ]);
  const wide = { properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`f${n}`, {}])) };
  expect(schemaFields(wide).length).toBe(200);
});

test('starter arguments have the required fields, of the right type', () => {
  expect(sampleOf(order)).toEqual({ order: '', items: [] });
  expect(
    sampleOf({
      required: ['a', 'b', 'c', 'd', 'e', '__proto__'],
      properties: JSON.parse(
        '{"a":{"type":"integer","exclusiveMinimum":0},"b":{"default":true},"c":{"const":"x"},"d":{"oneOf":[{"type":"boolean"}]},"e":{"type":["null","string"]},"__proto__":{"type":"string"}}',
      ) as JsonObject,
    }),
  ).toEqual(JSON.parse('{"a":1,"b":true,"c":"x","d":false,"e":null,"__proto__":""}'));
  expect(sampleOf(undefined)).toEqual({});
});

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [7, [0, 2, 4, 6, 8]],
  [99, [0, 25, 50, 75, 100]],
])('a chart up to %d has whole steps', (most, ticks) => {
  expect(scaleFor(most).ticks).toEqual(ticks);
});
