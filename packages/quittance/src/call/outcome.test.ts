import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyOutcome } from '../../../../test/arbitrary-outcome.ts';
import { thrownBy } from '../../../../test/thrown-by.ts';
import type { ToolOutcome } from './outcome.ts';
import {
  denialReasons,
  isDenialReason,
  outcomeBlocksTool,
  outcomeIsError,
  outcomeIsRetryable,
  unwrap,
} from './outcome.ts';
import { reasonCodes, reasonOf } from './reason.ts';
import { ToolError } from './tool-error.ts';

const head = { callId: 'c_42', toolName: 'refund' } as const;
const failure = (code: (typeof reasonCodes)[number], retryable: boolean): ToolOutcome => ({
  type: 'ToolFailure',
  ...head,
  code,
  error: 'x',
  retryable,
  elapsedMs: 1,
});

describe('what follows from an outcome', () => {
  test('an error, a retry and a blocked tool follow from its type, its field and its code', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const isError = outcome.type === 'ToolTimeout' || outcome.type === 'ToolFailure';
        expect(outcomeIsError(outcome)).toBe(isError);
        expect(outcomeIsRetryable(outcome)).toBe('retryable' in outcome && outcome.retryable);
        expect(outcomeBlocksTool(outcome)).toBe(
          isError &&
            !outcome.retryable &&
            outcome.blocksTool === undefined &&
            reasonOf(outcome.code).blocksTool,
        );
      }),
    );
  });

  test.each(['policy.output', 'tool.fixture_missing', 'tool.indeterminate', 'tool.unknown'] as const)(
    '%s never blocks the tool',
    (code) => {
      expect(outcomeBlocksTool(failure(code, false))).toBe(false);
    },
  );

  test('a failure that its author marked retryable does not block the tool, one marked final does', () => {
    expect(outcomeBlocksTool(failure('tool.invalid_output', true))).toBe(false);
    expect(outcomeBlocksTool(failure('tool.network_error', false))).toBe(true);
  });
});

describe('unwrap', () => {
  const unwrapped = (outcome: ToolOutcome): unknown => thrownBy(() => unwrap(outcome));

  test('returns the output, or the reference of a large output', () => {
    expect(
      unwrap({ type: 'ToolExecutionResult', ...head, output: [1, null], elapsedMs: 1, wasCoerced: false }),
    ).toEqual([1, null]);
    expect(
      unwrap({
        type: 'ToolArtifactReference',
        ...head,
        artifactId: 'art_1',
        summary: 'Long.',
        sizeBytes: 99,
        elapsedMs: 1,
        wasCoerced: false,
      }),
    ).toEqual({ artifactId: 'art_1', summary: 'Long.', sizeBytes: 99 });
  });

  test('throws a failure with its reason and extras', () => {
    const extras = { exception_type: 'RangeError', reason: 'mine' };
    expect(
      unwrapped({
        type: 'ToolFailure',
        ...head,
        code: 'tool.execution_error',
        error: 'It broke.',
        retryable: false,
        elapsedMs: 1,
        payloadExtras: extras,
      }),
    ).toMatchObject({
      reason: 'tool.execution_error',
      problem: 'It broke.',
      message: `tool.execution_error: It broke. ${reasonOf('tool.execution_error').whatToDo}`,
      retryable: false,
      payloadExtras: extras,
    });
  });

  test('throws a timeout with its times', () => {
    expect(
      unwrapped({
        type: 'ToolTimeout',
        ...head,
        code: 'tool.timeout',
        deadlineMs: 1_000,
        elapsedMs: 250,
        retryable: true,
      }),
    ).toMatchObject({
      reason: 'tool.timeout',
      problem: 'Tool "refund" did not finish before its deadline; it was stopped after 250 ms.',
      message: expect.stringMatching(/^tool\.timeout: Tool "refund" did not finish .* ms\. \w/) as string,
      retryable: true,
      payloadExtras: { deadline_ms: 1_000, elapsed_ms: 250 },
    });
  });

  test('throws a denial with its reason and details', () => {
    expect(
      unwrapped({
        type: 'ToolDenied',
        ...head,
        code: 'policy.contract',
        reason: 'contract',
        details: 'Too much.',
      }),
    ).toMatchObject({
      reason: 'policy.contract',
      problem: 'Tool "refund" was denied (contract): Too much.',
      message: `policy.contract: Tool "refund" was denied (contract): Too much. ${reasonOf('policy.contract').whatToDo}`,
      retryable: false,
      payloadExtras: { denial_reason: 'contract', details: 'Too much.' },
    });
  });

  test('returns a value for a success and throws a ToolError for everything else', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const thrown = unwrapped(outcome);
        const succeeded = /^Tool(?:Execution|Artifact)/.test(outcome.type);
        expect(thrown instanceof ToolError).toBe(!succeeded);
        expect(thrown instanceof ToolError && thrown.reason).toBe('code' in outcome && outcome.code);
      }),
    );
  });
});

describe('the denial reasons', () => {
  test('each code of a gate belongs to one of them, except the twin guard’s, which belongs to two', () => {
    const listed = Object.values(denialReasons).flatMap(({ codes }) => codes);
    // The twin guard denies at once, or asks a person who may not answer.
    expect(listed.filter((code, at) => listed.indexOf(code) !== at)).toEqual(['call.twin']);
    expect(listed.every((code) => reasonCodes.includes(code))).toBe(true);
    const never = reasonCodes.filter((code) => !listed.includes(code));
    expect(never.every((code) => /^(?:tool|ledger)\.|^policy\.output$/.test(code))).toBe(true);
  });

  test('are looked up among own keys only', () => {
    expect(isDenialReason('write_denied')).toBe(true);
    for (const other of ['toString', '__proto__', 'Duplicate', '', null])
      expect(isDenialReason(other)).toBe(false);
  });

  test('are immutable', () => {
    expect(Object.isFrozen(denialReasons) && Object.isFrozen(denialReasons.budget.codes)).toBe(true);
  });
});
