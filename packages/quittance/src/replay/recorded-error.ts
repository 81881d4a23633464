import type { JsonObject } from '../base/json.ts';
import type { ReasonCode } from '../call/reason.ts';
import { ToolError } from '../call/tool-error.ts';

/**
 * The error that a recorded tool throws. Unlike a tool's own error, it separates two facts. `retryable` is as
 * recorded. The effect is never unknown, because nothing ran.
 */
export class RecordedError extends ToolError {
  override readonly retryable: boolean;
  override readonly markedRetryable: boolean;

  constructor(
    reason: ReasonCode,
    message: string,
    {
      retryable,
      unsettled,
      extras,
    }: { readonly retryable: boolean; readonly unsettled: boolean; readonly extras?: JsonObject },
  ) {
    super(reason, message, { ...(extras && { extras }) });
    this.retryable = retryable;
    this.markedRetryable = !unsettled;
  }
}
