/**
 * Converts outcomes between TypeScript and their wire format: `callId` and `call_id`, milliseconds and
 * `deadline_s`. ToolResults have the same spelling in both and pass unchanged.
 *
 * 1. A written outcome is read back unchanged.
 * 2. Outcomes are a closed set: an unknown type, code or reason is refused by name.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { Fields, given } from './fields.ts';
import type { OutputFile, ToolFailure, ToolOutcome, ToolTimeout, UndoHandle, ToolResult } from './outcome.ts';
import { denialReasons, isDenialReason, isOutcomeType, outcomeTypes, parseToolResult } from './outcome.ts';
import { isReasonCode, reasonCodes } from './reason.ts';

/** An outcome in its wire format. */
export function outcomeToWire(outcome: ToolOutcome): JsonObject {
  const head = { type: outcome.type, call_id: outcome.callId, tool_name: outcome.toolName };
  const note = given({ model_note: outcome.modelNote });
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return {
        ...head,
        output: outcome.output,
        elapsed_ms: outcome.elapsedMs,
        was_coerced: outcome.wasCoerced,
        ...given({
          files: outcome.files?.map(fileToWire),
          tool_result: outcome.toolResult && toolResultToWire(outcome.toolResult),
          undo: outcome.undo && { ...outcome.undo },
        }),
        ...note,
      };
    case 'ToolTimeout':
      return {
        ...head,
        code: outcome.code,
        deadline_s: outcome.deadlineMs / 1_000,
        elapsed_ms: outcome.elapsedMs,
        retryable: outcome.retryable,
        ...repeatToWire(outcome),
        ...given({ finished: outcome.finished, payload_extras: outcome.payloadExtras }),
        ...note,
      };
    case 'ToolFailure':
      return {
        ...head,
        code: outcome.code,
        error: outcome.error,
        retryable: outcome.retryable,
        elapsed_ms: outcome.elapsedMs,
        ...repeatToWire(outcome),
        ...given({
          payload_extras: outcome.payloadExtras,
          tool_result: outcome.toolResult && toolResultToWire(outcome.toolResult),
        }),
        ...note,
      };
    case 'ToolDenied':
      return { ...head, code: outcome.code, reason: outcome.reason, details: outcome.details, ...note };
    case 'ToolArtifactReference':
      return {
        ...head,
        artifact_id: outcome.artifactId,
        summary: outcome.summary,
        size_bytes: outcome.sizeBytes,
        elapsed_ms: outcome.elapsedMs,
        was_coerced: outcome.wasCoerced,
        ...given({
          digest: outcome.digest,
          files: outcome.files?.map(fileToWire),
          tool_result: outcome.toolResult && toolResultToWire(outcome.toolResult),
          undo: outcome.undo && { ...outcome.undo },
        }),
        ...note,
      };
  }
}

/** Reads an outcome. Throws a TypeError that names the field. Unknown fields are dropped. */
export function outcomeFromWire(value: unknown): ToolOutcome {
  const fields = new Fields(value, 'An outcome');
  const type = fields.word('type', isOutcomeType, Object.keys(outcomeTypes).filter(isOutcomeType));
  const head = {
    callId: fields.text('call_id'),
    toolName: fields.text('tool_name'),
    ...given({ modelNote: fields.maybe('model_note', (key) => fields.text(key)) }),
  };
  switch (type) {
    case 'ToolExecutionResult':
      return { type, ...head, output: fields.json('output'), ...readRun(fields) };
    case 'ToolTimeout':
      return {
        type,
        ...head,
        code: fields.word('code', isTimeoutCode, ['tool.timeout']),
        deadlineMs: toMilliseconds(fields.number('deadline_s')),
        elapsedMs: fields.number('elapsed_ms'),
        retryable: fields.flag('retryable'),
        ...readRepeat(fields),
        ...(fields.maybe('finished', (key) => fields.flag(key)) === true && { finished: true }),
        ...given({ payloadExtras: fields.maybe('payload_extras', (key) => fields.object(key)) }),
      };
    case 'ToolFailure':
      return {
        type,
        ...head,
        code: fields.word('code', isReasonCode, reasonCodes),
        error: fields.text('error'),
        retryable: fields.flag('retryable'),
        elapsedMs: fields.number('elapsed_ms'),
        ...readRepeat(fields),
        ...given({ payloadExtras: fields.maybe('payload_extras', (key) => fields.object(key)) }),
        ...readToolResult(fields),
      };
    case 'ToolDenied':
      return {
        type,
        ...head,
        code: fields.word('code', isReasonCode, reasonCodes),
        reason: fields.word('reason', isDenialReason, Object.keys(denialReasons).filter(isDenialReason)),
        details: fields.text('details'),
      };
    case 'ToolArtifactReference':
      return {
        type,
        ...head,
        artifactId: fields.text('artifact_id'),
        summary: fields.text('summary'),
        sizeBytes: fields.number('size_bytes'),
        ...given({ digest: fields.maybe('digest', (key) => fields.text(key)) }),
        ...readRun(fields),
      };
  }
}

