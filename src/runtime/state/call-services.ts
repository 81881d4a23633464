import type { Awaitable } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { Behaviors } from '../host/behaviors.ts';
import type { PendingReply, CallReply } from './call-reply.ts';

/** Result for a call whose owner may be gone. */
export type OrphanEnd =
  /** The owner still works on it, or this runtime cannot end it. */
  | { readonly type: 'left' }
  /** Its record has changed: read it again. */
  | { readonly type: 'ended' }
  /** This process holds it now. */
  | PendingReply;

/** Does this runtime hold the call only because a caller repeated it, or is another call waiting for it? */
export type Asker = 'of the call' | 'of another';

/** The services of the runtime that a call needs, beyond the engine. */
export interface CallServices {
  /** Delivers events to behaviors, and asks them for retries. */
  readonly behaviors: Behaviors;
  /** Settles the calls of the session that dead owners left with an unknown effect. */
  sweep(sessionId: string): Awaitable<void>;
  /** Ends a call whose owner is gone. */
  endOrphan(stored: StoredCall, call: Call, asker: Asker): Promise<OrphanEnd>;
  /** Is the owner of the call gone? */
  isOrphan(stored: StoredCall, call: Call, asker: Asker): Promise<boolean>;
  /** The answer for callers of an active call. Undefined for any other call. */
  replyTo(call: { readonly sessionId: string; readonly callId: string }): Promise<CallReply> | undefined;
}
