/** The task of a process. */
export type Errand = {
  readonly what: 'measure' | 'share' | 'approve';
  readonly ledger: string;
  /** Number of concurrent calls. */
  readonly lanes: number;
  /** Duration of the measurement. */
  readonly ms: number;
  /** Number of calls and keys that all processes share. */
  readonly calls: number;
  /** Maximum number of tool runs in all processes together. */
  readonly limit?: number;
};

/** The messages of a process. */
export type Told =
  | { readonly type: 'ready' }
  | { readonly type: 'effect'; readonly key: string }
  | { readonly type: 'measured'; readonly calls: number }
  | { readonly type: 'shared'; readonly outcomes: Readonly<Record<string, string>> }
  /** Number of confirmations that this process decided first. */
  | { readonly type: 'approved'; readonly decisions: number };
