/** Creates a runtime: its options, their checks, and its interface. */
import { checkKeys } from '../base/check-keys.ts';
import { systemClock, createDeadlines } from '../base/deadlines.ts';
import { QuittanceError } from '../base/error.ts';
import { createIds, eventIdsFrom } from '../base/ids.ts';
import { createQuietTimes } from '../base/quiet-hours.ts';
import type { Redactor, RedactionOptions } from '../base/redaction.ts';
import { createRedactor } from '../base/redaction.ts';
import { TOOL_MESSAGE_MAX_CHARS } from '../call/outcome.ts';
import { createFeed } from '../ledger/feed.ts';
import { parseKeyRing, createLateSeal } from '../ledger/seal.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { Seal } from '../ledger/seal.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { defaultTreatments } from '../tool/mode.ts';
import { defaultSuccessCheck } from '../tool/success-check.ts';
import { AppendGate, orUnavailable, reportTrouble, FailedWrites } from './ledger-trouble.ts';
import type { BudgetRule } from './budget.ts';
import { ArrivingDecisions, readOpenCounts } from './views.ts';
import { callTool } from './run-handler.ts';
import type { CallInProgress } from './active-call.ts';
import type { CallTool } from './run-handler.ts';
import {
  RuntimeCore,
  createRuntimeCalls,
  createRuntimeConfirmations,
  createRuntimeEvents,
  createRuntimeDelegations,
  createRuntimeGrants,
  createRuntimeHandoffs,
} from './runtime-parts.ts';
import type { Engine, Repair, Repairer } from './engine.ts';
import { readHoldTimeout } from './settle.ts';
import { followContracts, controlWorkflow } from './contract-rules.ts';
import type { ProtectedFiles } from './own-files.ts';
import { createOwnFiles } from './own-files.ts';
import { openTurn } from './open-turn.ts';
import type { RecoveredCall, RecoveryProgress } from './runtime-state.ts';
import { endRestored } from './recover-call.ts';
import { recover, sweep } from './recover.ts';
import { createReadArtifact, readArtifactName } from './read-artifact.ts';
import type {
  RuntimeCalls,
  RuntimeConfirmations,
  RuntimeEvents,
  RuntimeDelegations,
  RuntimeGrants,
  RuntimeHandoffs,
} from './runtime-parts.ts';
import { stayAwake, StartPace } from './engine.ts';
import type { TimeListener, OnTrouble, Telemetry } from './telemetry.ts';
import { SafeTelemetry, warnOfTrouble } from './telemetry.ts';
import { recordFailedWrites, watchFailedWrites } from './failed-writes.ts';
import { unregisterIfIdle } from './run-call.ts';
import { settlePending } from './recall.ts';
import { toUndoTool } from './undo-tool.ts';
import type { WorkflowControl, WorkflowRef } from './contract-rules.ts';
import type { Turn } from './turn.ts';
import type { TurnOptions, Behavior, PreToolUse } from './call-options.ts';
import type { Clock } from '../base/deadlines.ts';
import type { Ids } from '../base/ids.ts';
import type { QuietHours } from '../base/quiet-hours.ts';
import type { ToolMode, Treatment } from '../tool/mode.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import type { OnConfirm } from './views.ts';
import type { MayDecide, MayGrant } from './approvers.ts';
import { whyRunsCommands } from '../tool/runs-commands.ts';
import { sandboxMarkOf } from '../tool/sandboxed-tool.ts';
import { checkBudgets } from './budget.ts';

