import { expect, test } from 'vitest';
import { withoutRoutes } from '../../packages/console/src/api/without-routes.ts';
import { toHttpWords } from '../../packages/server/src/http/problem.ts';
import type { ErrorCode } from '../../packages/quittance/src/base/error.ts';
import { errorTable } from '../../packages/quittance/src/base/error.ts';

test('errors in the console name no route of the API, and say the rest', () => {
  expect(withoutRoutes('There is no session "a". GET /v1/sessions lists them.')).toBe(
    'There is no session "a".',
  );
  expect(withoutRoutes('No call. Check both ids; GET /v1/calls?sessionId=… lists the calls.')).toBe(
    'No call. Check both ids.',
  );
  expect(withoutRoutes('Not now.')).toBe('Not now.');
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const text = withoutRoutes(toHttpWords(code, 'It happened.').detail);
    expect([code, text]).toEqual([code, expect.not.stringMatching(/[A-Z] \/v1/)]);
    expect(text).toMatch(/[.!?]$/);
  }
});
