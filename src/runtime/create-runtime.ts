import { systemClock } from '../base/clock.ts';
import { QuittanceError } from '../base/error.ts';
import { createIds, eventIdsFrom } from '../base/ids.ts';
import { createRedactor } from '../base/redaction.ts';
import type { ToolAuditRecord } from '../call/audit.ts';
import { projectAudit } from '../call/audit-projection.ts';
import type { Call } from '../call/call.ts';
import type { CallEvent, CallNotAccepted, DirectIdentity, QuittanceEvent } from '../call/event.ts';
import { foldCall } from '../call/evolve.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { TOOL_MESSAGE_MAX_CHARS } from '../call/outcome.ts';
import type { Page } from '../ledger/call-query.ts';
import type { ConfirmationQuery } from '../ledger/confirmation-query.ts';
import { createFeed } from '../ledger/feed.ts';
import { readRefusals, withRefusals } from '../ledger/read-refusals.ts';
import { createSeal } from '../ledger/seal.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { ToolMode } from '../tool/mode.ts';
import { defaultSuccessCheck } from '../tool/success-check.ts';
import type { BehaviorHandler, BehaviorSpec, EventName, RegisteredBehavior } from './host/behavior.ts';
import type { BudgetRule } from './host/budget.ts';
import { ArrivingDecisions } from './host/arriving-decisions.ts';
import { callTool } from './behaviors/call-tool.ts';
import type { Behavior } from './host/retry.ts';
import type { ActiveCall } from './state/active-call.ts';
import type { CallTool } from './behaviors/run-handler.ts';
import { RuntimeDesk } from './runtime-desk.ts';
import { checkOptions } from './check-options.ts';
import type { HandoffChoice, HandoffClaim, HandoffTerms } from './handoff/claim-handoff.ts';
import { claimHandoff } from './handoff/claim-handoff.ts';
import type { CallRef } from './state/gate.ts';
import { createDeadlines } from '../base/deadlines.ts';
import type { Engine, Treatment } from './state/engine.ts';
import { readHoldTimeout } from './settle/expiry.ts';
import { isAuditEvent, isCallEvent } from '../ledger/fold-stored.ts';
import { orUnavailable, tellTrouble } from '../ledger/ledger-trouble.ts';
import { followContracts } from './rules/note-contracts.ts';
import type { ConfirmationView } from './host/confirmation-view.ts';
import type { PersonDecision } from './hold/keep-decision.ts';
import { decideConfirmation } from './people/decide-confirmation.ts';
import type { TokenOptions, TokenUse } from './people/decision-token.ts';
import { decideByToken, makeDecisionToken } from './people/decision-token.ts';
import type { GrantView } from './host/grant-view.ts';
import type { GrantQuery, GrantRef, GrantRequest } from './grants/grants.ts';
import { giveGrant, listGrants, revokeGrant } from './grants/grants.ts';
import { listConfirmations } from './people/list-confirmations.ts';
import type { HandoffNotes, HandoffReport } from './handoff/handoff-report.ts';
import type { HandoffQuery, HandoffView } from './handoff/list-handoffs.ts';
import { listHandoffs } from './handoff/list-handoffs.ts';
import type { BatchAnswer, BatchReport, ReportedCall } from './handoff/report-handoff.ts';
import { reportAll, reportHandoff } from './handoff/report-handoff.ts';
import type { ProtectedFiles } from './files/own-files.ts';
import { createOwnFiles } from './files/own-files.ts';
import { openTurn } from './turn/open-turn.ts';
import type { AskTool, FoundOut } from './recovery/reconcile.ts';
import { reconcile } from './recovery/reconcile.ts';
import type { RecoveredCall, RecoveryProgress } from './state/recovery.ts';
import { recover, sweep } from './recovery/recover.ts';
import { createReadArtifact, readArtifactName } from './read-artifact.ts';
import type { RuntimeOptions } from './runtime-options.ts';
import { stayAwake } from './state/stay-awake.ts';
import { FailedWrites } from './host/failed-writes.ts';
import { recordFailedWrites, watchFailedWrites } from './settle/record-failed-writes.ts';
import { settleStranded } from './settle/stranded.ts';
import type { ErrorGroup, ErrorQuery } from '../ledger/summarise-errors.ts';
import { listErrors } from './list-errors.ts';
import type { UnresolvedQuery } from './recovery/list-unresolved.ts';
import { listUnresolved } from './recovery/list-unresolved.ts';
import type { UnresolvedCall } from './host/unresolved-call.ts';
import { warnOfTrouble } from './host/runtime-trouble.ts';
import type { UndoRequest } from './undo.ts';
import { undo } from './undo.ts';
import { toUndoTool } from './host/undo-tool.ts';
import type { WorkflowControl, WorkflowRef } from './rules/workflow-control.ts';
import { controlWorkflow } from './rules/workflow-control.ts';
import type { TailedEvent, TailOptions } from './tail.ts';
import { tail } from './tail.ts';
import type { Turn } from './turn/turn.ts';
import type { TurnOptions } from './host/turn-options.ts';

