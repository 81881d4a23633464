/** Which ends of a call leave its effect unknown. */
import type { ReasonCode } from './reason.ts';

/** The facts about an end. A denial is not included: the body never ran. */
export type DoubtfulEnd = {
  readonly code: ReasonCode;
  /** The tool may run again, because a second effect does no harm. */
  readonly mayRerun: boolean;
  /** The tool's author declared a retry after this failure safe, or the failure without effect. */
  readonly repeatIsSafe: boolean;
};

/** True if the effect is unknown. A tool that reports its own error, or declares a retry safe, knows its effect. */
export const leavesDoubt = ({ code, mayRerun, repeatIsSafe }: DoubtfulEnd): boolean =>
  !mayRerun && !repeatIsSafe && code !== 'tool.reported_error';
