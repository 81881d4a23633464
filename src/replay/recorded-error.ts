import type { JsonObject } from '../base/json.ts';
import type { ReasonCode } from '../call/reason.ts';
import { ToolError } from '../call/tool-error.ts';

/**
 * What the body of a recorded tool throws. Unlike an error a tool makes itself, it says apart whether the call may be
 * tried again (as was recorded) and whether the effect is in doubt: nothing is, where nothing ran.
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
