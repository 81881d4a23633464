/** The source document on ToolError: each reason code it lists, under its heading. */
import { describe, expect, test } from 'vitest';
import { thrownBy } from '../../../../test/thrown-by.ts';
import { unwrap } from './outcome.ts';
import type { ReasonCode } from './reason.ts';
import { reasonOf } from './reason.ts';
import { isToolError } from './tool-error.ts';

describe('Quick fix by category', () => {
  test.each<readonly [ReasonCode, string, boolean]>([
    ['tool.timeout', 'retry', true],
    ['tool.network_error', 'retry', true],
    ['tool.invalid_input', 'your inputs', false],
    ['tool.invalid_output', "the tool's author", false],
    ['tool.execution_error', "the tool's author", true],
    ['tool.fixture_missing', 're-record', false],
    ['budget.tool_calls_exhausted', 'budget', false],
    ['budget.cost_exhausted', 'budget', false],
  ])('%s: %s', (code, whoseMove, retryable) => {
    expect(reasonOf(code)).toMatchObject({ whoseMove, retryable });
  });
});

test('the reason and the payload extras are on the exception', () => {
  const error = thrownBy(() =>
    unwrap({
      type: 'ToolFailure',
      callId: 'c_42',
      toolName: 'refund',
      code: 'tool.execution_error',
      error: 'It broke.',
      retryable: true,
      elapsedMs: 1,
      payloadExtras: { exception_type: 'RangeError' },
    }),
  );
  expect(isToolError(error)).toBe(true);
  expect(error).toMatchObject({
    reason: 'tool.execution_error',
    payloadExtras: { exception_type: 'RangeError' },
  });
});