/** Makes the calls of any number of sessions, and gives access to everything on record about them. */
export interface Runtime<Tools extends readonly AnyTool[] = readonly AnyTool[]> {
  /** The options it was created with, for servers and consoles that show them. */
  readonly tools: Tools;
  readonly contracts: Contracts | undefined;
  readonly budgets: readonly BudgetRule[];
  /** Its redaction, for everything else that leaves the process about its calls, such as messages and logs. */
  readonly redactor: Redactor;
  /** Opens a turn: one round of an agent's loop. Calls are made through it. */
  turn(options: TurnOptions): Turn<Tools>;
  readonly calls: RuntimeCalls;
  readonly confirmations: RuntimeConfirmations;
  readonly grants: RuntimeGrants;
  readonly delegations: RuntimeDelegations;
  readonly handoffs: RuntimeHandoffs;
  readonly events: RuntimeEvents;
  /** The workflow state of a session, and the way to change it. */
  workflow(ref: WorkflowRef): WorkflowControl;
  /**
   * Ends the calls of processes that are gone: a call that never ran is cancelled, a call that may run again is rerun, and
   * a call whose effect is unknown ends as such. Call it when a process starts; it is safe at any time.
   */
  recover(options?: {
    readonly onProgress?: (progress: RecoveryProgress) => void;
    /**
     * The time of the backup that the ledger was just restored from. Calls that were open then end first and never run:
     * the original ledger may have run them since. Only attempts that are safe to run again stay open.
     */
    readonly restoredFrom?: number;
  }): Promise<readonly RecoveredCall[]>;
  /** Protects further files of the host from calls, from the next call on. */
  protectFiles(files: ProtectedFiles): void;
  /**
   * Calls the listener with how long calls of a batch waited for their turn, and how long the ledger took to store an
   * entry. Returns a function that removes it. Nothing is measured without a listener and without telemetry.
   */
  onTime(listener: TimeListener): () => void;
  /** Accepts no more calls and waits for active ones. Held calls stay held. */
  close(): Promise<void>;
}

/** Time at which the seal key is read. Default: at the start, so that a missing key is reported there. */
type SealKeyUse = { readonly sealKey: 'at_start' | 'on_first_use' };

/** A runtime on a ledger: it makes the calls of any number of sessions and has no other state. */
export function createRuntimeOn<const Tools extends readonly AnyTool[]>(
  options: RuntimeOptions<Tools>,
  use: SealKeyUse = { sealKey: 'at_start' },
): Runtime<Tools> {
  const engine = createEngine(options, use);
  const feed = createFeed(engine.ledger, 'on_demand');
  const state = new RuntimeCore(engine, feed);
  watchFailedWrites(state, settlePending);
  const closing = new AbortController();
  const unwatch = engine.telemetry.watchCounts(() => readOpenCounts(engine.ledger));
  closing.signal.addEventListener('abort', unwatch, { once: true });
  options.ledger.watchTrouble?.(engine.onTrouble, closing.signal);
  const call: CallTool = (...asked) => callTool(state, ...asked);
  // Registered before recovery, because behaviors may react to recovered calls.
  for (const { spec, handler } of options.behaviors ?? []) state.behaviors.on(spec, handler, call);

  return {
    tools: options.tools,
    contracts: engine.contracts,
    budgets: engine.budgets,
    redactor: engine.redactor,
    turn(turnOptions) {
      // Recovery starts with the first turn. It delays only calls that could repeat an unknown effect.
      if (!state.swept) void sweep(state).catch(() => undefined);
      return openTurn<Tools>(state, turnOptions);
    },
    calls: createRuntimeCalls(state),
    confirmations: createRuntimeConfirmations(state),
    grants: createRuntimeGrants(engine),
    delegations: createRuntimeDelegations(engine),
    handoffs: createRuntimeHandoffs(state),
    events: createRuntimeEvents(state, feed, call, closing.signal),
    workflow: (ref) => controlWorkflow(engine, ref),
    async recover(recoverOptions = {}) {
      checkKeys('runtime.recover', recoverOptions, ['onProgress', 'restoredFrom']);
      const { onProgress, restoredFrom } = recoverOptions;
      if (restoredFrom !== undefined)
        return orUnavailable(stayAwake(engine, endRestored(state, restoredFrom)));
      return orUnavailable(stayAwake(engine, recover(state, onProgress)));
    },
    protectFiles: (files) => engine.ownFiles.add(files),
    onTime: (listener) => engine.telemetry.listen(listener),
    close: () => close(state, closing),
  };
}

/** Accepts no more calls, and resolves once active calls and their late results are on record. */
async function close(state: RuntimeCore, closing: AbortController): Promise<void> {
  const { engine } = state;
  state.closed = true;
  closing.abort();
  state.room.close();
  // It does not wait for hand-offs.
  for (const { active } of state.callsInProgress.values()) active.signals.leave();
  await Promise.allSettled([...state.callsInProgress.values()].map(untilHeldOrEnded));
  await state.behaviors.close();
  // The current round may have started before the last failure, so one more round is needed.
  await state.recording;
  if (engine.failedWrites.size > 0) await recordFailedWrites(state);
  if (state.pendingSettlements.size > 0) await settlePending(state);
  unregisterIfIdle(state);
}

