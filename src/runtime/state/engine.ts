import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
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

/** What a runtime is made of once its options are read. Shared by everything that works for it. */
export type Engine = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly nextEventId: () => string;
  readonly ledger: Ledger;
  /** Set while what was spilled waits to be appended. */
  readonly spill: { waiting: boolean };
  /** What could not be written and is recorded later. */
  readonly failedWrites: FailedWrites;
  readonly seal: Seal;
  readonly redactor: Redactor;
  readonly deadlines: Deadlines;
  /** The same for the expiry of held calls, which never keeps the process alive. */
  readonly expiries: Deadlines;
  /** Decisions about to be made: expiry waits for them. */
  readonly arriving: ArrivingDecisions;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly contracts: Contracts | undefined;
  /** The rules in force now. Which they are is kept before they decide anything. */
  readonly policyInForce: () => Policy | undefined;
  /** A tool as the rules see it: they may withdraw what it declared, never grant anything. */
  readonly toolFor: (name: string, policy: Policy | undefined) => AnyTool | undefined;
  /** What undoes the calls of a tool. Nobody can call it by its name. */
  readonly undoToolFor: (name: string, policy: Policy | undefined) => AnyTool | undefined;
  /** The files no call may reach. */
  readonly ownFiles: OwnFiles;
  readonly hooks: readonly PreToolUse[];
  readonly onConfirm: OnConfirm | undefined;
  readonly onTrouble: OnTrouble;
  readonly mayDecide: MayDecide | undefined;
  readonly mayGrant: MayGrant | undefined;
  readonly separateDuties: boolean;
  readonly holdTimeoutMs: number | undefined;
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

/** How calls of a mode are treated: run at once, after a person agreed, or at once only if the tool can undo them. */
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

/** Gives better arguments, or undefined when it knows none. */
export type Repair = (request: RepairRequest) => Awaitable<JsonObject | undefined>;
export type Repairer = { readonly repair: Repair; readonly attempts: number };
