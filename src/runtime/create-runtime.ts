import { checkKeys } from '../base/check-keys.ts';
import { systemClock } from '../base/clock.ts';
import { QuittanceError } from '../base/error.ts';
import { createIds, eventIdsFrom } from '../base/ids.ts';
import { createQuietTimes } from '../base/quiet-hours.ts';
import type { Redactor } from '../base/redaction.ts';
import { createRedactor } from '../base/redaction.ts';
import { TOOL_MESSAGE_MAX_CHARS } from '../call/outcome.ts';
import { createFeed } from '../ledger/feed.ts';
import { parseKeyRing } from '../ledger/key-ring.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Seal } from '../ledger/seal.ts';
import { createLateSeal } from '../ledger/seal.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { ToolMode } from '../tool/mode.ts';
import { defaultSuccessCheck } from '../tool/success-check.ts';
import { AppendGate } from './host/append-gate.ts';
import type { BudgetRule } from './host/budget.ts';
import { ArrivingDecisions } from './host/arriving-decisions.ts';
import { callTool } from './behaviors/call-tool.ts';
import type { ActiveCall } from './state/active-call.ts';
import type { CallTool } from './behaviors/run-handler.ts';
import { RuntimeCore } from './runtime-core.ts';
import { checkRuntimeOptions, refuseReachableLedger } from './check-options.ts';
import { createDeadlines } from '../base/deadlines.ts';
import type { Engine, Treatment } from './state/engine.ts';
import { readHoldTimeout } from './settle/expiry.ts';
import { orUnavailable, reportTrouble } from './host/ledger-trouble.ts';
import { followContracts } from './rules/follow-contracts.ts';
import type { ProtectedFiles } from './files/own-files.ts';
import { createOwnFiles } from './files/own-files.ts';
import { openTurn } from './turn/open-turn.ts';
import type { RecoveredCall, RecoveryProgress } from './state/recovery.ts';
import { endRestored } from './recovery/end-restored.ts';
import { recover, sweep } from './recovery/recover.ts';
import { createReadArtifact, readArtifactName } from './read-artifact.ts';
import type { RuntimeCalls } from './runtime-calls.ts';
import { createRuntimeCalls } from './runtime-calls.ts';
import type { RuntimeConfirmations } from './runtime-confirmations.ts';
import { createRuntimeConfirmations } from './runtime-confirmations.ts';
import type { RuntimeEvents } from './runtime-events.ts';
import { createRuntimeEvents } from './runtime-events.ts';
import type { RuntimeDelegations } from './runtime-delegations.ts';
import { createRuntimeDelegations } from './runtime-delegations.ts';
import type { RuntimeGrants } from './runtime-grants.ts';
import { createRuntimeGrants } from './runtime-grants.ts';
import type { RuntimeHandoffs } from './runtime-handoffs.ts';
import { createRuntimeHandoffs } from './runtime-handoffs.ts';
import type { RuntimeOptions } from './runtime-options.ts';
import { stayAwake } from './state/stay-awake.ts';
import { FailedWrites } from './host/failed-writes.ts';
import type { TimeListener } from './host/safe-telemetry.ts';
import { SafeTelemetry } from './host/safe-telemetry.ts';
import { readOpenCounts } from './host/read-open-counts.ts';
import { recordFailedWrites, watchFailedWrites } from './settle/record-failed-writes.ts';
import { unlist } from './turn/reply-to-call.ts';
import { settlePending } from './settle/settle-pending.ts';
import { warnOfTrouble } from './host/runtime-trouble.ts';
import { toUndoTool } from './host/undo-tool.ts';
import type { WorkflowControl, WorkflowRef } from './rules/workflow-control.ts';
import { controlWorkflow } from './rules/workflow-control.ts';
import type { Turn } from './turn/turn.ts';
import type { TurnOptions } from './host/turn-options.ts';
import { StartPace } from './state/start-pace.ts';

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
   * Ends the calls of processes that are gone: a call that never ran is cancelled, a call that may run again does, and
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

const treatmentsByDefault: Readonly<Record<ToolMode, Treatment>> = {
  read: 'run',
  safe_write: 'run',
  destructive: 'ask_unless_undo',
  local: 'ask',
  external: 'run',
};

/** When the seal key is read. At the start by default, so that a missing key is found there. */
export type SealKeyUse = { readonly sealKey: 'at_start' | 'on_first_use' };

/** A runtime on a ledger: it makes the calls of any number of sessions and has no other state. */
export function createRuntimeOn<const Tools extends readonly AnyTool[]>(
  options: RuntimeOptions<Tools>,
  use: SealKeyUse = { sealKey: 'at_start' },
): Runtime<Tools> {
  const engine = createEngine(options, use);
  const feed = createFeed(engine.ledger.entries, 'on_demand');
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
      if (!state.swept) void Promise.resolve(sweep(state)).catch(() => undefined);
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
  for (const { live } of state.activeCalls.values()) live.signals.leave();
  await Promise.allSettled([...state.activeCalls.values()].map(untilHeldOrEnded));
  await state.behaviors.close();
  // A running round may have started before the last failure, so one more round is needed.
  await state.recording;
  if (engine.failedWrites.size > 0) await recordFailedWrites(state);
  if (state.pendingSettlements.size > 0) await settlePending(state);
  unlist(state);
}

function openSeal(ledger: Ledger, use: SealKeyUse): Seal {
  // A missing or wrong key is reported before the first call.
  if (use.sealKey === 'at_start') parseKeyRing(ledger.sealKey);
  return createLateSeal(
    () => ledger.sealKey,
    () => ledger.readSealKey?.(),
  );
}

/** An undecided call stays held. An approved one continues, and is awaited. */
async function untilHeldOrEnded(active: ActiveCall): Promise<unknown> {
  const reply = await active.reply;
  return reply?.type === 'held' && active.live.signals.withdraw === undefined ? reply.rest : reply;
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
  // Finds the files, and warns, before the first call.
  ownFiles.judge();
  const stragglers = new Set<Promise<unknown>>();
  const undoTools = byName(options.tools.flatMap((tool) => toUndoTool(tool, ledger) ?? []));
  for (const { name } of options.tools)
    if (undoTools.has(name))
      throw new QuittanceError(
        'config.invalid',
        `The name "${name}" is taken by what undoes another tool. Give yours another name.`,
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
    treatments: { ...treatmentsByDefault, ...options.treatments },
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
