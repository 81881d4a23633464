/**
 * Converts between outcomes and tool results: every outcome has a result, and a tool's own result is kept
 * unchanged.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ToolExecutionResult, ToolFailure, ToolOutcome } from './outcome.ts';
import type { ReasonCode } from './reason.ts';
import type { ToolResult } from './tool-result.ts';
import { isJsonObject } from '../base/json.ts';
import { denialReasons, timeoutMessage, withWarning } from './outcome.ts';
import { reasonOf } from './reason.ts';
import { parseToolResult } from './tool-result.ts';

/**
 * The outcome as a ToolResult: the tool's own, or a derived one. A derived result does not end the turn, so
 * that the model can continue. Exceptions are an exhausted budget and an ended turn.
 */
export function outcomeToToolResult(outcome: ToolOutcome): ToolResult {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return outcome.toolResult ?? outputToToolResult(outcome.output);
    case 'ToolArtifactReference': {
      const { artifactId, summary, sizeBytes, toolResult } = outcome;
      return (
        toolResult ?? {
          success: true,
          needsFollowup: true,
          nextAction: 'read_artifact',
          data: { artifactId, summary, sizeBytes },
        }
      );
    }
    case 'ToolTimeout':
      return unsuccessful(outcome.code, withWarning(timeoutMessage(outcome), outcome), outcome);
    case 'ToolFailure':
      return (
        outcome.toolResult ??
        asPlain(outcome.payloadExtras?.['output'], false) ??
        unsuccessful(outcome.code, withWarning(outcome.error, outcome), outcome)
      );
    case 'ToolDenied':
      return unsuccessful(outcome.code, outcome.details || denialReasons[outcome.reason].sentence, {
        retryable: false,
      });
  }
}

/**
 * An output that has the shape of a ToolResult and agrees with the outcome is used without another wrapper.
 * It ends no turn: only a result from `toolResult()` does.
 */
function asPlain(output: JsonValue | undefined, success: boolean): ToolResult | undefined {
  if (!isJsonObject(output) || output['success'] !== success) return undefined;
  try {
    const { terminal: _, ...result } = parseToolResult(output);
    return { ...result, needsFollowup: true };
  } catch {
    return undefined;
  }
}

/** The output of a body as a derived result of a success. */
export const outputToToolResult = (output: JsonValue): ToolResult =>
  asPlain(output, true) ?? { success: true, needsFollowup: true, data: toData(output) };

const toData = (output: JsonValue): JsonObject => (isJsonObject(output) ? output : { value: output });

function unsuccessful(
  code: ReasonCode,
  error: string,
  { retryable, inDoubt }: Pick<ToolFailure, 'retryable' | 'inDoubt'>,
): ToolResult {
  const { title, nextAction, terminal, blocksTool } = reasonOf(code);
  const next =
    inDoubt === true
      ? 'await_person'
      : nextAction !== 'retry' || retryable
        ? nextAction
        : blocksTool
          ? 'use_another_tool'
          : undefined;
  return {
    success: false,
    ...(terminal ? { terminal } : { needsFollowup: true }),
    ...(next !== undefined && { nextAction: next }),
    message: `${title}.`,
    error,
  };
}

/** The identifying fields of the call. */
export type ResultCall = {
  readonly callId: string;
  readonly toolName: string;
  readonly elapsedMs: number;
  readonly wasCoerced: boolean;
};

/**
 * The outcome of a call whose tool made a result. For a success, the whole result is the output, with unknown
 * fields. A failure is one that the tool reported. Pass the stored form: the result is shown and stored
 * unchanged.
 */
export function outcomeFromToolResult(
  result: ToolResult,
  call: ResultCall,
): ToolExecutionResult | ToolFailure {
  const toolResult = parseToolResult(result);
  const { callId, toolName, elapsedMs, wasCoerced } = call;
  if (toolResult.success)
    // Parsing left out undefined fields, so the result is a JSON object.
    return {
      type: 'ToolExecutionResult',
      callId,
      toolName,
      output: toolResult as JsonObject,
      elapsedMs,
      wasCoerced,
      toolResult,
    };
  return {
    type: 'ToolFailure',
    callId,
    toolName,
    code: 'tool.reported_error',
    error:
      [toolResult.error, toolResult.message]
        .filter((text) => text !== undefined && text.trim() !== '')
        .join(' ') || `Tool "${toolName}" reported a failure and did not say why.`,
    retryable: reasonOf('tool.reported_error').retryable,
    elapsedMs,
    toolResult,
  };
}
