import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
import type { QuietTimes } from '../../base/quiet-hours.ts';
import type { Redactor } from '../../base/redaction.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Seal } from '../../ledger/seal.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import type { Contracts } from '../../policy/judge/contracts.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { ToolMode } from '../../tool/mode.ts';
import type { SuccessCheck } from '../../tool/success-check.ts';
import type { SchemaIssue } from '../../tool/schema-issue.ts';
import type { ArrivingDecisions } from '../host/arriving-decisions.ts';
import type { BudgetRule } from '../host/budget.ts';
import type { OnConfirm } from '../host/confirm.ts';
import type { Deadlines } from '../../base/deadlines.ts';
import type { FailedWrites } from '../host/failed-writes.ts';
import type { MayDecide } from '../host/may-decide.ts';
import type { MayGrant } from '../host/may-grant.ts';
import type { OnTrouble } from '../host/runtime-trouble.ts';
import type { OwnFiles } from '../files/own-files.ts';
import type { PreToolUse } from '../host/tool-decision.ts';
import type { AppendGate } from '../host/append-gate.ts';
import type { SafeTelemetry } from '../host/safe-telemetry.ts';
import type { StartPace } from './start-pace.ts';

/** The parts of a runtime after its options are read. All its code shares them. */
export type Engine = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly nextEventId: () => string;
  readonly ledger: Ledger;
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
  readonly treatments: Readonly<Record<ToolMode, Treatment>>;
  readonly budgets: readonly BudgetRule[];
  readonly defaultTimeoutMs: number;
  readonly inlineLimit: number;
  readonly cancelGraceMs: number;
  readonly concurrency: number;
  /** Bodies that outlived their calls, until they end. */
  readonly stragglers: Set<Promise<unknown>>;
};

/** How calls of a mode are treated: run, ask first, or ask only if the tool cannot undo them. */
export type Treatment = 'run' | 'ask' | 'ask_unless_undo';

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
