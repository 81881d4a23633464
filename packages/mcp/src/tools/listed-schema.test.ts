import { expect, test } from 'vitest';
import { readListedSchema } from './tool-from-listed.ts';

const nested = (depth: number): unknown => (depth === 0 ? 7 : { a: nested(depth - 1) });

test.each([
  ['a pattern', { type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`],
  ['a reference to itself', { anyOf: [{ $ref: '#/$defs/x' }] }, nested(40)],
])('%s that takes hours to check ends in time', async (_, property, value) => {
  const twice = {
    type: 'object',
    properties: { a: { anyOf: [{ $ref: '#/$defs/x' }, { $ref: '#/$defs/x' }] } },
  };
  const schema = { type: 'object', properties: { a: property }, $defs: { x: twice } };
  const place = { what: 'output', tool: 'evil' } as const;
  expect(await readListedSchema(schema, place, 50).check({ a: value })).toEqual({
    ok: false,
    issues: [{ path: [], message: 'could not be checked in time' }],
  });
  expect(await readListedSchema(schema, place).check({})).toMatchObject({ ok: true });
});
