/** What a process is told to do. */
export type Errand = {
  readonly what: 'measure' | 'share';
  readonly ledger: string;
  /** How many calls it makes at a time. */
  readonly lanes: number;
  /** How long it measures. */
  readonly ms: number;
  /** How many calls and keys all processes have in common. */
  readonly calls: number;
  /** How many bodies may run, in all processes together. */
  readonly limit?: number;
};

/** What it says. */
export type Told =
  | { readonly type: 'ready' }
  | { readonly type: 'effect'; readonly key: string }
  | { readonly type: 'measured'; readonly calls: number }
  | { readonly type: 'shared'; readonly outcomes: Readonly<Record<string, string>> };