function openSeal(ledger: OpenLedger, use: SealKeyUse): Seal {
  // A missing or wrong key is reported before the first call.
  if (use.sealKey === 'at_start') parseKeyRing(ledger.sealKey);
  return createLateSeal(
    () => ledger.sealKey,
    () => ledger.readSealKey?.(),
  );
}

/** An undecided call stays held. An approved one continues, and is awaited. */
async function untilHeldOrEnded({ active, reply: replying }: CallInProgress): Promise<unknown> {
  const reply = await replying;
  return reply.type === 'held' && active.signals.held === undefined ? reply.rest : reply;
}

function createEngine<Tools extends readonly AnyTool[]>(
  options: RuntimeOptions<Tools>,
  use: SealKeyUse,
): Engine {
  checkRuntimeOptions(options);
  const { clock = systemClock, ids = createIds(), onPreToolUse = [] } = options;
  const { inlineLimit = TOOL_MESSAGE_MAX_CHARS } = options;
  const onTrouble = options.onTrouble ?? warnOfTrouble;
  const redactor = createRedactor(options.redaction);
  const telemetry = new SafeTelemetry(options.telemetry, redactor, onTrouble);
  const appendGate = new AppendGate();
  const ledger = reportTrouble(options.ledger, { telemetry, clock }, appendGate);
  refuseReachableLedger(options);
  const ownFiles = createOwnFiles(options.ledger, options.contracts, options.protectedFiles, onTrouble);
  // Collects the protected files, and warns, before the first call.
  ownFiles.judge();
  const stragglers = new Set<Promise<unknown>>();
  const undoTools = byName(options.tools.flatMap((tool) => toUndoTool(tool, ledger) ?? []));
  for (const { name } of options.tools)
    if (undoTools.has(name))
      throw new QuittanceError(
        'config.invalid',
        `The name "${name}" is reserved for the undo of another tool. Rename your tool.`,
      );
  const tools = byName([...options.tools, createReadArtifact(ledger, inlineLimit)]);
  return {
    clock,
    ids,
    nextEventId: eventIdsFrom(ids),
    ledger,
    seal: openSeal(options.ledger, use),
    redactor,
    deadlines: createDeadlines(clock),
    expiries: createDeadlines(clock, { keepsAlive: false }),
    arriving: new ArrivingDecisions(),
    tools,
    contracts: options.contracts,
    policyInForce: followContracts(options.contracts, ledger, ids, stragglers),
    toolFor: (name, policy) => asRulesSee(tools.get(name), policy),
    undoToolFor: (name, policy) => asRulesSee(undoTools.get(name), policy),
    ownFiles,
    hooks: typeof onPreToolUse === 'function' ? [onPreToolUse] : [...onPreToolUse],
    onConfirm: options.onConfirm,
    onTrouble,
    telemetry,
    appendGate,
    mayDecide: options.mayDecide,
    mayGrant: options.mayGrant,
    separateDuties: options.separateDuties ?? false,
    holdTimeoutMs: readHoldTimeout(options.holdTimeoutMs),
    quietTimes: createQuietTimes(options.quietHours ?? []),
    repair: typeof options.repair === 'function' ? { repair: options.repair, attempts: 2 } : options.repair,
    coerce: options.coerce ?? true,
    successCheck: options.successCheck ?? options.contracts?.successCheck ?? defaultSuccessCheck,
    treatments: { ...defaultTreatments, ...options.treatments },
    budgets: options.budgets ?? [],
    defaultTimeoutMs: options.defaultTimeoutMs ?? 300_000,
    inlineLimit,
    cancelGraceMs: options.cancelGraceMs ?? 5_000,
    concurrency: options.concurrency ?? 8,
    starts: new StartPace(),
    spill: { waiting: false },
    failedWrites: new FailedWrites(() => ledger.now()),
    stragglers,
  };
}

/** Rules may withdraw a tool's permission to rerun, except for a tool that only reads. */
function asRulesSee(tool: AnyTool | undefined, policy: Policy | undefined): AnyTool | undefined {
  if (tool?.idempotent !== true || policy?.toolFacts(tool.name).idempotent !== false) return tool;
  return { ...tool, idempotent: false, mayRerun: tool.surelyReads };
}

