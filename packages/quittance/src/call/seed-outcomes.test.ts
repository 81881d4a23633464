/** The source document on outcomes, row by row. docs/deviations.md lists deliberate deviations. */
import { describe, expect, test } from 'vitest';
import { outcomeToModelContent } from './model-content.ts';
import type { DenialReason, ToolOutcome } from './outcome.ts';
import {
  denialReasons,
  outcomeBlocksTool,
  outcomeIsError,
  outcomeIsRetryable,
  TOOL_MESSAGE_MAX_CHARS,
} from './outcome.ts';
import { outcomeToWire } from './outcome-wire.ts';

const head = { callId: 'c_42', toolName: 'create_event' } as const;
const execution: ToolOutcome = {
  type: 'ToolExecutionResult',
  ...head,
  output: { eventId: 'e_777' },
  elapsedMs: 12,
  wasCoerced: false,
};
const timeout = (retryable: boolean): ToolOutcome => ({
  type: 'ToolTimeout',
  ...head,
  code: 'tool.timeout',
  deadlineMs: 1_778_846_400_500,
  elapsedMs: 12,
  retryable,
});
const failure = (retryable: boolean): ToolOutcome => ({
  type: 'ToolFailure',
  ...head,
  code: 'tool.execution_error',
  error: 'It broke.',
  retryable,
  elapsedMs: 12,
});
const denied = (reason: DenialReason, details = 'Because.'): ToolOutcome => ({
  type: 'ToolDenied',
  ...head,
  code: denialReasons[reason].codes[0],
  reason,
  details,
});
const artifact: ToolOutcome = {
  type: 'ToolArtifactReference',
  ...head,
  artifactId: 'art_1',
  summary: 'Rows…',
  sizeBytes: 20_000,
  elapsedMs: 12,
  wasCoerced: false,
};

describe('The Five Outcome Types', () => {
  test.each([
    ['ToolExecutionResult', execution, ['call_id', 'tool_name', 'output', 'elapsed_ms', 'was_coerced']],
    ['ToolTimeout', timeout(true), ['call_id', 'tool_name', 'deadline_s', 'elapsed_ms', 'retryable']],
    ['ToolFailure', failure(true), ['call_id', 'tool_name', 'error', 'retryable', 'elapsed_ms']],
    ['ToolDenied', denied('duplicate'), ['call_id', 'tool_name', 'reason', 'details']],
    ['ToolArtifactReference', artifact, ['call_id', 'tool_name', 'artifact_id', 'summary', 'size_bytes']],
  ] as const)('%s has its fields on the wire', (type, outcome, fields) => {
    const wire = outcomeToWire(outcome);
    expect(wire['type']).toBe(type);
    expect(Object.keys(wire)).toEqual(expect.arrayContaining([...fields]));
  });

  test('deadline_s is the absolute deadline in seconds', () => {
    expect(outcomeToWire(timeout(true))['deadline_s']).toBe(1_778_846_400.5);
  });

  test('TOOL_MESSAGE_MAX_CHARS is 12,000', () => {
    expect(TOOL_MESSAGE_MAX_CHARS).toBe(12_000);
  });
});

describe('reason of a denial', () => {
  test.each([
    ['duplicate', /idempotent tool with an earlier successful call/],
    ['blocked', /failed earlier in a way that may not be retried/],
    ['pre_hook', /hook of the host that blocked the call/],
    ['validation', /after coercion and the repair callback/],
    ['deadline', /deadline of the turn.* before the body could start/],
    ['write_denied', /person who denied the call/],
  ] as const)('%s says who produces it', (reason, producedBy) => {
    expect(denialReasons[reason].producedBy).toMatch(producedBy);
  });
});

describe('Model sees', () => {
  test('ToolExecutionResult: the output as JSON', () => {
    expect(outcomeToModelContent(execution)).toBe('{"eventId":"e_777"}');
  });

  test('ToolTimeout: status, error, timed_out, retryable', () => {
    for (const retryable of [true, false])
      expect(outcomeToModelContent(timeout(retryable))).toBe(
        `{"status":"error","error":"Tool \\"create_event\\" did not finish before its deadline; it was stopped after 12 ms.","timed_out":true,"retryable":${retryable}}`,
      );
  });

  test('ToolFailure: status, error, retryable', () => {
    for (const retryable of [true, false])
      expect(outcomeToModelContent(failure(retryable))).toBe(
        `{"status":"error","error":"It broke.","retryable":${retryable}}`,
      );
  });

  test('ToolDenied("duplicate"): a warning', () => {
    expect(outcomeToModelContent(denied('duplicate'))).toBe(
      '{"warning":"duplicate_tool_call","skipped":true}',
    );
  });

  test('ToolDenied("blocked"): a warning', () => {
    expect(outcomeToModelContent(denied('blocked'))).toBe(
      '{"warning":"non_retryable_tool_failure","skipped":true}',
    );
  });

  test('ToolDenied("validation"): error, details, hint', () => {
    expect(outcomeToModelContent(denied('validation', 'start: not a date-time'))).toBe(
      '{"error":"argument_validation_failed","details":"start: not a date-time","hint":"Correct the arguments to match the tool\'s input schema and call it again."}',
    );
  });

  test('ToolDenied("deadline"): the fixed sentence', () => {
    expect(outcomeToModelContent(denied('deadline'))).toBe(
      '{"error":"Turn deadline expired; cannot execute tool.","timed_out":true}',
    );
  });

  test('ToolDenied(other): Blocked and why', () => {
    for (const reason of ['pre_hook', 'write_denied'] as const)
      expect(outcomeToModelContent(denied(reason))).toBe('{"error":"Blocked: Because.","blocked":true}');
  });

  test('ToolArtifactReference: reference, summary, hint', () => {
    expect(outcomeToModelContent(artifact)).toMatch(
      /^\{"artifact_reference":"art_1","summary":"Rows…","hint":"[^]+"\}$/,
    );
  });
});

describe('Helper Predicates', () => {
  const all: readonly (readonly [string, ToolOutcome, boolean, boolean, boolean])[] = [
    ['ToolExecutionResult', execution, false, false, false],
    ['ToolTimeout that may be retried', timeout(true), true, true, false],
    ['ToolTimeout that may not', timeout(false), true, false, true],
    ['ToolFailure that may be retried', failure(true), true, true, false],
    ['ToolFailure that may not', failure(false), true, false, true],
    ['ToolDenied', denied('blocked'), false, false, false],
    ['ToolArtifactReference', artifact, false, false, false],
  ];

  test.each(all)('outcome_is_error of a %s', (_, outcome, isError) => {
    expect(outcomeIsError(outcome)).toBe(isError);
  });

  test.each(all)('outcome_is_retryable of a %s', (_, outcome, _isError, isRetryable) => {
    expect(outcomeIsRetryable(outcome)).toBe(isRetryable);
  });

  test.each(all)('outcome_blocks_tool of a %s', (_, outcome, _isError, _isRetryable, blocks) => {
    expect(outcomeBlocksTool(outcome)).toBe(blocks);
  });
});
