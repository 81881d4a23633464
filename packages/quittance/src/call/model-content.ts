/**
 * The content for the model, byte for byte. Its keys and their order are a contract with prompts and with
 * every existing ledger. Anything else goes into `modelNote`, a separate content part.
 */
import type { JsonObject } from '../base/json.ts';
import type { ToolDenied, ToolOutcome } from './outcome.ts';
import { denialReasons, timeoutMessage, withWarning } from './outcome.ts';

/** A part of the content for a model. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mimeType: string; readonly artifactId: string };

/** The content of the tool-role message that answers the call. It is always JSON. */
export function outcomeToModelContent(outcome: ToolOutcome): string {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return JSON.stringify(outcome.output);
    case 'ToolTimeout':
      return stringify({
        status: 'error',
        error: withWarning(timeoutMessage(outcome), outcome),
        timed_out: true,
        retryable: outcome.retryable,
      });
    case 'ToolFailure':
      return stringify({
        status: 'error',
        error: withWarning(outcome.error, outcome),
        retryable: outcome.retryable,
      });
    case 'ToolDenied':
      return stringify(denialContent(outcome));
    case 'ToolArtifactReference':
      return stringify({
        artifact_reference: outcome.artifactId,
        summary: outcome.summary,
        hint:
          'The output is too long to show here. To read it in pieces, call read_artifact with this reference as artifactId ' +
          'and with offset and limit, or search. To hand all of it to another tool, pass ' +
          `${stringify({ $artifact: outcome.artifactId })} as an argument.`,
      });
  }
}

function denialContent({ reason, details }: ToolDenied): JsonObject {
  switch (reason) {
    case 'duplicate':
      return { warning: 'duplicate_tool_call', skipped: true };
    case 'blocked':
      return { warning: 'non_retryable_tool_failure', skipped: true };
    case 'validation':
      return {
        error: 'argument_validation_failed',
        details: details || denialReasons.validation.sentence,
        hint: "Correct the arguments to match the tool's input schema and call it again.",
      };
    case 'deadline':
      return { error: denialReasons.deadline.sentence, timed_out: true };
    case 'pre_hook':
    case 'write_denied':
    case 'contract':
    case 'budget':
    case 'expired':
    case 'conflict':
    case 'ended':
      return { error: `Blocked: ${details || denialReasons[reason].sentence}`, blocked: true };
    default:
      // A reason of a newer version, or from untyped code, gets the last row of the table.
      reason satisfies never;
      return { error: `Blocked: ${details || String(reason)}`, blocked: true };
  }
}

/** All content for the model: the tabled content, then the note, then the files. */
export function outcomeToContentParts(outcome: ToolOutcome): readonly ContentPart[] {
  const parts: ContentPart[] = [{ type: 'text', text: outcomeToModelContent(outcome) }];
  if (outcome.modelNote !== undefined) parts.push({ type: 'text', text: outcome.modelNote });
  if ('files' in outcome && outcome.files !== undefined)
    for (const { mimeType, artifactId } of outcome.files) parts.push({ type: 'file', mimeType, artifactId });
  return parts;
}

/** One row of the content table: an outcome type, its shape, and an example. */
export type ModelContentRow = {
  readonly outcome: string;
  readonly modelSees: string;
  readonly example: ToolOutcome;
};

const call = { callId: 'c_42', toolName: 'create_event' } as const;
const ended = { ...call, elapsedMs: 420 } as const;

/** Every row of the table, in order. The docs show each example as the function writes it. */
export const modelContentTable: readonly ModelContentRow[] = [
  {
    outcome: 'ToolExecutionResult',
    modelSees: 'JSON of the output',
    example: { type: 'ToolExecutionResult', ...ended, output: { eventId: 'e_777' }, wasCoerced: false },
  },
  {
    outcome: 'ToolTimeout',
    modelSees: '{"status": "error", "error": "...", "timed_out": true, "retryable": ...}',
    example: {
      type: 'ToolTimeout',
      ...ended,
      code: 'tool.timeout',
      deadlineMs: 1_778_846_400_000,
      retryable: true,
    },
  },
  {
    outcome: 'ToolFailure',
    modelSees: '{"status": "error", "error": "...", "retryable": ...}',
    example: {
      type: 'ToolFailure',
      ...ended,
      code: 'tool.network_error',
      error: 'The calendar could not be reached.',
      retryable: true,
    },
  },
  {
    outcome: 'ToolDenied("duplicate")',
    modelSees: '{"warning": "duplicate_tool_call", "skipped": true}',
    example: {
      type: 'ToolDenied',
      ...call,
      code: 'call.duplicate',
      reason: 'duplicate',
      details: 'See call c_41.',
    },
  },
  {
    outcome: 'ToolDenied("blocked")',
    modelSees: '{"warning": "non_retryable_tool_failure", "skipped": true}',
    example: {
      type: 'ToolDenied',
      ...call,
      code: 'call.blocked',
      reason: 'blocked',
      details: 'Call c_41 failed.',
    },
  },
  {
    outcome: 'ToolDenied("validation")',
    modelSees: '{"error": "argument_validation_failed", "details": "...", "hint": "..."}',
    example: {
      type: 'ToolDenied',
      ...call,
      code: 'tool.invalid_input',
      reason: 'validation',
      details: 'start: expected a date-time, found "tomorrow".',
    },
  },
  {
    outcome: 'ToolDenied("deadline")',
    modelSees: '{"error": "Turn deadline expired; cannot execute tool.", "timed_out": true}',
    example: { type: 'ToolDenied', ...call, code: 'turn.deadline', reason: 'deadline', details: '' },
  },
  {
    outcome: 'ToolDenied(other)',
    modelSees: '{"error": "Blocked: ...", "blocked": true}',
    example: {
      type: 'ToolDenied',
      ...call,
      code: 'confirmation.rejected',
      reason: 'write_denied',
      details: 'Denied by Ada Lovelace: not on a Sunday.',
    },
  },
  {
    outcome: 'ToolArtifactReference',
    modelSees: '{"artifact_reference": "...", "summary": "...", "hint": "..."}',
    example: {
      type: 'ToolArtifactReference',
      ...ended,
      artifactId: 'art_9f2c',
      summary: '{"events":[{"eventId":"e_1","title":"Breakfast"},…',
      sizeBytes: 163_840,
      wasCoerced: false,
    },
  },
];

const stringify = (content: JsonObject): string => JSON.stringify(content);
