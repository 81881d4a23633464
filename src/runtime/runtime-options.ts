import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { QuietHours } from '../base/quiet-hours.ts';
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
import type { Telemetry } from './host/telemetry.ts';
import type { PreToolUse } from './host/tool-decision.ts';

/** The options of a runtime. Only the tools and the ledger are required. */
export type RuntimeOptions<Tools extends readonly AnyTool[]> = {
  readonly tools: Tools;
  readonly ledger: Ledger;
  /** Asked before a body runs: block beats ask beats allow. A hook that throws blocks. */
  readonly onPreToolUse?: PreToolUse | readonly PreToolUse[];
  /** Rules that judge every call, from the functions of `quittance/contracts`. */
  readonly contracts?: Contracts;
  /**
   * Decides about held calls at once, for a host with a person at hand. Without it, and until it answers, a
   * held call waits for `decide`, here or in any process that shares the ledger.
   */
  readonly onConfirm?: OnConfirm;
  /** Behaviors such as `retry()`. More can be registered with `runtime.events.on`. */
  readonly behaviors?: readonly Behavior[];
  /**
   * Receives background errors that belong to no call, e.g. a behavior that is stuck. Default: writes a
   * warning.
   */
  readonly onTrouble?: OnTrouble;
  /** Who may decide about a held call. Default: everyone whom the host lets call `decide`. */
  readonly mayDecide?: MayDecide;
  /**
   * Who may give and revoke grants. Default: everyone whom the host lets. With `mayDecide` but no `mayGrant`,
   * grants are disabled.
   */
  readonly mayGrant?: MayGrant;
  /**
   * How long held calls wait if no rule or hook sets a time. Then they are denied as `expired`. Default: 24
   * hours.
   */
  readonly holdTimeoutMs?: number | 'none';
  /**
   * Hours in which no person is expected to answer. Time in them does not count towards the expiry of a held call. The
   * expiry is decided when the call is held and is stored with it. At most 30 days are added.
   */
  readonly quietHours?: readonly QuietHours[];
  /** If true, the person on whose behalf a call is made may not approve it. */
  readonly separateDuties?: boolean;
  /**
   * Files of the host that no call may touch, in addition to the runtime's own. The ledger, its key and
   * tokens, contract files and this package are always protected.
   */
  readonly protectedFiles?: ProtectedFiles;
  /**
   * A tool that runs commands is refused if they can reach the files of the ledger, unless it runs in the sandboxed
   * executor. `reachable` accepts the risk for all tools. `outOfReach` names tools that run no commands, or run them as
   * another user or on another machine, such as hand-off tools.
   */
  readonly ownFiles?: 'reachable' | { readonly outOfReach: readonly string[] };
  /** Repairs arguments that neither match their schema nor could be coerced. Two tries by default. */
  readonly repair?: Repair | Repairer;
  /**
   * Coerce arguments that do not match, by the listed rules? For tools without their own setting. Default:
   * true.
   */
  readonly coerce?: boolean;
  /** Decides whether a result is a success. Replaces the default check for tools without their own. */
  readonly successCheck?: SuccessCheck;
  /**
   * How calls of a mode are treated. By default `local` asks, `destructive` asks unless the tool can undo it,
   * and the others run.
   */
  readonly treatments?: Partial<Readonly<Record<ToolMode, Treatment>>>;
  /** Budgets of every turn of this runtime. */
  readonly budgets?: readonly BudgetRule[];
  readonly redaction?: RedactionOptions;
  /** For tools without their own. Default: five minutes. */
  readonly defaultTimeoutMs?: number;
  /** Longer outputs, in characters of JSON, are stored as artifacts. Default: 12,000. */
  readonly inlineLimit?: number;
  /** How long a cancelled body may take to stop. Default: five seconds. */
  readonly cancelGraceMs?: number;
  /** How many calls of one `callAll` run at a time. Default: eight. */
  readonly concurrency?: number;
  /** Traces and metrics of calls, e.g. `openTelemetry()` of `quittance/opentelemetry`. */
  readonly telemetry?: Telemetry;
  readonly clock?: Clock;
  readonly ids?: Ids;
};