/** Which calls to read. */
export type CallFilter = { readonly sessionId: string; readonly callId?: string };

export interface Runtime<Tools extends readonly AnyTool[] = readonly AnyTool[]> {
  /** What it was made of, for whoever shows it: a server, a console. */
  readonly tools: Tools;
  readonly contracts: Contracts | undefined;
  readonly budgets: readonly BudgetRule[];
  turn(options: TurnOptions): Turn<Tools>;
  /** Calls of a session in the order of their requests. */
  calls(filter: CallFilter): Promise<readonly Call[]>;
  /** Audit records in the order they were kept. */
  audit(filter: CallFilter): Promise<readonly ToolAuditRecord[]>;
  events(filter: CallFilter): Promise<readonly QuittanceEvent[]>;
  /**
   * Ends the calls of processes that are gone: what never ran is cancelled, what may run again is, what cannot be known
   * is said to be so. Done when a process starts, and safe to do at any time.
   */
  recover(options?: {
    readonly onProgress?: (progress: RecoveryProgress) => void;
  }): Promise<readonly RecoveredCall[]>;
  /** Questions to people, newest first, a page at a time. */
  confirmations(query?: ConfirmationQuery): Promise<Page<ConfirmationView>>;
  /** Decides about a held call. The first decision counts; a second is refused and hears who was first. */
  decide(confirmationId: string, decision: PersonDecision): Promise<ConfirmationView>;
  /**
   * A text to decide one question with, for a link or a message: signed, bound to the input and the preview as they are
   * shown now, and good until it expires or somebody has decided.
   */
  decisionToken(confirmationId: string, options: TokenOptions): Promise<string>;
  /** Decides with such a text. Every check of `decide` is made. */
  decideByToken(token: string, use: TokenUse): Promise<ConfirmationView>;
  /**
   * Says that a decision begins to arrive, e.g. with the head of a request: about this question, or about one that the
   * request names only at its end. Questions this runtime holds do not expire meanwhile, for 10 seconds at most, so that
   * a denial with this `receivedAt` still counts. Call the result once the decision was made, refused or given up.
   */
  expectDecision(confirmationId?: string, receivedAt?: number): () => void;
  /** Permits calls of a tool beforehand: what would be asked about them is answered by the person who gives this. */
  grant(request: GrantRequest): Promise<GrantView>;
  /** The standing permissions of a session, oldest first. */
  grants(query: GrantQuery): Promise<readonly GrantView[]>;
  /** Takes a standing permission back. Calls whose body has not begun are asked about again. */
  revokeGrant(ref: GrantRef): Promise<GrantView>;
  /** Calls that another process is to run, or is running, oldest first. */
  handoffs(query?: HandoffQuery): Promise<readonly HandoffView[]>;
  /** Takes a call that was handed over: this one, or the one that waits longest for a tool, if any does. */
  claimHandoff(choice: CallRef, terms: HandoffTerms): Promise<HandoffClaim>;
  claimHandoff(choice: { readonly toolName: string }, terms: HandoffTerms): Promise<HandoffClaim | undefined>;
  /** Says how a call went that was taken. The first report counts; the same again gets what is recorded. */
  report(
    token: string,
    report: HandoffReport,
    notes?: HandoffNotes,
    identity?: DirectIdentity,
  ): Promise<ReportedCall>;
  /** Says it of several. One answer each, whatever becomes of the others. */
  reportAll(reports: readonly BatchReport[]): Promise<readonly BatchAnswer[]>;
  /**
   * Takes back what a call did, where its outcome says that it can be: a call of its own, which rules, limits and people
   * judge like any other. Once for each call.
   */
  undo(call: CallRef, request: UndoRequest): Promise<ToolOutcome>;
  /** Records what was found out about a call whose end was not known. Its outcome stays what it is. */
  reconcile(call: CallRef, found: FoundOut | AskTool): Promise<Call>;
  /** Calls that may have taken effect although nobody can say so, newest first, with what is known about them. */
  unresolved(query?: UnresolvedQuery): Promise<Page<UnresolvedCall>>;
  /** Calls that failed, timed out or were denied, grouped by who can do something about it. */
  errors(query?: ErrorQuery): Promise<readonly ErrorGroup[]>;
  /** Where a session stands in a workflow, and the way to move it. */
  workflow(ref: WorkflowRef): WorkflowControl;
  /**
   * Registers a behaviour: named code that is given events after they are kept. What it throws becomes an event,
   * `behavior.failed`, and reaches nobody else.
   */
  on<const Name extends EventName>(
    spec: BehaviorSpec<Name>,
    handler: BehaviorHandler<Name>,
  ): RegisteredBehavior;
  /** Registers one that is ready made, such as `retry()`. */
  on(behavior: Behavior): RegisteredBehavior;
  /**
   * Every event of the ledger, or of one session, in the order it was kept: from any position on, and then as they come,
   * until the signal aborts.
   */
  tail(options?: TailOptions): AsyncIterable<TailedEvent>;
  /** Keeps further files of the host out of the reach of calls, from the next call on. */
  protectFiles(files: ProtectedFiles): void;
  /** Takes no more calls and waits for those that are being made; held ones stay held. */
  close(): Promise<void>;
}

