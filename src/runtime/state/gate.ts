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

/** A check before the body runs. It sees the findings of the gates before it. */
export type Gate = {
  readonly name: string;
  readonly check: (live: ReadyCall & Findings) => Awaitable<Verdict>;
};

/** The verdict of a gate: nothing, its findings, or why the call stops. */
export type Verdict =
  | undefined
  | { readonly type: 'found'; readonly found: Partial<Findings> }
  | { readonly type: 'stopped'; readonly stop: Stop; readonly found: Partial<Findings> }
  | Stop;

/** Result of a walk through the gates. */
export type Walked =
  | { readonly type: 'passed'; readonly live: JudgedCall }
  | { readonly type: 'stopped'; readonly stop: Stop; readonly live: JudgedCall };

/** Why a call stops. */
export type Stop =
  | {
      readonly type: 'deny';
      readonly reason: DenialReason;
      readonly code: ReasonCode;
      readonly details: string;
      /**
       * A mistake of the host or the tool's author, for the log of the call. The model gets only `details`.
       */
      readonly developer?: string;
      readonly by?: DecidedBy;
      readonly exhausted?: Pick<BudgetExhausted, 'scope' | 'metric' | 'limit' | 'used'>;
    }
  | {
      readonly type: 'fail';
      readonly code: 'tool.unknown' | 'tool.cancelled' | 'ledger.altered';
      readonly error: string;
      /** Absent: only a cancelled call is retryable. */
      readonly retryable?: false;
    }
  /** Another call with the same key has the answer. */
  | { readonly type: 'copy'; readonly from: CallRef };

export type CallRef = { readonly sessionId: string; readonly callId: string };
