/** Exit codes. Scripts rely on them: a number never changes its meaning. */
export const exitCodes = {
  /** Success, and the check passed. */
  good: 0,
  /**
   * The check failed or the result is negative: a changed ledger, no such call, no decision, contracts with problems.
   */
  bad: 1,
  /** The command line is invalid. Nothing was done. */
  usage: 2,
  /** An unexpected error: a disk, a permission, a bug. */
  broken: 3,
  /** Stopped by Ctrl-C. */
  interrupted: 130,
  /** Stopped by SIGTERM. */
  terminated: 143,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
