import type { JsonValue } from '../base/json.ts';
import type { Equal, Expect } from '../tool/type-test.test-d.ts';
import type { ToolFailure, ToolOutcome, ToolTimeout } from './outcome.ts';
import { outcomeIsError, type unwrap, toolResult } from './outcome.ts';

declare const outcome: ToolOutcome;

/** There are five, and a switch over them needs no default: the compiler knows that it returns. */
export function switchesOver(): string {
  switch (outcome.type) {
    case 'ToolExecutionResult':
    case 'ToolTimeout':
    case 'ToolFailure':
    case 'ToolDenied':
    case 'ToolArtifactReference':
      return outcome.callId;
  }
}

if (outcomeIsError(outcome)) {
  const error: ToolTimeout | ToolFailure = outcome;
  const retryable: boolean = error.retryable;
  void retryable;
}

// @ts-expect-error A success carries no error.
export const noError: unknown = outcome.type === 'ToolExecutionResult' ? outcome.error : undefined;

export type Unwrapped = Expect<Equal<ReturnType<typeof unwrap>, JsonValue>>;

toolResult({ success: true, data: { id: 1 }, x_unknown: [null] });
// @ts-expect-error A result says whether it succeeded.
toolResult({ message: 'Done.' });
// @ts-expect-error A known field has its type.
toolResult({ success: true, terminal: 'yes' });
// @ts-expect-error A function has no JSON form.
toolResult({ success: true, x_unknown: () => 1 });
