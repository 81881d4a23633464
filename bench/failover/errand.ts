/** The task of a process that makes calls during a failover. */
export type FailoverErrand = {
  /** Names both servers. */
  readonly ledger: string;
  readonly service: string;
  readonly sessionId: string;
  /** Number of concurrent calls. */
  readonly lanes: number;
};

export type FailoverTold =
  | { readonly type: 'ready' }
  | { readonly type: 'succeeded'; readonly at: number }
  /** What the caller heard of each call: `succeeded`, or the code of a failure. */
  | { readonly type: 'ended'; readonly answers: Readonly<Record<string, string>> };
