export type SideRowProblem = {
  /** A note can also occur in an intact ledger. */
  readonly level: 'problem' | 'note';
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  readonly message: string;
};

/** Something to check: `look` returns its current problem. */
export type Subject = {
  readonly level: SideRowProblem['level'];
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  readonly look: () => Promise<string | undefined>;
};
