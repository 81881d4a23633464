/**
 * The life of one call, top to bottom.
 *
 * - Recall: a known call is answered from its record (`recall.ts`).
 * - Gates: ordered checks pass, deny or hold the call (`gates.ts`).
 * - Hold: a person is asked (`hold.ts`).
 * - Intent: claim, reservations and intent are stored in one append (`intent.ts`).
 * - Attempt: the body runs against its deadline (`attempt.ts`).
 * - Judge: the success check, output schema, rules on results and redaction make the outcome (`judge.ts`).
 * - Settle: outcome, model content and budgets are stored in one append (`settle.ts`).
 *
 * 1. A call is in `callsInProgress` from before its first step until its outcome is stored. A repeat of the same call
 *    joins it.
 * 2. No body runs before `storeIntent` has stored its intent, except a read without a limit.
 * 3. `settle` appends the outcome before any caller gets it.
 * 4. Every append states the version that this process has read. If another process appended first, its record is the
 *    answer.
 *
 * A call that this process takes over from another one enters at `continueCall` or `runAttempts`.
 */
import { QuittanceError } from '../base/error.ts';
import type { JsonValue } from '../base/json.ts';
import { freezeJson } from '../base/json.ts';
import { noSecrets } from '../base/known-secrets.ts';
import { within } from '../base/deadlines.ts';
import type { Call, Confirmation } from '../call/call.ts';
import type { Command } from '../call/decide.ts';
import type { Ask } from '../call/events/confirmation-event.ts';
import type { HiddenId } from '../call/events/gate-event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { outcomeIsError } from '../call/outcome.ts';
import { ownerOf } from '../call/owner-of.ts';
import type { ParsedArguments, ParsedToolCall } from '../call/tool-call.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { StoredCall } from '../ledger/journal.ts';
import { keepTyped, restoreApprovedInput } from './recorded-input.ts';
import { Attempt } from './attempt.ts';
import type { AttemptTerms } from './retry-attempt.ts';
import { retryAttempt } from './retry-attempt.ts';
import { storeIntent } from './intent.ts';
import {
  gates,
  gatesAfterApproval,
  gatesForOtherInput,
  endAtGate,
  finalCheck,
  waitUnlessEnded,
  passGates,
  recheck,
} from './gates.ts';
import { answerByGrant } from './grants.ts';
import { awaitReport } from './await-report.ts';
import { asksNow, endUnlessApproved, questionOf, storeQuestion } from './hold.ts';
import type { HostAnswer } from './until-decided.ts';
import { HeldCall, actOnSignal, notAsked, readHeld, throwPending } from './until-decided.ts';
import type { CallOptions } from './call-options.ts';
import { inputForTool, isDigestOf, keepInput, resourceKeysOf } from './call-input.ts';
import type { KeptInput, RestoredInput } from './call-input.ts';
import { isUsedTooLate, settleExpired, overtaken, settle } from './settle.ts';
import { noteFailedWrite, recordFailedWrites } from './failed-writes.ts';
import { recall, settlePending, notAccepted, importSpills, readWaiting } from './recall.ts';
import type {
  ActiveCall,
  CallContext,
  CallInProgress,
  CallTerms,
  CheckedCall,
  KeptCall,
} from './active-call.ts';
import { acceptCall, modeOf, recallNotes } from './active-call.ts';
import { CallObserver, traceparentOf } from './call-observer.ts';
import type { CallReply, PendingReply } from './call-reply.ts';
import type { RuntimeState } from './runtime-state.ts';
import { readCaller } from './call-input.ts';
import { refuseCaller } from './rights.ts';
import type { TurnState } from './turn-state.ts';
import { checkCallOptions } from './call-options.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { Treatment } from '../tool/mode.ts';

/** The answer to the callers. `asked`: a call held here. */
type Reply = CallReply | (PendingReply & { readonly asked: KeptCall });

export const defaultTerms: CallTerms = { submitted: false };