function byName(tools: readonly AnyTool[]): ReadonlyMap<string, AnyTool> {
  const named = new Map<string, AnyTool>();
  for (const tool of tools) {
    if (named.has(tool.name))
      throw new QuittanceError(
        'config.invalid',
        tool.name === readArtifactName
          ? `Every runtime already has a tool named "${readArtifactName}". Give yours another name.`
          : `Two tools are named "${tool.name}". Give one of them another name.`,
      );
    named.set(tool.name, tool);
  }
  return named;
}

/** The options of a runtime. Only the tools and the ledger are required. */
export type RuntimeOptions<Tools extends readonly AnyTool[]> = {
  readonly tools: Tools;
  readonly ledger: OpenLedger;
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
   * Whether arguments that do not match are coerced by the listed rules. For tools without their own setting. Default:
   * true.
   */
  readonly coerce?: boolean;
  /** Decides whether a result is a success. Replaces the default check for tools without their own. */
  readonly successCheck?: SuccessCheck;
  /** How calls of a mode, and calls of tools with a risk, are treated. Default: `defaultTreatments`. */
  readonly treatments?: Partial<Readonly<Record<ToolMode | 'risk', Treatment>>>;
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
  /** Traces and metrics of calls, e.g. `openTelemetry()` of `@quittance/opentelemetry`. */
  readonly telemetry?: Telemetry;
  readonly clock?: Clock;
  readonly ids?: Ids;
};

const wholeNumbers = {
  defaultTimeoutMs: 1,
  holdTimeoutMs: 1,
  inlineLimit: 1,
  cancelGraceMs: 0,
  concurrency: 1,
} as const;

const known: Readonly<Record<keyof RuntimeOptions<readonly AnyTool[]>, true>> = {
  tools: true,
  ledger: true,
  onPreToolUse: true,
  contracts: true,
  onConfirm: true,
  behaviors: true,
  onTrouble: true,
  mayDecide: true,
  mayGrant: true,
  separateDuties: true,
  protectedFiles: true,
  ownFiles: true,
  holdTimeoutMs: true,
  quietHours: true,
  repair: true,
  coerce: true,
  successCheck: true,
  treatments: true,
  budgets: true,
  redaction: true,
  defaultTimeoutMs: true,
  inlineLimit: true,
  cancelGraceMs: true,
  concurrency: true,
  telemetry: true,
  clock: true,
  ids: true,
};

