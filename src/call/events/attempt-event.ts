/** A body that runs, here or elsewhere: the intent, the end, and what came after the end. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ToolOutcome } from '../outcome.ts';
import type { Identity } from '../identity.ts';
import type { ReasonCode } from '../reason.ts';
import type { CallEventOf } from './event-of.ts';
import type { BudgetMetric, EndMetric, RuleMark } from './gate-event.ts';

/** The intent: only after this is kept may the body run. */
export type ToolStarted = CallEventOf<
  'tool.started',
  {
    attempt: number;
    /** The key the tool made; undefined where session and call id are the key. */
    idempotencyKey: string | undefined;
    deadlineMs: number;
    mayRerun: boolean;
    /** Does another process run it and report? */
    handoff: boolean;
    /** Where each workflow stood when it let the call run: that is where what the call shows counts. */
    stages: readonly StageMark[];
    /** What the attempt took from budgets, to be given back or charged with its end. */
    reserved: readonly ReservedShare[];
  }
>;

export type StageMark = { readonly workflow: string; readonly stageId: string };

/** What an attempt took from one budget, or what its end counts: then nothing is taken and `amount` is 0. */
export type ReservedShare = {
  readonly counter: string;
  readonly amount: number;
  readonly metric: BudgetMetric | EndMetric;
};

/**
 * Another process goes on with the call, because its owner is gone. Kept before that process runs any code of the host
 * or of the tool for it, so that code which ends its process is counted.
 */
export type ToolTakenOver = CallEventOf<
  'tool.taken_over',
  {
    /** The owner it was taken from. */
    previousOwner: string;
    /** How often the call was taken over since it last got anywhere, this time included. */
    takeover: number;
  }
>;

/** Another process that was handed the call says how it went. */
export type ToolReported = CallEventOf<
  'tool.reported',
  {
    attempt: number;
    /** Who had it in hand. */
    worker: string;
    /** How that worker was identified. Absent: not recorded. */
    identity?: Identity;
    what:
      | {
          readonly type: 'claimed';
          readonly expiresAt: number | undefined;
          readonly tokenDigest: string;
          /** What the worker calls its request for the call. Absent: it gave no id, and cannot claim the call again. */
          readonly requestId?: string;
          /** The token that the same worker claimed before and never received. Absent: the first claim. */
          readonly replaces?: string;
        }
      /** It said how it went: the outcome, or the late result, that is kept with this. */
      | { readonly type: 'given'; readonly digest: string }
      /** It came again, and differently: what was recorded first stays. */
      | { readonly type: 'differs'; readonly digest: string };
  }
>;

/** An attempt, or the call, has ended. The final one is the outcome: one for every call, denials too. */
export type ToolResponded = CallEventOf<
  'tool.responded',
  {
    /** Zero where the body never ran. */
    attempt: number;
    final: boolean;
    outcome: ToolOutcome;
    /** The content for the model, byte for byte. */
    content: string;
    toolSuccess: boolean | undefined;
    error: { readonly reason: ReasonCode; readonly message: string } | undefined;
    payloadExtras: JsonObject | undefined;
    costMicros: number;
    /** What an external tool said it touched. */
    reached: readonly string[];
    log: readonly LogLine[];
    /** Whether the effect may have happened although nobody can say so: another such call must ask. */
    unsettledEffect: boolean;
    /** The rules that had something to say about the result, in order. */
    rules: readonly RuleMark[];
  }
>;

export type LogLine = { readonly at: number; readonly message: string; readonly fields?: JsonObject };

/** What a body gave after its call had ended. It never changes the outcome. */
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
