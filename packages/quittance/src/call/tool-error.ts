import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ReasonCode } from './reason.ts';
import { endSentence } from '../base/end-sentence.ts';
import { formatPath, toJson } from '../base/json.ts';
import { isReasonCode, reasonOf } from './reason.ts';

const brand: unique symbol = Symbol.for('quittance.tool-error');

export type ToolErrorOptions = {
  /** True if the same call may be retried. Default: see the reason table. */
  readonly retryable?: boolean;
  /**
   * `none`: the tool knows that nothing has happened, for example because it refused the arguments before it did
   * anything. A repeat of the call then needs no approval.
   */
  readonly effect?: 'none';
  /** Anything that helps to find the cause. Stored under its own key. */
  readonly extras?: { readonly [key: string]: unknown };
  readonly cause?: unknown;
  /** The failure without the reason code and the advice: the model's text if a body rethrows the error. */
  readonly problem?: string;
};

/**
 * A failure with a reason. The body of a tool throws it when it knows why it failed, and `unwrap` throws it
 * for an outcome other than success. See `bodyMayClaim` for the codes that a body may use.
 */
export class ToolError extends Error {
  readonly reason: ReasonCode;
  readonly retryable: boolean;
  /** True if the author stated explicitly that a retry is safe. A default does not count. */
  readonly markedRetryable: boolean;
  /** `none` if the author stated that the call had no effect. */
  readonly effect: 'none' | undefined;
  readonly payloadExtras: JsonObject;
  /**
   * The failure in words. Equal to the message, unless `unwrap` made the error: its message also says what to
   * do.
   */
  readonly problem: string;

  constructor(
    reason: ReasonCode,
    message: string,
    { retryable, effect, extras, cause, problem = message }: ToolErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ToolError';
    this.reason = reason;
    this.problem = problem;
    // A body in plain JavaScript may give any code. Throwing here would hide the original error.
    this.retryable = retryable ?? reasonOf(isReasonCode(reason) ? reason : 'tool.execution_error').retryable;
    this.markedRetryable = retryable === true;
    this.effect = effect === 'none' ? effect : undefined;
    this.payloadExtras = toExtras(extras);
    Object.defineProperty(this, brand, { value: true });
  }
}

/** The error for code that expects a value. Its message names the reason and says what a developer can do. */
export const toToolError = (reason: ReasonCode, problem: string, options: ToolErrorOptions): ToolError =>
  new ToolError(reason, `${reason}: ${endSentence(problem)} ${reasonOf(reason).whatToDo}`, {
    ...options,
    problem,
  });

/** Narrows to a ToolError, including one from another copy of this package. Never throws. */
export function isToolError(value: unknown): value is ToolError {
  if (typeof value !== 'object' || value === null) return false;
  try {
    // Every property is checked before use, so the cast claims only a partial view.
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
 * True if a body may claim this code. Allowed: tool.timeout, tool.network_error, tool.execution_error,
 * tool.reported_error, tool.invalid_input, tool.invalid_output, tool.fixture_missing (the body of a recorded
 * tool) and tool.indeterminate ("it may have happened, I cannot tell"). The runtime records any other code as
 * tool.execution_error.
 */
export const bodyMayClaim = (code: unknown): code is ReasonCode =>
  isReasonCode(code) && reasonOf(code).bodyMayClaim;

/** The extras as JSON, one by one: an extra that JSON cannot hold leaves a note, not an exception. */
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
  const note = (problem: string): readonly [string, JsonValue] => [key, `[not stored: ${problem}]`];
  try {
    const value = extras[key];
    if (value === undefined) return [];
    const held = toJson(value);
    return [held.ok ? [key, held.value] : note(`at ${formatPath(held.path)}: ${held.problem}`)];
  } catch {
    return [note('reading it threw')];
  }
}