/** Reports configuration mistakes here, not at the first call that meets them. */
function checkRuntimeOptions(options: RuntimeOptions<readonly AnyTool[]>): void {
  if (typeof options !== 'object' || options === null)
    refuse('createRuntime takes an object, e.g. createRuntime({ tools: [myTool] }).');
  checkKeys('createRuntime', options, Object.keys(known));
  const ledger: Partial<OpenLedger> | undefined = options.ledger;
  if (typeof ledger?.append !== 'function')
    refuse('ledger must be an open ledger or the URL of one, e.g. "sqlite:./calls.db".');
  if (!Array.isArray(options.tools))
    refuse('createRuntime needs tools: an array of tools made by defineTool or govern.');
  for (const [index, tool] of options.tools.entries())
    if (typeof tool?.run !== 'function' || typeof tool.input?.check !== 'function')
      refuse(
        `tools[${index}] is not a tool. Make it with defineTool({...}), or put existing ones in with ...govern({...}).`,
      );
  for (const [name, least] of Object.entries(wholeNumbers)) {
    const value = options[name as keyof typeof wholeNumbers];
    const isNone = name === 'holdTimeoutMs' && value === 'none';
    if (value !== undefined && !isNone && !(Number.isSafeInteger(value) && Number(value) >= least))
      refuse(
        `${name} must be a whole number of at least ${least}${name === 'holdTimeoutMs' ? ", or 'none'" : ''}, found ${String(value)}.`,
      );
  }
  if (options.contracts !== undefined && typeof options.contracts.policy?.judgeCall !== 'function')
    refuse("contracts must be made by `contractsFromYaml` or another function of 'quittance/contracts'.");
  for (const name of ['onConfirm', 'mayDecide', 'mayGrant', 'successCheck'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'function')
      refuse(`${name} must be a function.`);
  if (options.telemetry !== undefined && typeof options.telemetry?.startCall !== 'function')
    refuse("telemetry must be made by `openTelemetry` of '@quittance/opentelemetry'.");
  if (options.coerce !== undefined && typeof options.coerce !== 'boolean')
    refuse('coerce must be true or false.');
  if (options.behaviors !== undefined && !Array.isArray(options.behaviors))
    refuse('behaviors must be an array of behaviors, e.g. [retry()].');
  for (const [index, behavior] of (options.behaviors ?? []).entries())
    if (typeof behavior?.spec !== 'object' || typeof behavior.handler !== 'function')
      refuse(`behaviors[${index}] is not a behavior: { spec, handler }, or the result of retry().`);
  const hooks = options.onPreToolUse ?? [];
  if (![hooks].flat().every((hook) => typeof hook === 'function'))
    refuse('onPreToolUse must be a function or an array of functions.');
  checkRepair(options.repair);
  for (const [mode, treatment] of Object.entries(options.treatments ?? {})) {
    if (!Object.hasOwn(defaultTreatments, mode))
      refuse(
        `treatments: unknown mode ${JSON.stringify(mode)}. Expected a mode or risk: ${Object.keys(defaultTreatments).join(', ')}.`,
      );
    if (!['run', 'ask', 'ask_unless_undo'].includes(treatment))
      refuse(
        `treatments.${mode}: unknown value ${JSON.stringify(treatment)}. Expected "run", "ask" or "ask_unless_undo".`,
      );
  }
  checkBudgets(options.budgets);
}

function checkRepair(repair: RuntimeOptions<readonly AnyTool[]>['repair']): void {
  if (repair === undefined || typeof repair === 'function') return;
  if (typeof repair.repair !== 'function' || !Number.isSafeInteger(repair.attempts) || repair.attempts < 0)
    refuse('repair must be a function, or {repair: function, attempts: whole number}.');
}

function refuse(message: string): never {
  throw new QuittanceError('config.invalid', message);
}

/**
 * A tool that runs commands can reach the ledger's files with them, whatever is read in the text of a call. The host
 * must prevent that, accept it, or name the tools that cannot.
 */
function refuseReachableLedger({
  tools,
  ledger,
  ownFiles,
}: {
  readonly tools: readonly AnyTool[];
  readonly ledger: Pick<OpenLedger, 'ownFiles'>;
  readonly ownFiles?: RuntimeOptions<readonly AnyTool[]>['ownFiles'] | undefined;
}): void {
  const outOfReach = readOutOfReach(ownFiles, tools);
  const file = ledger.ownFiles?.find(({ kind, withCompanions }) => kind === 'ledger' && withCompanions);
  if (ownFiles === 'reachable' || file === undefined) return;
  for (const tool of tools) {
    if (outOfReach.has(tool.name) || sandboxMarkOf(tool)?.protects([file], tool.name) === true) continue;
    const why = whyRunsCommands(tool);
    if (why === undefined) continue;
    throw new QuittanceError(
      'config.invalid',
      `createRuntime: the tool "${tool.name}" counts as one that runs commands on this machine: ${why}. Commands can ` +
        `reach the ledger, ${file.path}, and reading their text does not prevent that. Make the tool with createSandbox ` +
        'of quittance/sandbox, or keep the ledger in PostgreSQL. If the tool runs no commands, or runs them as another ' +
        `user or on another machine, set ownFiles: { outOfReach: [${JSON.stringify(tool.name)}] }. To accept the risk, ` +
        "set ownFiles: 'reachable'.",
    );
  }
}

function readOutOfReach(
  ownFiles: RuntimeOptions<readonly AnyTool[]>['ownFiles'] | undefined,
  tools: readonly AnyTool[],
): ReadonlySet<string> {
  if (ownFiles === undefined || ownFiles === 'reachable') return new Set();
  const { outOfReach, ...others } = Object(ownFiles) as { readonly outOfReach?: unknown }; // may come from JavaScript
  if (!Array.isArray(outOfReach) || Object.keys(others).length > 0)
    refuse('createRuntime: ownFiles takes "reachable" or { outOfReach: [names of tools] }, or leave it out.');
  const names = new Set(tools.map(({ name }) => name));
  const unknown = outOfReach.find((name: unknown) => typeof name !== 'string' || !names.has(name)) as unknown;
  if (unknown !== undefined)
    refuse(
      `createRuntime: ownFiles.outOfReach names ${JSON.stringify(unknown)}, which is not a tool of this runtime.`,
    );
  return new Set(outOfReach as readonly string[]);
}
