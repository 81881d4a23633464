/** How the run of a body ended when it was recorded, for what a body cannot say itself. See `endAsRecorded`. */
import type { PersistenceFailed, RuleMark } from '../call/event.ts';
import type { ToolTimeout } from '../call/outcome.ts';

export type RecordedEnd = {
  /** What the body is about to throw, if it throws. Unlike what any other body throws, it may give every reason. */
  readonly thrown: unknown;
  /** Where it ran out of time. */
  readonly timeout: Pick<ToolTimeout, 'elapsedMs' | 'deadlineMs' | 'retryable'> | undefined;
  /** What rules said about what it gave: the record has lost what they took out, and so they cannot find it again. */
  readonly rules: readonly RuleMark[];
  /** Which rules these were. */
  readonly policyVersion: string | undefined;
  /** What was said each time the same result was reported again. */
  readonly reportedAgain: readonly string[];
  /** What could not be kept aside. */
  readonly unkept: readonly Pick<PersistenceFailed, 'boundary' | 'error' | 'keptIn'>[];
};
