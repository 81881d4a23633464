import type { Call } from '../../call/call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { Behaviors } from '../host/behaviors.ts';
import type { PendingReply, CallReply } from './call-reply.ts';

/** What became of a call whose owner may be gone. */
export type OrphanEnd =
  /** The owner still works on it, or no process here can end it. */
  | { readonly type: 'left' }
  /** Its record has changed: read it again. */
  | { readonly type: 'ended' }
  /** This process holds it now. */
  | PendingReply;

/** What a call needs from the runtime that makes it, beyond the engine. */
export interface CallServices {
  /** Gives events to behaviors, and asks them for retries. */
  readonly behaviors: Behaviors;
  /** Settles the calls of the session that gone owners have left in doubt. */
  sweep(sessionId: string): Promise<void>;
  /**
   * Ends a call whose owner is gone. `asker`: does this runtime hold the call only because a caller asked for it, or is
   * another call waiting for it?
   */
  endOrphan(stored: StoredCall, call: Call, asker: 'of the call' | 'of another'): Promise<OrphanEnd>;
  /** The answer that callers of an active call will get; undefined for any other call. */
  replyTo(call: { readonly sessionId: string; readonly callId: string }): Promise<CallReply> | undefined;
}
