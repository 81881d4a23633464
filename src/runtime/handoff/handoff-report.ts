/** Reads a worker's report as the end of a body. */
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { toJson } from '../../base/json.ts';
import type { ReasonCode } from '../../call/reason.ts';
import { ToolError } from '../../call/tool-error.ts';
import type { ToolResult } from '../../call/tool-result.ts';
import { toolResult } from '../../call/tool-result.ts';
import { ownValue } from '../../tool/own-value.ts';
import type { BodyEnd } from '../attempt/attempt.ts';
import type { BodyContext } from '../attempt/body-context.ts';
import { checkKeys } from '../../base/check-keys.ts';

/**
 * The end of the call: its output, its error, or a tool result, which is an object with a boolean `success`
 * and may end the turn.
 */
export type HandoffReport =
  | { readonly output: unknown }
  | {
      readonly error: string;
      /** A reason code that a body may claim. Default: `tool.execution_error`. */
      readonly code?: ReasonCode;
      /** `true` states explicitly that nothing happened and a retry is safe. */
      readonly retryable?: boolean;
      /** The worker knows that nothing has happened. A repeat of the call then needs no approval. */
      readonly effect?: 'none';
      readonly extras?: JsonObject;
    }
  | ToolResult;

/** Notes that a body would make through its context. */
export type HandoffNotes = {
  readonly log?: readonly { readonly message: string; readonly fields?: JsonObject }[];
  /** External targets that were reached. */
  readonly reached?: readonly string[];
  /** The cost of the attempt. It replaces the cost that the tool declares. */
  readonly costMicros?: number;
};

/** The report and the value of its digest: two reports are equal if their digests are. */
export type ReadReport = { readonly end: BodyEnd; readonly said: JsonValue };

export function readReport(report: HandoffReport): ReadReport {
  if (typeof report !== 'object' || report === null)
    throw invalid('a report is { output }, { error } or a tool result with a boolean success.');
  if (typeof ownValue(report, 'success') === 'boolean') return readResult(report);
  if (ownValue(report, 'error') !== undefined) return readError(report);
  if (!Object.hasOwn(report, 'output'))
    throw invalid('a report needs output, error or a boolean success. Use output: null if there is none.');
  checkKeys('runtime.handoffs.report', report, ['output']);
  const value = ownValue(report, 'output');
  return { end: { type: 'returned', value }, said: ['output', asJson(value)] };
}

/** A worker's result carries no mark of `toolResult()`. The report itself makes it the tool's own. */
function readResult(report: object): ReadReport {
  try {
    const result = toolResult(report as ToolResult); // which checks every field
    return { end: { type: 'returned', value: result }, said: ['result', asJson(result)] };
  } catch (cause) {
    throw invalid(cause instanceof Error ? cause.message : 'that is not a tool result.');
  }
}

function readError(report: object): ReadReport {
  checkKeys('runtime.handoffs.report', report, ['error', 'code', 'retryable', 'effect', 'extras']);
  const error = ownValue(report, 'error');
  const code = ownValue(report, 'code');
  const retryable = ownValue(report, 'retryable');
  const effect = ownValue(report, 'effect');
  const extras = ownValue(report, 'extras');
  if (typeof error !== 'string') throw invalid('error must be a text.');
  if (code !== undefined && typeof code !== 'string') throw invalid('code must be a reason code.');
  if (retryable !== undefined && typeof retryable !== 'boolean')
    throw invalid('retryable must be true or false.');
  if (effect !== undefined && effect !== 'none') throw invalid('effect may only be "none".');
  const thrown = new ToolError((code ?? 'tool.execution_error') as ReasonCode, error, {
    // An unknown reason code is handled when the error is classified.
    ...(retryable !== undefined && { retryable }),
    ...(effect === 'none' && { effect }),
    ...(typeof extras === 'object' && extras !== null && { extras: { ...extras } }),
  });
  const said = [
    'error',
    error,
    code ?? null,
    retryable ?? null,
    thrown.payloadExtras,
    ...(effect === 'none' ? [effect] : []), // reports without it keep their digest
  ];
  return { end: { type: 'threw', error: thrown }, said };
}

/** A value that JSON cannot hold is judged as such. For the digest all such values are equal. */
const asJson = (value: unknown): JsonValue => {
  const read = toJson(value);
  return read.ok ? read.value : null;
};

export function checkNotes(notes: HandoffNotes): void {
  if (typeof notes !== 'object' || notes === null)
    throw invalid('the notes are { log, reached, costMicros }.');
  checkKeys('runtime.handoffs.report', notes, ['log', 'reached', 'costMicros']);
  const { log, reached, costMicros } = notes;
  if (log !== undefined && !(Array.isArray(log) && log.every(isLine)))
    throw invalid('log must be a list of { message, fields }.');
  if (reached !== undefined && !(Array.isArray(reached) && reached.every((each) => typeof each === 'string')))
    throw invalid('reached must be a list of texts.');
  if (costMicros !== undefined && !(Number.isSafeInteger(costMicros) && costMicros >= 0))
    throw invalid('costMicros must be a whole number of at least 0.');
}

const isLine = (line: unknown): boolean =>
  typeof line === 'object' && line !== null && typeof ownValue(line, 'message') === 'string';

/** Writes the worker's notes through the context of a body. */
export function noteDown(context: BodyContext, { log = [], reached = [], costMicros }: HandoffNotes): void {
  for (const { message, fields } of log) context.log(message, fields);
  for (const target of reached) context.reached(target);
  if (costMicros !== undefined) context.charge(costMicros);
}

const invalid = (problem: string): QuittanceError =>
  new QuittanceError('config.invalid', `runtime.handoffs.report: ${problem}`);
