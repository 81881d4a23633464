import type { Told } from './told.ts';

/** What became of a call whose owner was gone. */
export type RecoveredCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly how:
    'cancelled' | 'resumed' | 'rerun' | 'reconciled' | 'indeterminate' | 'failed' | 'timed_out' | 'left';
};

/** What became of it, and what whoever asks for it is told. */
export type Recovery = { readonly how: RecoveredCall['how'] | 'overtaken'; readonly told: Told | undefined };

/** How far a recovery has come, for a host that shows it. */
export type RecoveryProgress = { readonly done: number; readonly total: number };

/** One pass over the calls of gone owners. All callers that want one at the same time share it. */
export type RecoveryRun = {
  /** Owners whose calls it recovers. */
  readonly owners: ReadonlySet<string>;
  /** What it has recovered so far. */
  readonly recovered: readonly RecoveredCall[];
  readonly listeners: Set<(progress: RecoveryProgress) => void>;
  readonly done: Promise<void>;
};