const treatmentsByDefault: Readonly<Record<ToolMode, Treatment>> = {
  read: 'run',
  safe_write: 'run',
  destructive: 'ask_unless_undo',
  local: 'ask',
  external: 'run',
};

/** A runtime on a ledger: it makes the calls of any number of sessions and holds nothing but them. */
export function createRuntimeOn<const Tools extends readonly AnyTool[]>(
  options: RuntimeOptions<Tools>,
): Runtime<Tools> {
  const engine = createEngine(options);
  const feed = createFeed(engine.ledger.entries);
  const desk = new RuntimeDesk(engine, feed);
  watchFailedWrites(desk, settleStranded);
  const closing = new AbortController();
  const call: CallTool = (...asked) => callTool(desk, ...asked);
  // Before recovery looks at any call: behaviors may have something to say about it.
  for (const { spec, handler } of options.behaviors ?? []) desk.behaviors.on(spec, handler, call);

  const read = async ({ sessionId, callId }: CallFilter): Promise<readonly QuittanceEvent[]> => {
    const events =
      callId === undefined
        ? await engine.ledger.journal.readSession(sessionId)
        : (await engine.ledger.journal.readCall(sessionId, callId))?.events;
    return events ?? [];
  };

  const readAudited = async (filter: CallFilter): Promise<readonly (CallEvent | CallNotAccepted)[]> => {
    const { sessionId, callId } = filter;
    const events = await read(filter);
    if (callId === undefined) return events.filter(isAuditEvent);
    return withRefusals(events.filter(isCallEvent), await readRefusals(engine.ledger, { sessionId, callId }));
  };

  const readCalls = async (filter: CallFilter): Promise<readonly (readonly CallEvent[])[]> => {
    const calls = new Map<string, CallEvent[]>();
    for (const event of await read(filter)) {
      if (!isCallEvent(event)) continue;
      const known = calls.get(event.callId);
      if (known === undefined) calls.set(event.callId, [event]);
      else known.push(event);
    }
    return [...calls.values()];
  };

  return {
    tools: options.tools,
    contracts: engine.contracts,
    budgets: engine.budgets,
    turn(turnOptions) {
      // Recovery begins with the first turn and holds up only what could repeat an effect in doubt.
      if (!desk.swept) void sweep(desk).catch(() => undefined);
      return openTurn<Tools>(desk, turnOptions);
    },
    calls: async (filter) =>
      (await orUnavailable(readCalls(filter))).flatMap((events) => foldCall(events) ?? []),
    audit: async (filter) => projectAudit(await orUnavailable(readAudited(filter))),
    events: (filter) => orUnavailable(read(filter)),
    recover: ({ onProgress } = {}) => orUnavailable(stayAwake(engine, recover(desk, onProgress))),
    confirmations: (query = {}) => orUnavailable(listConfirmations(engine, query)),
    decide: (confirmationId, decision) => orUnavailable(decideConfirmation(desk, confirmationId, decision)),
    decisionToken: (confirmationId, tokenOptions) =>
      orUnavailable(makeDecisionToken(engine, confirmationId, tokenOptions)),
    decideByToken: (token, use) => orUnavailable(decideByToken(desk, token, use)),
    expectDecision: (confirmationId, receivedAt = engine.ledger.now()) =>
      engine.arriving.note(confirmationId, receivedAt),
    grant: (request) => orUnavailable(giveGrant(engine, request)),
    grants: (query) => orUnavailable(listGrants(engine, query)),
    revokeGrant: (ref) => orUnavailable(revokeGrant(engine, ref)),
    handoffs: (query = {}) => orUnavailable(listHandoffs(desk, query)),
    // Named by its id, a call is given or refused: only a search comes back with nothing.
    claimHandoff: ((choice: HandoffChoice, terms: HandoffTerms) =>
      orUnavailable(claimHandoff(desk, choice, terms))) as Runtime['claimHandoff'],
    report: (token, report, notes, identity) =>
      orUnavailable(reportHandoff(desk, token, report, notes, identity)),
    reportAll: (reports) => reportAll(desk, reports),
    undo: (call, request) => orUnavailable(undo(desk, call, request)),
    reconcile: (call, found) => orUnavailable(reconcile(desk, call, found)),
    unresolved: (query = {}) => orUnavailable(listUnresolved(engine, query)),
    errors: async (query = {}) => orUnavailable(listErrors(engine, query)),
    workflow: (ref) => controlWorkflow(engine, ref),
    on: (first: BehaviorSpec | Behavior, handler?: BehaviorHandler) =>
      handler === undefined && isBehavior(first)
        ? desk.behaviors.on(first.spec, first.handler, call)
        : // Whatever is missing is named there.
          desk.behaviors.on(first as BehaviorSpec, handler as BehaviorHandler, call),
    tail: (tailOptions = {}) => tail(engine, feed, tailOptions, closing.signal),
    protectFiles: (files) => engine.ownFiles.add(files),
    async close() {
      desk.closed = true;
      closing.abort();
      desk.room.close();
      // What another process runs is its own: it is not waited for.
      for (const { live } of desk.inHand.values()) live.signals.leave();
      await Promise.allSettled([...desk.inHand.values()].map(untilHeldOrTold));
      await desk.behaviors.close();
      // A round that is under way may have begun before the last failure: one more takes that in.
      await desk.recording;
      if (engine.failedWrites.size > 0) await recordFailedWrites(desk);
      if (desk.stranded.size > 0) await settleStranded(desk);
    },
  };
}