/** Makes a call, or joins the same call if it is in progress. `undoTool`: see `acceptCall`. */
export function makeCall(
  state: RuntimeState,
  turn: TurnState,
  request: ParsedToolCall,
  options: CallOptions,
  terms: CallTerms,
  undoTool?: AnyTool,
): CallInProgress {
  const { engine, callsInProgress } = state;
  if (state.closed)
    throw new QuittanceError(
      'runtime.closed',
      'This runtime is closed; create a new one on the same ledger.',
    );
  checkCallOptions(options);
  const tool = undoTool ?? engine.tools.get(request.name);
  // Before a join: the answer of a call may go only to callers that may make it.
  refuseCaller(readCaller(options.askedBy, turn.facts, engine.redactor), tool);
  const requested = keepInput(rawOf(request.input), tool?.redact?.input, engine.redactor, engine.seal);
  const key = turn.keyBeginning + request.id;
  const known = callsInProgress.get(key);
  if (known !== undefined && isSameRequest(known.active, request, requested)) return known;
  const active = acceptCall(state, turn, request, requested, options, terms, undoTool);
  if (known !== undefined) {
    const again = (): CallInProgress => makeCall(state, turn, request, options, terms, undoTool);
    return { active: active.context, reply: refuseConflict(known, active, again) };
  }
  const reply = Promise.withResolvers<CallReply>();
  reply.promise.catch(() => undefined); // callers get the error from `reply` itself
  const made = { active: active.context, reply: reply.promise };
  callsInProgress.set(key, made);
  reply.resolve(runAndReply(state, key, active));
  return made;
}

/** Runs the call. Cancels it if its caller gives up. Removes it from `callsInProgress` at its end. */
async function runAndReply(state: RuntimeState, key: string, active: ActiveCall): Promise<Reply> {
  const { engine, journal, options, signals } = active;
  options.signal?.addEventListener('abort', signals, { once: true });
  if (options.signal?.aborted === true) signals.handleEvent();
  let reply: Reply | undefined;
  try {
    await engine.starts.untilTurn();
    journal.observer = CallObserver.start(active);
    reply = await runCall(state, key, active);
    if (engine.failedWrites.isDue && journal.version > 0) {
      if (journal.owned) engine.failedWrites.forget(journal);
      await within(engine, recordingGraceMs, recordFailedWrites(state), undefined);
    }
    return reply;
  } catch (error) {
    if (journal.owned) noteFailedWrite(active, error);
    const answer = notAccepted(active, error);
    reply ??= answer;
    return answer;
  } finally {
    if (journal.owned && journal.version > 0) engine.failedWrites.forget(journal);
    if (reply?.type !== 'held') leave(state, key, active, reply);
    else leaveAfter(state, key, 'asked' in reply ? reply.asked : keptOf(active), reply.rest);
  }
}

const keptOf = ({ context, toolKey, claimKey, ruled }: ActiveCall): KeptCall => ({
  context,
  toolKey,
  claimKey,
  ruled,
});

function leaveAfter(state: RuntimeState, key: string, left: KeptCall, rest: Promise<ToolOutcome>): void {
  const leaveWith = (end: ToolOutcome | Error): void =>
    leave(state, key, left, end instanceof Error ? undefined : end);
  void rest.then(leaveWith, leaveWith);
}

/** Maximum delay of a stored outcome while failed writes of other calls are recorded. */
const recordingGraceMs = 250;

/** Removes a call from the calls in progress. One whose end is not stored stays pending. */
function leave(state: RuntimeState, key: string, left: KeptCall, answer: Reply | undefined): void {
  const { callsInProgress, pendingSettlements } = state;
  const { journal, options, signals } = left.context;
  // One signal may be shared by a thousand calls.
  options.signal?.removeEventListener('abort', signals);
  journal.observer?.end(answer);
  callsInProgress.delete(key);
  if (journal.isLeftOpen()) pendingSettlements.set(key, left);
  else if (journal.owned) pendingSettlements.delete(key);
  if (state.closed) unregisterIfIdle(state);
}

/** Unregisters a closed runtime without calls from its ledger handle. */
export function unregisterIfIdle({ callsInProgress, engine }: RuntimeState): void {
  if (callsInProgress.size === 0) engine.ledger.runtimes.delete(callsInProgress);
}

async function runCall(state: RuntimeState, key: string, active: ActiveCall): Promise<Reply> {
  const { engine, journal, request } = active;
  // Earlier failed writes are stored first. A call of this runtime that stopped at such a failure continues from its record.
  const { hasWaiting } = engine.failedWrites;
  const hasPending = state.pendingSettlements.size > 0;
  if (hasWaiting) await recordFailedWrites(state);
  if (hasPending) await settlePending(state);

  // A read runs before its first append, so no version conflict would reveal an existing record.
  const isCertain = hasWaiting || hasPending || active.tool?.surelyReads === true;
  const known = await readKnown(active, isCertain ? 'certain' : 'before_append');
  if (known !== undefined) {
    const left = state.pendingSettlements.get(key);
    return left?.context.journal.version === known.version &&
      isSameRequest(left.context, request, active.requested)
      ? continueLeft(active, left, known)
      : recall(active, known);
  }
  const spilled = engine.spill.waiting ? await findSpilled(active) : undefined;
  if (spilled !== undefined) return spilled;

  journal.apply(toRequest(active));
  // Adds the earlier failures of this call id, which could not be stored.
  for (const command of engine.failedWrites.commandsFor(journal)) journal.apply(command);
  if (active.submitted && (await journal.flush()).status !== 'appended') return overtaken(active);
  return runFromGates(active);
}

