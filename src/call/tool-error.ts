import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ReasonCode } from './reason.ts';
import { endSentence } from '../base/end-sentence.ts';
import { formatPath, toJson } from '../base/json.ts';
import { isReasonCode, reasonOf } from './reason.ts';

const brand: unique symbol = Symbol.for('quittance.tool-error');

export type ToolErrorOptions = {
  /** Whether the same call may be tried again. What the reason table says, where this is left out. */
  readonly retryable?: boolean;
  /** Whatever helps to find the cause. Kept under a key of its own. */
  readonly extras?: { readonly [key: string]: unknown };
  readonly cause?: unknown;
  /** The failure without the reason code and the advice: what a model is told where a body throws the error on. */
  readonly problem?: string;
};

/**
 * A failure with a reason: what the body of a tool throws when it knows why it failed, and what `unwrap` throws
 * for an outcome that is no success. See `bodyMayClaim` for the reasons a body may give.
 */
export class ToolError extends Error {
  readonly reason: ReasonCode;
  readonly retryable: boolean;
  /** True where whoever made it said in so many words that trying again is safe; a default says nothing. */
  readonly markedRetryable: boolean;
  readonly payloadExtras: JsonObject;
  /** The failure in words. The message, unless `unwrap` made the error: its message also says what to do. */
  readonly problem: string;

  constructor(
    reason: ReasonCode,
    message: string,
    { retryable, extras, cause, problem = message }: ToolErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ToolError';
    this.reason = reason;
    this.problem = problem;
    // A body in plain JavaScript may give any word. It must not throw here: that would hide what went wrong.
    this.retryable = retryable ?? reasonOf(isReasonCode(reason) ? reason : 'tool.execution_error').retryable;
    this.markedRetryable = retryable === true;
    this.payloadExtras = toExtras(extras);
    Object.defineProperty(this, brand, { value: true });
  }
}

/** The error for code that wants a value: its message names the reason and says what a developer can do about it. */
export const toToolError = (reason: ReasonCode, problem: string, options: ToolErrorOptions): ToolError =>
  new ToolError(reason, `${reason}: ${endSentence(problem)} ${reasonOf(reason).whatToDo}`, {
    ...options,
    problem,
  });

/** Narrows to a ToolError, also one of another copy of this package. Never throws, whatever was thrown. */
export function isToolError(value: unknown): value is ToolError {
  if (typeof value !== 'object' || value === null) return false;
  try {
    // Everything is looked at before it is trusted, so a partial view of a stranger is all that is claimed here.
    const error = value as { readonly [Key in keyof ToolError | typeof brand]?: unknown };
    return (
      error[brand] === true &&
      typeof error.reason === 'string' &&
      typeof error.message === 'string' &&
      typeof error.retryable === 'boolean' &&
      typeof error.payloadExtras === 'object' &&
      error.payloadExtras !== null
    );
  } catch {
    return false;
  }
}

/**
 * Whether a body may give this reason: tool.timeout, tool.network_error, tool.execution_error,
 * tool.reported_error, tool.invalid_input, tool.invalid_output, tool.fixture_missing (the body of a recorded tool) and
 * tool.indeterminate ("it may have happened, I cannot tell"). Anything else is not for a body to say; the runtime
 * records it as tool.execution_error.
 */
export const bodyMayClaim = (code: unknown): code is ReasonCode =>
  isReasonCode(code) && reasonOf(code).bodyMayClaim;

/** What JSON can hold of the extras, each by itself: one that cannot be kept leaves a note, not an exception. */
function toExtras(extras: ToolErrorOptions['extras']): JsonObject {
  if (typeof extras !== 'object' || extras === null) return {};
  try {
    return Object.fromEntries(Object.keys(extras).flatMap((key) => toExtra(extras, key)));
  } catch {
    return { not_kept: 'The extras could not be read.' };
  }
}

function toExtra(
  extras: { readonly [key: string]: unknown },
  key: string,
): readonly (readonly [string, JsonValue])[] {
  const note = (problem: string): readonly [string, JsonValue] => [key, `[not kept: ${problem}]`];
  try {
    const value = extras[key];
    if (value === undefined) return [];
    const held = toJson(value);
    return [held.ok ? [key, held.value] : note(`at ${formatPath(held.path)}: ${held.problem}`)];
  } catch {
    return [note('reading it threw')];
  }
}
