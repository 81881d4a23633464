import type { Awaitable } from '../../base/json.ts';
import type { DecidedBy } from '../../call/event.ts';
import type { DenialReason } from '../../call/outcome.ts';
import type { ReasonCode } from '../../call/reason.ts';
import type { BudgetExhausted } from '../../call/event.ts';
import type { CallInHand } from './call-in-hand.ts';

/** A check before the body runs. It passes the call on, stops it, or leaves a wish for a person in `asks`. */
export type Gate = {
  readonly name: string;
  readonly check: (hand: CallInHand) => Awaitable<Stop | undefined>;
};

/** Why a call goes no further. */
export type Stop =
  | {
      readonly type: 'deny';
      readonly reason: DenialReason;
      readonly code: ReasonCode;
      readonly details: string;
      /** What the host or the tool's author did wrong, for the log of the call. The model is told `details` alone. */
      readonly developer?: string;
      readonly by?: DecidedBy;
      readonly exhausted?: Pick<BudgetExhausted, 'scope' | 'metric' | 'limit' | 'used'>;
    }
  | {
      readonly type: 'fail';
      readonly code: 'tool.unknown' | 'tool.cancelled' | 'ledger.altered';
      readonly error: string;
      /** Absent: only a call that was cancelled may be asked for again. */
      readonly retryable?: false;
    }
  /** Another call with the same tool-made key has the answer. */
  | { readonly type: 'copy'; readonly from: CallRef };

export type CallRef = { readonly sessionId: string; readonly callId: string };