/** Passes the gates, asks a person if needed, then runs the body. */
async function runFromGates(active: ActiveCall): Promise<Reply> {
  for (;;) {
    const passed = await passGates(active, gates);
    if (passed.type === 'stopped') return endAtGate(passed.active, passed.stop);
    const asks = withAskByMode(passed.active);
    const granted = asks.length === 0 ? {} : await answerByGrant(passed.active, asks);
    const reply =
      granted === undefined
        ? await hold({ ...passed.active, asks })
        : await execute({ ...passed.active, ...granted }, false);
    // State read by the gates has changed, so they run again.
    if (reply !== 'changed') return reply;
  }
}

/** Adds an approval if the host's treatment of the tool's mode or risk requires one. */
export function withAskByMode({ tool, engine, asks }: CheckedCall): readonly Ask[] {
  const { mode, risk, displayName, undo } = tool;
  const isAsked = (treatment: Treatment): boolean =>
    treatment === 'ask' || (treatment === 'ask_unless_undo' && undo === undefined);
  const isRisky = risk !== undefined && isAsked(engine.treatments.risk);
  if (!isRisky && !isAsked(engine.treatments[mode])) return asks;
  const description = `"${displayName}" is ${mode === 'external' ? 'an' : 'a'} ${mode} tool${isRisky ? ` with a risk: ${risk}` : ''}.`;
  return [...asks, { by: { type: 'gate', name: 'mode' }, description }];
}

/** Stores the question and returns the held call. `rest` of the reply resolves with the outcome. */
async function hold(active: CheckedCall): Promise<Reply | 'changed'> {
  switch (await storeQuestion(active)) {
    case 'stored':
      return replyHeld(active, notAsked);
    case 'changed':
      return 'changed';
    case 'overtaken':
      return overtaken(active);
  }
}

/** The reply for a call with a stored question. `rest` waits for the decision, then runs or ends the call. */
function replyHeld(active: ActiveCall, host: HostAnswer): Reply {
  active.journal.observer?.note({ type: 'held' });
  const held = new HeldCall(active, questionOf(active), host);
  const { confirmationId, waitsFor } = held;
  return { type: 'held', confirmationId, waitsFor, rest: untilEnded(held), asked: held };
}

/** Not `async`: thousands of calls may wait here, and a frame takes more memory than two callbacks. */
const untilEnded = (held: HeldCall): Promise<ToolOutcome> =>
  held.signalled().then(
    () => continueHeld(held),
    (error: unknown) => failHeld(held, error),
  );

/** Continues a held call after a signal, from its record as another process would. */
async function continueHeld(held: HeldCall): Promise<ToolOutcome> {
  held.end({ type: 'changed' });
  try {
    if (held.signal?.type === 'left') throwPending(held);
    const active = await readHeld(held);
    const host = await actOnSignal(active, held);
    if ('type' in host) return host;
    const { call } = active.journal;
    if (call?.status === 'held' && call.confirmation?.status === 'pending')
      return untilEnded(new HeldCall(active, call.confirmation, host));
    const reply = await runAnswered(active);
    return reply.type === 'held' ? reply.rest : reply;
  } catch (error) {
    return failHeld(held, error);
  }
}

function failHeld(held: HeldCall, error: unknown): ToolOutcome {
  held.end({ type: 'changed' });
  noteFailedWrite(held.context, error);
  return notAccepted(held.context, error);
}

/** Runs or ends a call whose question was answered. `recorded`: the input of the call, if it was just read. */
async function runAnswered(active: ActiveCall, recorded?: RestoredInput): Promise<Reply> {
  return (await endUnlessApproved(active)) ?? runApproved(active, questionOf(active), recorded);
}

/** Continues a call whose body never started, from its last recorded event. */
export async function continueCall(
  active: ActiveCall,
  { confirmation }: Call,
  host: HostAnswer = notAsked,
  recorded?: RestoredInput,
): Promise<Reply> {
  if (confirmation === undefined) return runFromGates(active);
  return confirmation.status === 'pending' ? replyHeld(active, host) : runAnswered(active, recorded);
}

/**
 * Runs every check again after an approval, under the current rules. A new reason to ask holds the call again.
 * `recorded`: the approved input, if it was just read.
 */