const repeatToWire = ({ inDoubt, blocksTool }: ToolTimeout | ToolFailure): JsonObject =>
  given({ in_doubt: inDoubt, blocks_tool: blocksTool });

/** `in_doubt: false` and `blocks_tool: true` are read as absent. */
const readRepeat = (fields: Fields): Pick<ToolFailure, 'inDoubt' | 'blocksTool'> => ({
  ...(fields.maybe('in_doubt', (key) => fields.flag(key)) === true && { inDoubt: true }),
  ...(fields.maybe('blocks_tool', (key) => fields.flag(key)) === false && { blocksTool: false }),
});

const isTimeoutCode = (value: unknown): value is 'tool.timeout' => value === 'tool.timeout';

/** Whole milliseconds stay whole: dividing and multiplying by a thousand may cause rounding errors. */
function toMilliseconds(seconds: number): number {
  const milliseconds = seconds * 1_000;
  const whole = Math.round(milliseconds);
  return whole / 1_000 === seconds ? whole : milliseconds;
}

function readRun(fields: Fields): {
  readonly elapsedMs: number;
  readonly wasCoerced: boolean;
  readonly files?: readonly OutputFile[];
  readonly toolResult?: ToolResult;
  readonly undo?: UndoHandle;
} {
  return {
    elapsedMs: fields.number('elapsed_ms'),
    wasCoerced: fields.flag('was_coerced'),
    ...given({ files: fields.maybe('files', (key) => fields.list(key).map(fileFromWire)) }),
    ...readToolResult(fields),
    ...given({ undo: fields.maybe('undo', (key) => undoFromWire(fields.object(key))) }),
  };
}

function undoFromWire(value: JsonObject): UndoHandle {
  const fields = new Fields(value, 'The undo of an outcome');
  return given({ until: fields.maybe('until', (key) => fields.number(key)) });
}

const readToolResult = (fields: Fields): { readonly toolResult?: ToolResult } =>
  given({ toolResult: fields.maybe('tool_result', (key) => parseToolResult(fields.object(key))) });

const fileToWire = ({ artifactId, mimeType, sizeBytes, digest, name }: OutputFile): JsonObject => ({
  artifact_id: artifactId,
  mime_type: mimeType,
  size_bytes: sizeBytes,
  ...given({ digest, name }),
});

function fileFromWire(value: JsonValue): OutputFile {
  const fields = new Fields(value, 'A file of an outcome');
  return {
    artifactId: fields.text('artifact_id'),
    mimeType: fields.text('mime_type'),
    sizeBytes: fields.number('size_bytes'),
    ...given({
      digest: fields.maybe('digest', (key) => fields.text(key)),
      name: fields.maybe('name', (key) => fields.text(key)),
    }),
  };
}

/** In JSON, an undefined field is absent. */
export const toolResultToWire = (result: ToolResult): JsonObject =>
  Object.fromEntries(
    Object.entries(result).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
