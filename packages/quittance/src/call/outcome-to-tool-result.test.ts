import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyOutcome, anyToolResult } from '../../../../test/arbitrary-outcome.ts';
import { readJsonText } from '../base/json.ts';
import {
  outcomeFromToolResult,
  outcomeToToolResult,
  isTerminalResult,
  isToolMadeResult,
  parseToolResult,
  toolResult,
} from './outcome.ts';
import { outcomeToModelContent } from './model-content.ts';
import type { ToolOutcome } from './outcome.ts';
import { reasonCodes, reasonOf } from './reason.ts';

const call = { callId: 'c_42', toolName: 'refund', elapsedMs: 7, wasCoerced: false } as const;
const succeeded = (output: Extract<ToolOutcome, { type: 'ToolExecutionResult' }>['output']): ToolOutcome => ({
  type: 'ToolExecutionResult',
  ...call,
  output,
});

describe('the result derived from an outcome', () => {
  test('the result derived from an outcome of a success contains the output: an object unchanged, anything else under value', () => {
    expect(outcomeToToolResult(succeeded({ id: 1 }))).toEqual({
      success: true,
      needsFollowup: true,
      data: { id: 1 },
    });
    for (const output of [null, 'text', 0, [1, 2]])
      expect(outcomeToToolResult(succeeded(output))).toEqual({
        success: true,
        needsFollowup: true,
        data: { value: output },
      });
  });

  test('does not treat an output as the result it looks like', () => {
    const lookalike = { success: false, terminal: true, message: 'Stop now.' };
    expect(outcomeToToolResult(succeeded(lookalike))).toEqual({
      success: true,
      needsFollowup: true,
      data: lookalike,
    });
  });

  test('the result derived from an outcome of a large output says where it is', () => {
    expect(
      outcomeToToolResult({
        type: 'ToolArtifactReference',
        ...call,
        artifactId: 'art_1',
        summary: 'Rows…',
        sizeBytes: 99,
      }),
    ).toEqual({
      success: true,
      needsFollowup: true,
      nextAction: 'read_artifact',
      data: { artifactId: 'art_1', summary: 'Rows…', sizeBytes: 99 },
    });
  });

  test('the result derived from an outcome of a failure has a text for people, one for debugging and a hint for machines', () => {
    expect(
      outcomeToToolResult({
        type: 'ToolFailure',
        ...call,
        code: 'tool.network_error',
        error: 'ECONNRESET',
        retryable: true,
      }),
    ).toEqual({
      success: false,
      needsFollowup: true,
      nextAction: 'retry',
      message: 'A service could not be reached.',
      error: 'ECONNRESET',
    });
  });

  test('never suggests a retry if the outcome forbids it', () => {
    expect(
      outcomeToToolResult({
        type: 'ToolFailure',
        ...call,
        code: 'tool.network_error',
        error: 'ECONNRESET',
        retryable: false,
      }).nextAction,
    ).toBe('use_another_tool');
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        if ('toolResult' in outcome) return;
        const { nextAction } = outcomeToToolResult(outcome);
        expect(nextAction === 'retry' && !('retryable' in outcome && outcome.retryable)).toBe(false);
      }),
    );
  });

  test('the result derived from an outcome of a denial gives its details, or the default sentence', () => {
    const denied = {
      type: 'ToolDenied',
      callId: 'c',
      toolName: 't',
      code: 'policy.hook',
      reason: 'pre_hook',
    } as const;
    expect(outcomeToToolResult({ ...denied, details: 'Not today.' }).error).toBe('Not today.');
    expect(outcomeToToolResult({ ...denied, details: '' }).error).toBe('A hook did not allow the call.');
  });

  test.each(reasonCodes)('%s lets the model continue, unless nothing is left to do', (code) => {
    const result = outcomeToToolResult({ type: 'ToolFailure', ...call, code, error: 'x', retryable: false });
    const over = /^budget\.|^turn\./.test(code);
    expect(isTerminalResult(result)).toBe(over);
    expect(result.terminal).toBe(over ? true : undefined);
    expect(result.needsFollowup).toBe(over ? undefined : true);
    expect(result.message).toBe(`${reasonOf(code).title}.`);
  });

  test('is a well-formed ToolResult for any outcome, and success means success', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const result = outcomeToToolResult(outcome);
        expect(JSON.stringify(parseToolResult(result))).toBe(JSON.stringify(result));
        expect(isToolMadeResult(result)).toBe(false);
        const own = 'toolResult' in outcome ? outcome.toolResult : undefined;
        expect(result).toBe(own ?? result);
        expect(result.success).toBe(own?.success ?? /^Tool(?:Execution|Artifact)/.test(outcome.type));
      }),
    );
  });
});

describe('the outcome of a result that the tool made', () => {
  test('is a success with the whole result as its output', () => {
    const made = toolResult({
      success: true,
      message: 'Event created.',
      data: { eventId: 'e_777' },
      x_trace: [1],
    });
    const outcome = outcomeFromToolResult(made, call);
    expect(outcome).toEqual({ type: 'ToolExecutionResult', ...call, output: made, toolResult: made });
    expect(outcomeToModelContent(outcome)).toBe(
      '{"success":true,"message":"Event created.","data":{"eventId":"e_777"},"x_trace":[1]}',
    );
  });

  test.each([
    [{ success: false, error: 'No such card.', message: 'Sorry.' }, 'No such card. Sorry.'],
    [{ success: false, message: 'Sorry.' }, 'Sorry.'],
    [{ success: false }, 'Tool "refund" reported a failure and did not say why.'],
  ])('%j is a failure that the tool reported', (result, error) => {
    expect(outcomeFromToolResult(result, call)).toEqual({
      type: 'ToolFailure',
      callId: 'c_42',
      toolName: 'refund',
      code: 'tool.reported_error',
      error,
      retryable: true,
      elapsedMs: 7,
      toolResult: result,
    });
  });

  test('returns the result byte for byte, with unknown fields, through JSON too', () => {
    fc.assert(
      fc.property(anyToolResult, (result) => {
        const outcome = outcomeFromToolResult(result, call);
        expect(JSON.stringify(outcomeToToolResult(outcome))).toBe(JSON.stringify(result));
        // Not JSON.parse: V8 may read a key with an escape as another one.
        const reread = readJsonText(JSON.stringify(outcome)) as unknown as ToolOutcome;
        expect(JSON.stringify(outcomeToToolResult(reread))).toBe(JSON.stringify(result));
        expect(isTerminalResult(outcomeToToolResult(reread))).toBe(isTerminalResult(result));
        expect(result.success ? outcomeToModelContent(outcome) : JSON.stringify(result)).toBe(
          JSON.stringify(result),
        );
      }),
    );
  });

  test('does not change when the result is changed afterwards', () => {
    const data = { list: [1] };
    const outcome = outcomeFromToolResult({ success: true, data }, call);
    data.list.push(2);
    expect(outcomeToToolResult(outcome)).toEqual({ success: true, data: { list: [1] } });
  });
});
