import type { Call } from '../../call/call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { CallReply } from './call-reply.ts';

/** What became of a call whose owner was gone. */
export type RecoveredCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly how:
    'cancelled' | 'resumed' | 'rerun' | 'reconciled' | 'indeterminate' | 'failed' | 'timed_out' | 'left';
};

/** What became of it, and what whoever asks for it is told. */
export type Recovery = {
  readonly how: RecoveredCall['how'] | 'overtaken';
  readonly reply: CallReply | undefined;
};

/** How far a recovery has come, for a host that shows it. */
export type RecoveryProgress = { readonly done: number; readonly total: number };

/** How the list of open calls came about that a pass works through. */
export type RecoveryList = {
  /** Where the ledger ended when the pass began to read the list; undefined before that. */
  beganAt: number | undefined;
  /** Owners with open calls in the list, and whether each was proven dead. */
  readonly owners: Map<string, 'gone' | 'spared'>;
};

/** One pass over the calls of gone owners. All callers that want one at the same time share it. */
export type RecoveryRun = {
  /** What its list of open calls was made of. */
  readonly list: RecoveryList;
  /** What it has recovered so far. */
  readonly recovered: readonly RecoveredCall[];
  readonly listeners: Set<(progress: RecoveryProgress) => void>;
  readonly done: Promise<void>;
};

/** Calls of gone owners that wait for a person or a worker: see `waiting-room.ts`. */
export interface WaitingCalls {
  /**
   * Lets a call wait. False if the call can never run as it was shown and must end now. `readAt`: where the ledger
   * ended before the call was read.
   */
  admit(stored: StoredCall, call: Call, readAt: number): Promise<boolean>;
  close(): void;
}
