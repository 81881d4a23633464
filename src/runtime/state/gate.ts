import type { Awaitable } from '../../base/json.ts';
import type { DecidedBy } from '../../call/event.ts';
import type { DenialReason } from '../../call/outcome.ts';
import type { ReasonCode } from '../../call/reason.ts';
import type { BudgetExhausted } from '../../call/event.ts';
import type { AcceptedCall } from './accepted-call.ts';
import type { Findings, JudgedCall, ReadyCall } from './call-stages.ts';

/** A check before the input is known. */
export type EntryGate = {
  readonly name: string;
  readonly check: (live: AcceptedCall) => Stop | undefined;
};

/** A check before the body runs. It sees what the gates before it found. */
export type Gate = {
  readonly name: string;
  readonly check: (live: ReadyCall & Findings) => Awaitable<Verdict>;
};

/** What a gate says: nothing, what it found out, or why the call goes no further. */
export type Verdict =
  | undefined
  | { readonly type: 'found'; readonly found: Partial<Findings> }
  | { readonly type: 'stopped'; readonly stop: Stop; readonly found: Partial<Findings> }
  | Stop;

/** What came of a walk through gates. */
export type Walked =
  | { readonly type: 'passed'; readonly live: JudgedCall }
  | { readonly type: 'stopped'; readonly stop: Stop; readonly live: JudgedCall };

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
