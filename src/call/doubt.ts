/** Which ends of a call leave open whether its effect happened. */
import type { ReasonCode } from './reason.ts';

/** What has to be known about an end. A denial has no place here: the body never ran. */
export type DoubtfulEnd = {
  readonly code: ReasonCode;
  /** The tool may be run again, so a second effect does no harm. */
  readonly mayRerun: boolean;
  /** The tool's author said of this failure that trying again is safe. */
  readonly authorSaysRetry: boolean;
};

/** A tool that reports its own error, or says that trying again is safe, knows what happened. */
export const leavesDoubt = ({ code, mayRerun, authorSaysRetry }: DoubtfulEnd): boolean =>
  !mayRerun && !authorSaysRetry && code !== 'tool.reported_error';