const isBehavior = (given: unknown): given is Behavior =>
  typeof given === 'object' && given !== null && 'spec' in given && 'handler' in given;

/** A call nobody answered for stays held; one that was approved is being made. */
async function untilHeldOrTold(active: ActiveCall): Promise<unknown> {
  const told = await active.told;
  return told?.type === 'held' && active.live.signals.withdraw === undefined ? told.rest : told;
}

function createEngine<Tools extends readonly AnyTool[]>(options: RuntimeOptions<Tools>): Engine {
  checkOptions(options);
  const { clock = systemClock, ids = createIds(), onPreToolUse = [] } = options;
  const { inlineLimit = TOOL_MESSAGE_MAX_CHARS } = options;
  const ledger = tellTrouble(options.ledger);
  const onTrouble = options.onTrouble ?? warnOfTrouble;
  const ownFiles = createOwnFiles(options.ledger, options.contracts, options.protectedFiles, onTrouble);
  // Looks where the files lie, and warns, before the first call.
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
    seal: createSeal(ledger.sealKey),
    redactor: createRedactor(options.redaction),
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
    mayDecide: options.mayDecide,
    mayGrant: options.mayGrant,
    separateDuties: options.separateDuties ?? false,
    holdTimeoutMs: readHoldTimeout(options.holdTimeoutMs),
    repair: typeof options.repair === 'function' ? { repair: options.repair, attempts: 2 } : options.repair,
    coerce: options.coerce ?? true,
    successCheck: options.successCheck ?? options.contracts?.successCheck ?? defaultSuccessCheck,
    treatments: { ...treatmentsByDefault, ...options.treatments },
    budgets: options.budgets ?? [],
    defaultTimeoutMs: options.defaultTimeoutMs ?? 300_000,
    inlineLimit,
    cancelGraceMs: options.cancelGraceMs ?? 5_000,
    concurrency: options.concurrency ?? 8,
    spill: { waiting: false },
    failedWrites: new FailedWrites(() => ledger.now()),
    stragglers,
  };
}

/** Rules may withdraw that a tool may be run again; one that only reads may be whatever they say. */
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
          ? `Every runtime has a tool named "${readArtifactName}" of its own. Give yours another name.`
          : `Two tools are named "${tool.name}". Give one of them another name.`,
      );
    named.set(tool.name, tool);
  }
  return named;
}
