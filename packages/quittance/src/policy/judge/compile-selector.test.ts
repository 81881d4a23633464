import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sampleCall, sampleWorld } from '../../../../../test/sample-policy.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { readJsonText } from '../../base/json.ts';
import { viewOutput } from './output-view.ts';
import { parseSelector } from '../read/parse-selector.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import { compileSelector, readVariable } from './compile-selector.ts';

function select(
  text: string,
  call: PolicyCall = sampleCall(),
  world: PolicyWorld = sampleWorld(),
  result?: JsonValue,
): JsonValue | undefined {
  const reading = parseSelector(text, new Set());
  if (!reading.ok) throw new Error(reading.problem);
  const output = result === undefined ? undefined : viewOutput({ type: 'result', value: result });
  return compileSelector(reading.selector, world)(call, output);
}

const input: JsonObject = { a: { b: { c: 1 } }, list: ['x', { y: 'z' }], text: 'abc', none: null };

test.each([
  ['args.a.b.c', 1],
  ['args.a.b', { c: 1 }],
  ['args.a.missing.c', undefined],
  ['args.none', undefined],
  ['args.none.deeper', undefined],
  ['args.list.0', 'x'],
  ['args.list.1.y', 'z'],
  ['args.list.2', undefined],
  ['args.list.00', undefined],
  ['args.list.-1', undefined],
  ['args.list.length', undefined],
  ['args.text.length', undefined],
  ['args.text.0', undefined],
  ['tool.name', 'Bash'],
  ['environment', 'production'],
])('%s gives %j', (text, expected) => {
  expect(select(text, sampleCall(input))).toEqual(expected);
});

test.each([
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'length',
  'constructor.name',
  '__proto__.x',
])('%s selects nothing unless it was sent', (path) => {
  for (const holder of [{ a: {} }, { a: [] }, { a: 'text' }, { a: 1 }, { a: [[]] }])
    expect(select(`args.a.${path}`, sampleCall(holder))).toBeUndefined();
  expect(select(`args.${path}`)).toBeUndefined();
  expect(select(`metadata.${path}`, sampleCall({}, { metadata: {} }))).toBeUndefined();
  expect(select(`principal.claims.${path}`, sampleCall({}, { principal: { claims: {} } }))).toBeUndefined();
  expect(select(`result.${path}`, sampleCall(), sampleWorld(), {})).toBeUndefined();
});

test('prototype keys that were sent are plain data', () => {
  const sent = readJsonText('{"__proto__": {"admin": true}, "constructor": "x"}') as JsonObject;
  expect(select('args.__proto__.admin', sampleCall(sent))).toBe(true);
  expect(select('args.constructor', sampleCall(sent))).toBe('x');
});

test('for any path and arguments, only values that JSON would show are found', () => {
  const key = fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'length', 'a', '0', 'valueOf'),
    fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('.')),
  );
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(key, { minLength: 1, maxLength: 4 }), (value, path) => {
      const found = select(`args.root.${path.join('.')}`, sampleCall({ root: value as JsonValue }));
      expect(JSON.stringify(value)).toContain(found === undefined ? '' : JSON.stringify(found));
    }),
  );
});

test('the fields of a principal are selected by the words of the language', () => {
  const call = sampleCall(
    {},
    {
      principal: {
        userId: 'u',
        serviceId: 's',
        orgId: 'o',
        role: 'r',
        ticketRef: 't',
        claims: { team: { id: 7 } },
      },
    },
  );
  const found = ['user_id', 'service_id', 'org_id', 'role', 'ticket_ref', 'claims.team.id'].map((field) =>
    select(`principal.${field}`, call),
  );
  expect(found).toEqual(['u', 's', 'o', 'r', 't', 7]);
  expect(select('principal.role')).toBeUndefined();
});

test('metadata, snapshot and result are followed like arguments', () => {
  const call = sampleCall({}, { metadata: { x: { y: 1 } }, snapshot: { rows: 3 } });
  expect(select('metadata.x.y', call)).toBe(1);
  expect(select('snapshot.rows', call)).toBe(3);
  expect(select('result.rows.0', call, sampleWorld(), { rows: [4] })).toBe(4);
  expect(select('result.rows', call)).toBeUndefined();
});

test('the text of an output is the text itself, or its JSON', () => {
  expect(select('output.text', sampleCall(), sampleWorld(), 'plain "text"')).toBe('plain "text"');
  expect(select('output.text', sampleCall(), sampleWorld(), { a: ['"'] })).toBe(String.raw`{"a":["\""]}`);
  expect(select('output.text')).toBeUndefined();
});

test.each([
  ['true', true],
  ['False', false],
  ['42', 42],
  ['-7', -7],
  ['0.5', 0.5],
  ['1e3', 1000],
  ['', ''],
  [' 1', ' 1'],
  ['0x10', '0x10'],
  ['1_000', '1_000'],
  ['NaN', 'NaN'],
  ['Infinity', 'Infinity'],
  ['1e999', '1e999'],
  ['yes', 'yes'],
])('the variable %j is read as %j', (text, expected) => {
  expect(readVariable(text)).toBe(expected);
  expect(
    select('env.NAME', sampleCall(), sampleWorld({ env: (name) => (name === 'NAME' ? text : undefined) })),
  ).toBe(expected);
});
