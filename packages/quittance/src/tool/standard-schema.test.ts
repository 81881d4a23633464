import { createRuntime, defineTool } from 'quittance';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';

const schemas = {
  'zod 4': z.object({ of: z.union([z.string(), z.object({ id: z.number() })]) }),
  'zod 3': z3.object({ of: z3.union([z3.string(), z3.object({ id: z3.number() })]) }),
  valibot: v.object({ of: v.union([v.string(), v.object({ id: v.number() })]) }),
};

test.each([
  [
    'zod 4',
    true,
    '$.of: Invalid input (expected string, received boolean; or expected object, received boolean)',
  ],
  [
    'zod 4',
    { id: true },
    '$.of: Invalid input (expected string, received object; or $.of.id: expected number, received boolean)',
  ],
  [
    'zod 3',
    { id: true },
    '$.of: Invalid input (Expected string, received object; or $.of.id: Expected number, received boolean)',
  ],
  ['valibot', true, '$.of: Invalid type: Expected (string | Object) but received true'],
  [
    'valibot',
    { id: true },
    '$.of: Invalid type: Expected (string | Object) but received Object ($.of.id: Invalid type: Expected number but received true)',
  ],
] as const)('a union of %s that refuses %j says what its branches expect', async (which, of, details) => {
  const get = defineTool({ name: 'get', input: schemas[which], run: () => 'ok' });
  const turn = createRuntime({ tools: [get] }).turn({ sessionId: 's' });
  expect(await turn.call({ id: 'c1', name: 'get', arguments: { of } })).toMatchObject({ details });
});

test('a union of many branches names the first ones', async () => {
  const numbers = z.union([1, 2, 3, 4, 5, 6].map((number) => z.literal(number)));
  const get = defineTool({ name: 'get', input: z.object({ of: numbers }), run: () => 'ok' });
  const turn = createRuntime({ tools: [get] }).turn({ sessionId: 's' });
  const details = expect.stringContaining('(expected 1; or expected 2; or expected 3;') as string;
  expect(await turn.call({ id: 'c1', name: 'get', arguments: { of: 7 } })).toMatchObject({ details });
});
