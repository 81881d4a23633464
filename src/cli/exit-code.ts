/** What the shell is told. Scripts rely on these: a number never changes its meaning. */
export const exitCodes = {
  /** Done, and what was looked at is good. */
  good: 0,
  /**
   * The answer is no: something in the ledger is not as it was written, there is no such call, it was not decided,
   * contracts have problems.
   */
  bad: 1,
  /** The command was not understood or cannot be run like this. Nothing was done. */
  usage: 2,
  /** Something broke on the way: a disk, a permission, a fault of ours. */
  broken: 3,
  /** Stopped by Ctrl-C. */
  interrupted: 130,
  /** Stopped by a request to terminate. */
  terminated: 143,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