async function runApproved(
  asked: ActiveCall,
  confirmation: Confirmation,
  recorded: RestoredInput | undefined,
): Promise<Reply> {
  const { engine } = asked;
  for (let input = recorded; ; input = undefined) {
    if (isUsedTooLate(confirmation, engine.ledger.now())) return settleExpired(asked, confirmation);
    const { supersedes } = confirmation;
    const current = { ...asked, supersedes, policy: engine.policyInForce() };
    const approved = await restoreApprovedInput(current, confirmation, input);
    if (approved.type === 'stop') return endAtGate(current, approved.stop);
    const order = approved.isNew ? gatesForOtherInput : gatesAfterApproval;
    const passed = await recheck(approved.active, order);
    if (passed.type === 'stopped') return endAtGate(passed.active, passed.stop);
    const { all, added } = asksNow(passed.active, confirmation, approved.differs);
    const granted = added.length === 0 ? { asks: [] } : await answerByGrant(passed.active, added);
    const reply =
      granted === undefined
        ? await hold({ ...passed.active, asks: all })
        : await execute({ ...passed.active, ...granted }, true);
    if (reply !== 'changed') return reply;
  }
}

/**
 * Runs a call that has passed the gates: slot, intent, body. `changed`: state read by the gates has changed and the
 * body has not run. `deadlineLifted`: a person was asked, so the turn's deadline no longer applies.
 */
async function execute(active: CheckedCall, deadlineLifted: boolean): Promise<Reply | 'changed'> {
  const { waitForSlot, queuedMs = 0, engine } = active;
  if (waitForSlot === undefined) return executeInSlot(active, deadlineLifted);
  const slot = waitForSlot();
  const queuedAtMs = engine.clock.monotonicMs();
  const waited = await waitUnlessEnded(active, slot, deadlineLifted);
  if (waited.type === 'stopped') {
    void slot.then((leave) => leave());
    return endAtGate(active, waited.stop);
  }
  engine.telemetry.noteTime('queue', engine.clock.monotonicMs() - queuedAtMs + queuedMs);
  try {
    return await executeInSlot(active, deadlineLifted);
  } finally {
    waited.value();
  }
}

async function executeInSlot(checked: CheckedCall, deadlineLifted: boolean): Promise<Reply | 'changed'> {
  const asked = checked.journal.call?.confirmation;
  // The approval may have expired during the checks or the wait for a slot.
  if (asked !== undefined && isUsedTooLate(asked, checked.engine.ledger.now()))
    return settleExpired(checked, asked);
  const stop = finalCheck(checked, deadlineLifted);
  if (stop !== undefined) return endAtGate(checked, stop);
  const typed = checked.input.form === 'json' ? undefined : await keepTyped(checked);
  if (typed?.type === 'stopped') return endAtGate(checked, typed.stop);

  const intent = await storeIntent(typed?.active ?? checked, deadlineLifted);
  switch (intent.type) {
    case 'overtaken':
      return overtaken(checked);
    case 'changed':
      return 'changed';
    case 'refused':
      return endAtGate(intent.active, intent.stop);
    case 'stored':
      return runAttempts(intent.active, intent.terms, deadlineLifted);
  }
}

/** Runs the body, and again for each retry that a behavior requests. Then settles the call. */
export async function runAttempts(
  checked: CheckedCall,
  firstTerms: AttemptTerms,
  deadlineLifted: boolean,
): Promise<ToolOutcome> {
  const { tool, turn, services } = checked;
  const resourceKeys = resourceKeysOf(tool, () => inputForTool(tool.input, checked.input));
  let active: CheckedCall = { ...checked, resourceKeys };
  if (!tool.surelyReads) turn.recent.noteWrite(resourceKeys);
  if (tool.handoff) return awaitReport(active);
  for (let terms = firstTerms; ;) {
    const attempt = new Attempt(active, terms);
    const judgement = await attempt.run();
    const record = await attempt.collectRecord(judgement);
    const next =
      services.behaviors.anyRetries && outcomeIsError(judgement.outcome)
        ? await retryAttempt(active, judgement, record, deadlineLifted, () => attempt.over())
        : undefined;
    if (next === undefined || next.type === 'none') {
      const outcome = await settle(active, judgement, record);
      attempt.over();
      return outcome;
    }
    attempt.over();
    if (next.type === 'overtaken') return overtaken(active);
    active = { ...next.active, resourceKeys };
    ({ terms } = next);
  }
}

/** Reads the call from the ledger. */
async function readKnown(
  active: ActiveCall,
  lookUp: 'certain' | 'before_append',
): Promise<StoredCall | undefined> {
  try {
    return await active.engine.ledger.readCall(active.sessionId, active.callId, lookUp);
  } catch (error) {
    noteFailedWrite(active, error);
    throw error;
  }
}

