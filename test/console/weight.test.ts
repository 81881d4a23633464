import { expect, test } from 'vitest';
import { consoleBudget, weighConsole } from '../../scripts/console-weight.ts';
import { consoleFolderName } from './build.ts';

test('the console weighs no more than its budget', () => {
  const weight = weighConsole(process.env[consoleFolderName] ?? '');
  expect(weight.first).toBeGreaterThan(10_000);
  expect(weight.first).toBeLessThanOrEqual(consoleBudget.first);
  expect(weight.all).toBeLessThanOrEqual(consoleBudget.all);
});
