import { expect, test } from 'vitest';
import type { JsonObject } from 'quittance/internal/base/json';
import { checkOptions } from './app.ts';

const option = (decision: string, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { decision: { const: decision }, digest: { type: 'string' }, ...more },
  required: ['decision', ...Object.keys(more)],
  additionalProperties: false,
});
const check = checkOptions([
  option('approve'),
  option('deny'),
  option('edit', { arguments: { type: 'object' } }),
]);

const answer = (value: unknown): string[] => [
  ...new Set(check(value).map(({ path, message }) => `${path.join('.')} ${message}`)),
];

test('a value that matches no alternative gets the issues of the closest one', () => {
  expect(answer({ decision: 'deny' })).toEqual([]);
  expect(answer({ decision: 'edit', digest: 'd' })).toEqual(['arguments is required']);
  expect(answer({ decision: 'approve', digest: 'd', by: 'Mallory' })).toEqual(['by is not a known property']);
  expect(answer({ decision: 'maybe' })).toEqual([
    'decision must be "approve"',
    'decision must be "deny"',
    'decision must be "edit"',
  ]);
  expect(answer({})).toEqual(['decision is required']);
  for (const none of [[], 'approve', null]) expect(answer(none)).toHaveLength(1);
});
