/** A body that runs, here or in another process: the intent, the end, and results after the end. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ToolOutcome } from '../outcome.ts';
import type { Identity } from '../identity.ts';
import type { ReasonCode } from '../reason.ts';
import type { CallEventOf } from './event-of.ts';
import type { BudgetMetric, EndMetric, RuleMark } from './gate-event.ts';

/** The intent. The body may run only after it is stored. */
export type ToolStarted = CallEventOf<
  'tool.started',
  {
    attempt: number;
    /** The key from the tool. Undefined if session and call id are the key. */
    idempotencyKey: string | undefined;
    deadlineMs: number;
    mayRerun: boolean;
    /** True if another process runs it and reports. */
    handoff: boolean;
    /** The stage of each workflow when it allowed the call. The call's evidence counts for that stage. */
    stages: readonly StageMark[];
    /** The shares that the attempt reserved, to be returned or charged at its end. */
    reserved: readonly ReservedShare[];
  }
>;

export type StageMark = { readonly workflow: string; readonly stageId: string };

/** A reserved share of one budget. `amount` is 0 for a counter that only the end changes. */
export type ReservedShare = {
  readonly counter: string;
  readonly amount: number;
  readonly metric: BudgetMetric | EndMetric;
};

/**
 * Another process continues the call because its owner is gone. Stored before that process runs any code of
 * the host or the tool for it, so that code which ends its process is counted.
 */
export type ToolTakenOver = CallEventOf<
  'tool.taken_over',
  {
    /** The previous owner of the call. */
    previousOwner: string;
    /** How often the call was taken over since its last progress, including this time. */
    takeover: number;
  }
>;

/** A worker claimed the call or reported its end. */
export type ToolReported = CallEventOf<
  'tool.reported',
  {
    attempt: number;
    /** The worker. */
    worker: string;
    /** How that worker was identified. Absent: not recorded. */
    identity?: Identity;
    what:
      | {
          readonly type: 'claimed';
          readonly expiresAt: number | undefined;
          readonly tokenDigest: string;
          /** The worker's id for its claim. Absent: it gave none, and cannot repeat the claim. */
          readonly requestId?: string;
          /** The token that the same worker claimed before and never received. Absent: the first claim. */
          readonly replaces?: string;
        }
      /** It reported: the outcome or the late result is stored with this event. */
      | { readonly type: 'given'; readonly digest: string }
      /** It reported again with a different result. The first report stays. */
      | { readonly type: 'differs'; readonly digest: string };
  }
>;

/**
 * An attempt, or the call, has ended. The final one is the outcome: one for every call, including denials.
 */
export type ToolResponded = CallEventOf<
  'tool.responded',
  {
    /** Zero if the body never ran. */
    attempt: number;
    final: boolean;
    outcome: ToolOutcome;
    /** The content for the model, byte for byte. */
    content: string;
    toolSuccess: boolean | undefined;
    error: { readonly reason: ReasonCode; readonly message: string } | undefined;
    payloadExtras: JsonObject | undefined;
    costMicros: number;
    /** External targets that the tool reported. */
    reached: readonly string[];
    log: readonly LogLine[];
    /** True if the effect is unknown. An identical call then needs an approval. */
    unsettledEffect: boolean;
    /** Rules that ruled on the result, in order. */
    rules: readonly RuleMark[];
  }
>;

export type LogLine = { readonly at: number; readonly message: string; readonly fields?: JsonObject };

/** The result of a body after its call had ended. It never changes the outcome. */
export type ToolLate = CallEventOf<
  'tool.late',
  {
    attempt: number;
    elapsedMs: number;
    result:
      | { readonly type: 'returned'; readonly output: JsonValue; readonly cutFromChars?: number }
      | { readonly type: 'threw'; readonly error: string };
  }
>;
