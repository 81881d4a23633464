import type { Call } from '../../call/call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { CallReply } from './call-reply.ts';

/** Result of recovering a call. */
export type RecoveredCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly how:
    | 'cancelled'
    | 'resumed'
    | 'rerun'
    | 'reconciled'
    | 'indeterminate'
    | 'failed'
    | 'timed_out'
    | 'left';
};

/** The result of a recovery, and the answer for callers of the call. */
export type Recovery = {
  readonly how: RecoveredCall['how'] | 'overtaken';
  readonly reply: CallReply | undefined;
};

/** Progress of a recovery, for hosts that show it. */
export type RecoveryProgress = { readonly done: number; readonly total: number };

/** The source of the list of open calls that a pass works through. */
export type RecoveryList = {
  /** The end of the ledger when the pass started to read the list. Undefined before that. */
  beganAt: number | undefined;
  /** Owners with open calls in the list, and whether each was proven dead. */
  readonly owners: Map<string, 'gone' | 'spared'>;
};

/** One pass over the calls of dead owners. Concurrent callers share it. */
export type RecoveryRun = {
  /** The source of its list of open calls. */
  readonly list: RecoveryList;
  /** The calls recovered so far. */
  readonly recovered: readonly RecoveredCall[];
  readonly listeners: Set<(progress: RecoveryProgress) => void>;
  readonly done: Promise<void>;
};

/** Calls of dead owners that wait for a person or a worker: see `waiting-room.ts`. */
export interface WaitingCalls {
  /**
   * Admits a call. Returns false if the call can never run as shown and must end now. `readAt`: the end of
   * the ledger before the call was read.
   */
  admit(stored: StoredCall, call: Call, readAt: number): Promise<boolean>;
  close(): void;
}
