import { expect, test } from 'vitest';
import { checkOptions } from './check-options.ts';
import { anyObject, maybe, object, only, text } from './shape.ts';

const check = checkOptions([
  object<{ decision: 'approve'; digest?: string }>({ decision: only('approve'), digest: maybe(text()) }),
  object<{ decision: 'deny'; digest?: string }>({ decision: only('deny'), digest: maybe(text()) }),
  object<{ decision: 'edit'; digest?: string; arguments: object }>({
    decision: only('edit'),
    digest: maybe(text()),
    arguments: anyObject(),
  }),
]);

const told = (value: unknown): string[] => [
  ...new Set(check(value).map(({ path, message }) => `${path.join('.')} ${message}`)),
];

test('what is one of several things is told what it lacks to be the one it is meant to be', () => {
  expect(told({ decision: 'deny' })).toEqual([]);
  expect(told({ decision: 'edit', digest: 'd' })).toEqual(['arguments is required']);
  expect(told({ decision: 'approve', digest: 'd', by: 'Mallory' })).toEqual(['by is not a known property']);
  expect(told({ decision: 'maybe' })).toEqual([
    'decision must be "approve"',
    'decision must be "deny"',
    'decision must be "edit"',
  ]);
  expect(told({})).toEqual(['decision is required']);
  for (const none of [[], 'approve', null]) expect(told(none)).toHaveLength(1);
});