/** The outcome of a read whose end is in the spill file. The ledger may not know it: a read needs no intent. */
async function findSpilled(active: ActiveCall): Promise<Reply | undefined> {
  const { engine, request } = active;
  const waiting = await readWaiting(engine, active, undefined);
  if (waiting?.toolName !== request.name) return undefined;
  if (!isDigestOf(waiting.requestDigest, rawOf(request.input), engine.seal)) return undefined;
  await importSpills(engine).catch(() => undefined);
  return waiting.settled?.outcome;
}

/** Continues a call of this runtime that stopped because the ledger failed. */
async function continueLeft(active: ActiveCall, left: KeptCall, known: StoredCall): Promise<Reply> {
  const { toolKey, claimKey, ruled } = left;
  const { journal, secrets, preview } = left.context;
  if (journal.unkept !== undefined) return journal.unkept.reply;
  const call = foldStored(known);
  if (call === undefined) return recall(active, known);
  active.journal.inherit(call, known.version);
  active.journal.sealed = journal.sealed;
  active.journal.sealedAs = journal.sealedAs;
  const context = { ...active.context, secrets, preview };
  const notes = recallNotes(known, call);
  return continueCall({ ...active, ...context, context, notes, toolKey, claimKey, ruled }, call);
}

export const rawOf = (input: ParsedArguments): JsonValue => (input.ok ? input.arguments : input.raw);

/** True if a request with the same id has the same tool and arguments. */
const isSameRequest = (
  { toolName, requestDigest, engine }: CallContext,
  { name, input }: ParsedToolCall,
  { digest }: KeptInput,
): boolean =>
  toolName === name && (requestDigest === digest || isDigestOf(requestDigest, rawOf(input), engine.seal));

/**
 * Answers a different request with the id of a call in progress: with a conflict, once the ledger has stored that call.
 * If the ledger has this request instead, or neither, the request is made as a new call.
 */
async function refuseConflict(
  known: CallInProgress,
  active: ActiveCall,
  makeAgain: () => CallInProgress,
): Promise<Reply> {
  const { request, engine, sessionId, signals } = active;
  try {
    await Promise.race([known.active.journal.whenStored(), known.reply]);
    const stored = await engine.ledger.readCall(sessionId, request.id);
    const call = stored && foldStored(stored);
    const isOther =
      call?.toolName !== request.name || !isDigestOf(call.requestDigest, rawOf(request.input), engine.seal);
    if (stored !== undefined && isOther) return await recall(active, stored);
    await known.reply;
    const again = makeAgain();
    signals.onCancel = () => again.active.signals.cancel(signals.cancelled ?? 'cancelled');
    return await again.reply;
  } catch (error) {
    return notAccepted(active, error);
  }
}

/** The first event of a call. */
export function toRequest(active: ActiveCall): Command {
  const { engine, turn, tool, request, requested, facts, submitted, journal } = active;
  const hiddenIds = findHiddenIds(active);
  const { ownBudgets, deadlineMs } = turn;
  return {
    type: 'request',
    toolName: request.name,
    displayName: tool?.displayName ?? request.name,
    ...modeOf(active),
    requestedInput: freezeJson(requested.kept),
    hidden: requested.hidden,
    requestDigest: requested.digest,
    principal: facts.kept.principal,
    provenance: facts.kept.provenance,
    attrs: facts.kept.attrs,
    submitted,
    schemaDigest: tool?.input.jsonSchema === undefined ? undefined : tool.schemaDigest,
    traceparent: journal.observer?.traceparent ?? traceparentOf(active),
    ...(facts.askedBy !== undefined && { askedBy: facts.askedBy }),
    ...(engine.separateDuties && { separateDuties: true as const }),
    ...(hiddenIds.length > 0 && { hiddenIds }),
    ...(ownBudgets.length > 0 && { budgets: ownBudgets }),
    ...(submitted && deadlineMs !== undefined && { turnDeadlineMs: deadlineMs }),
  };
}

/** The ids and names that contain a secret. Other processes do not know the secrets and must mask these. */
function findHiddenIds({ secrets, sessionId, callId, request, facts }: ActiveCall): readonly HiddenId[] {
  const { known } = secrets;
  if (known === noSecrets) return [];
  const owner = ownerOf(facts.kept.principal);
  const names: readonly (readonly [HiddenId, string])[] = [
    ['session', sessionId],
    ['call', callId],
    ['tool', request.name],
    ...(owner === undefined ? [] : [['owner', owner] as const]),
  ];
  return names.flatMap(([what, name]) => (known.text(name) === name ? [] : [what]));
}
