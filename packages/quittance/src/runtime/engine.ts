/** The shared parts of a runtime, the services that its calls need, and limits on the time of host code and readers. */
import type { Clock, Deadlines } from '../base/deadlines.ts';
import type { Ids } from '../base/ids.ts';
import type { Awaitable, JsonObject, JsonValue } from '../base/json.ts';
import type { QuietTimes } from '../base/quiet-hours.ts';
import type { Redactor } from '../base/redaction.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { Seal } from '../ledger/seal.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { ToolMode, Treatment } from '../tool/mode.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import type { SchemaIssue } from '../tool/schema-issue.ts';
import type { ArrivingDecisions, OnConfirm } from './views.ts';
import type { BudgetRule } from './budget.ts';
import type { FailedWrites, AppendGate } from './ledger-trouble.ts';
import type { MayDecide, MayGrant } from './approvers.ts';
import type { OnTrouble, SafeTelemetry } from './telemetry.ts';
import type { OwnFiles } from './own-files.ts';
import type { PreToolUse } from './call-options.ts';
import type { Call } from '../call/call.ts';
import type { StoredCall } from '../ledger/journal.ts';
import type { Behaviors } from './behavior.ts';
import type { CallReply, PendingReply } from './call-reply.ts';
import { within } from '../base/deadlines.ts';

/** The parts of a runtime after its options are read. All its code shares them. */
export type Engine = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly nextEventId: () => string;
  readonly ledger: OpenLedger;
  readonly starts: StartPace;
  /** Set while spilled entries wait to be appended. */
  readonly spill: { waiting: boolean };
  /** Failed writes that are recorded later. */
  readonly failedWrites: FailedWrites;
  readonly seal: Seal;
  readonly redactor: Redactor;
  readonly deadlines: Deadlines;
  /** Timers for the expiry of held calls. They never keep the process alive. */
  readonly expiries: Deadlines;
  /** Decisions that are arriving: expiry waits for them. */
  readonly arriving: ArrivingDecisions;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly contracts: Contracts | undefined;
  /** The rules in force now. They are stored before they judge anything. */
  readonly policyInForce: () => Policy | undefined;
  /** A tool under the rules, which may withdraw its declarations but never add any. */
  readonly toolFor: (name: string, policy: Policy | undefined) => AnyTool | undefined;
  /** The tool that undoes the calls of a tool. It cannot be called by name. */
  readonly undoToolFor: (name: string, policy: Policy | undefined) => AnyTool | undefined;
  /** The files that no call may touch. */
  readonly ownFiles: OwnFiles;
  readonly hooks: readonly PreToolUse[];
  readonly onConfirm: OnConfirm | undefined;
  readonly onTrouble: OnTrouble;
  readonly telemetry: SafeTelemetry;
  readonly appendGate: AppendGate;
  readonly mayDecide: MayDecide | undefined;
  readonly mayGrant: MayGrant | undefined;
  readonly separateDuties: boolean;
  readonly holdTimeoutMs: number | undefined;
  readonly quietTimes: QuietTimes;
  readonly repair: Repairer | undefined;
  readonly coerce: boolean;
  readonly successCheck: SuccessCheck;
  readonly treatments: Readonly<Record<ToolMode | 'risk', Treatment>>;
  readonly budgets: readonly BudgetRule[];
  readonly defaultTimeoutMs: number;
  readonly inlineLimit: number;
  readonly cancelGraceMs: number;
  readonly concurrency: number;
  /** Bodies that outlived their calls, until they end. */
  readonly stragglers: Set<Promise<unknown>>;
};

export type RepairRequest = {
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonValue;
  readonly issues: readonly SchemaIssue[];
  readonly schema: JsonObject | undefined;
  /** From 1. */
  readonly attempt: number;
};

/** Returns better arguments, or undefined. */
export type Repair = (request: RepairRequest) => Awaitable<JsonObject | undefined>;
export type Repairer = { readonly repair: Repair; readonly attempts: number };

