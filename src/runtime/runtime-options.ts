import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { RedactionOptions } from '../base/redaction.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { ToolMode } from '../tool/mode.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import type { Behavior } from './host/retry.ts';
import type { BudgetRule } from './host/budget.ts';
import type { OnConfirm } from './host/confirm.ts';
import type { Repair, Repairer, Treatment } from './state/engine.ts';
import type { MayDecide } from './host/may-decide.ts';
import type { MayGrant } from './host/may-grant.ts';
import type { ProtectedFiles } from './files/own-files.ts';
import type { OnTrouble } from './host/runtime-trouble.ts';
import type { PreToolUse } from './host/tool-decision.ts';

/** What a runtime is made of. Only the tools and the ledger must be given. */
export type RuntimeOptions<Tools extends readonly AnyTool[]> = {
  readonly tools: Tools;
  readonly ledger: Ledger;
  /** Heard before a body runs: block beats ask beats allow. A hook that throws blocks. */
  readonly onPreToolUse?: PreToolUse | readonly PreToolUse[];
  /** Rules that every call is judged by: what the functions of `quittance/contracts` give. */
  readonly contracts?: Contracts;
  /**
   * Decides about held calls right away, for whoever has a person at hand. Without it, and until it answers, a held
   * call waits for `decide`, here or in any process that shares the ledger.
   */
  readonly onConfirm?: OnConfirm;
  /** Behaviors of every runtime with these options, such as `retry()`; more can be registered with `runtime.on`. */
  readonly behaviors?: readonly Behavior[];
  /** Told of what goes wrong beside all calls, e.g. a behavior that gets no further. Writes a warning by default. */
  readonly onTrouble?: OnTrouble;
  /** Who may decide about a held call. Everybody the host lets call `decide` by default. */
  readonly mayDecide?: MayDecide;
  /** Who may give and revoke grants. Everybody the host lets by default; nobody gives any where `mayDecide` is set alone. */
  readonly mayGrant?: MayGrant;
  /** How long held calls wait where no rule or hook sets a time; then they are denied as `expired`. 24 hours. */
  readonly holdTimeoutMs?: number | 'none';
  /** Whether those on whose behalf a call is made may not approve it. */
  readonly separateDuties?: boolean;
  /**
   * Files of the host that no call may reach, beside the runtime's own. The ledger, its key and tokens, contract files
   * and this package are protected without being listed.
   */
  readonly protectedFiles?: ProtectedFiles;
  /** Mends arguments that neither fit their schema nor could be coerced. Two tries by default. */
  readonly repair?: Repair | Repairer;
  /** Whether arguments that do not fit are changed by the listed rules, for tools that do not say. True. */
  readonly coerce?: boolean;
  /** Says whether a result is a success; replaces the default check for tools without one of their own. */
  readonly successCheck?: SuccessCheck;
  /** How calls of a mode are treated. By default `local` asks, `destructive` asks unless the tool can undo it, the others run. */
  readonly treatments?: Partial<Readonly<Record<ToolMode, Treatment>>>;
  /** Budgets of every turn of this runtime. */
  readonly budgets?: readonly BudgetRule[];
  readonly redaction?: RedactionOptions;
  /** For tools that set none. Five minutes. */
  readonly defaultTimeoutMs?: number;
  /** Longer outputs, in characters of JSON, are kept as artifacts. 12,000. */
  readonly inlineLimit?: number;
  /** How long a cancelled body may take to stop. Five seconds. */
  readonly cancelGraceMs?: number;
  /** How many calls of one `callAll` run at a time. Eight. */
  readonly concurrency?: number;
  readonly clock?: Clock;
  readonly ids?: Ids;
};