/** Result for a call whose owner may be gone. */
export type OrphanEnd =
  /** The owner still works on it, or this runtime cannot end it. */
  | { readonly type: 'left' }
  /** The record has changed and must be read again. */
  | { readonly type: 'ended' }
  /** This process holds the call now. */
  | PendingReply;

/** `of the call`: a caller repeated this call, so this runtime holds it too. `of another`: another call waits for it. */
export type Asker = 'of the call' | 'of another';

/** The services of the runtime that a call needs, beyond the engine. */
export interface CallServices {
  /** Delivers events to behaviors, and asks them for retries. */
  readonly behaviors: Behaviors;
  /** Settles the calls of the session that dead owners left with an unknown effect. */
  sweep(sessionId: string): Promise<void>;
  /** Ends a call whose owner is gone. */
  endOrphan(stored: StoredCall, call: Call, asker: Asker): Promise<OrphanEnd>;
  /** True if the owner of the call is gone. */
  isOrphan(stored: StoredCall, call: Call, asker: Asker): Promise<boolean>;
  /** The answer for callers of an active call. Undefined for any other call. */
  replyTo(call: { readonly sessionId: string; readonly callId: string }): Promise<CallReply> | undefined;
}

/**
 * Time limit for code of the host that decides whether a body may run: hooks, asynchronous schemas, `repair` and the
 * commands of workflows. The deadline of a turn also ends the wait, but a turn may have none, and after an approval it no
 * longer applies. Without a limit, a check that never answers would keep its call and `close` waiting for ever.
 */
export const answerLimitMs = 300_000;

/** Text that follows the name of the check. */
export const noAnswer: string = `did not answer within ${answerLimitMs / 60_000} minutes`;

/** The answer, or `otherwise` if the check takes too long. */
export const answerInTime = <Value, Other>(
  engine: Pick<Engine, 'deadlines'>,
  answer: Value | PromiseLike<Value>,
  otherwise: Other,
): Promise<Value | Other> => within(engine, answerLimitMs, answer, otherwise);

/** Reading 64 entries takes a few milliseconds. */
const mostReadAtOnce = 64;

/** Yields to timers and sockets while a reader processes many old entries that a ledger returns without a wait. */
export class BacklogPace {
  #entries = 0;

  /** Counts an entry. Resolves when the reader may continue; undefined if it may at once. */
  next(): Promise<void> | undefined {
    if (++this.#entries % mostReadAtOnce !== 0) return undefined;
    return new Promise((resolve) => setImmediate(resolve));
  }
}

/** As many as the ledger writes with one flush. Measured: the starts of 256 took about 9 ms. */
const mostStartsAtOnce = 64;

/**
 * Spreads the starts of many concurrent calls over several turns of the event loop. Otherwise timers and sockets would wait
 * until all calls have passed their gates. Waiting calls start in order. Sequential calls never wait: each answer of the
 * ledger resets the count.
 */
export class StartPace {
  /** Starts since the last answer of the ledger. */
  #unanswered = 0;
  readonly #waiting: (() => void)[] = [];

  /** Resolves when the call may start. Undefined if it may start at once. */
  untilTurn(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#unanswered < mostStartsAtOnce) {
      this.#unanswered++;
      return undefined;
    }
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(this.#startNext);
    });
  }

  /** The ledger has answered an append. */
  noteAnswer(): void {
    this.#unanswered = 0;
  }

  readonly #startNext = (): void => {
    const due = this.#waiting.splice(0, mostStartsAtOnce);
    if (this.#waiting.length > 0) setImmediate(this.#startNext);
    for (const start of due) start();
  };
}

/**
 * Keeps the process alive during the wait. The timers of stores do not, so a process with nothing else to do would exit
 * (exit code 13).
 */
export function stayAwake<Value>(
  { deadlines }: Pick<Engine, 'deadlines'>,
  awaited: Promise<Value>,
): Promise<Value> {
  deadlines.stayAwakeUntil(awaited);
  return awaited;
}
