/**
 * Stores the decision of a person or of the host's `onConfirm`: one append, which fails if another process has changed the
 * call. Reads edited arguments, and finds votes whose rights have ended.
 */
import { QuittanceError, isQuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Call, Confirmation } from '../call/call.ts';
import { acceptedInputOf } from '../call/call.ts';
import { hidesInput } from '../call/hides-input.ts';
import type { Command } from '../call/decide.ts';
import { decide } from '../call/decide.ts';
import type { DecidedBy, ArtifactArgument, InputForm } from '../call/events/gate-event.ts';
import type { DirectIdentity } from '../call/identity.ts';
import type { QuittanceEvent } from '../call/event.ts';
import { evolve } from '../call/evolve.ts';
import type { SessionBounds } from '../call/session-bounds.ts';
import { hasPolicy, withoutFallen, isApproval } from '../call/quorum.ts';
import { completes } from '../call/why-not-approver.ts';
import type { AppendResult, Entry, Move, StoredCall } from '../ledger/journal.ts';
import { cutText } from '../base/cut-text.ts';
import type { Acting } from './rights.ts';
import { approverOf, whyForbidden, currentPerson, readRights, whyNotAllowed } from './approvers.ts';
import { grantOf } from './grants.ts';
import type { Engine } from './engine.ts';
import { isExpired } from './settle.ts';
import { approvalsOf, keepApprovals } from './contract-rules.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { selfAsserted } from '../call/identity.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import { personOf } from './rights.ts';
import type { ActiveCall } from './active-call.ts';
import { logProblem } from './active-call.ts';
import { clean, keepInput, maskedPaths } from './call-input.ts';
import type { ReadAnswer } from './views.ts';
import { denyFor, toConfirmationView } from './views.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { isJsonObject, toJson } from '../base/json.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { formatIssues } from '../tool/format-issues.ts';
import { acceptInput } from './accept-input.ts';
import { readExecuted, secretsOf, unmaskEdit, openFacts, sealContext, toPayload } from './recorded-input.ts';
import type { KeptInput } from './call-input.ts';
import type { ExactFacts } from './recorded-input.ts';
import { createKnownSecrets, shortestEchoed } from '../base/known-secrets.ts';
import { describeApprovers } from '../call/approval-policy.ts';
import { fitsSeat } from '../call/fits-seat.ts';
import type { FallenVote, Vote } from '../call/vote.ts';
import type { Rights, Deciders } from './approvers.ts';

/** A decision about a held call. */
export type PersonDecision = {
  /** The person who decides. */
  readonly by: string;
  /** How the host knows this person. Without it, the name counts as self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason?: string;
  /** Digest of the input that was shown. Required to approve or edit. */
  readonly inputDigest?: string;
  /** Revision of the preview that was shown, if any. */
  readonly revision?: number;
  /**
   * When the decision was received, by the ledger's clock. Default: now. A denial that was received before
   * the question expired counts until the call is settled or its body starts.
   */
  readonly receivedAt?: number;
  /** The person approves and states that they have not read to the end. This is recorded with their name. */
  readonly notReadToEnd?: boolean;
  /**
   * Approves this call, and similar ones of the session: calls of the same tool for which the same rules ask. The
   * grant is given only if as many people agree to it as the rules need, within the narrowest of their bounds.
   */
  readonly forSession?: ForSession;
} & (
  | { readonly decision: 'approve' | 'deny' }
  /** Approves the call with other arguments. */
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  /** Answers the model instead of running the tool. */
  | { readonly decision: 'respond'; readonly response: string }
);

export type ForSession = {
  /** Duration from now. At most a day. */
  readonly forMs: number;
  /** How many calls. At most 1,000. */
  readonly uses: number;
};

/** True if the decision ends the question. Without a rule that needs several people, any decision does. */
function endsQuestion(
  confirmation: Confirmation,
  decision: PersonDecision['decision'],
  { by, reason }: Pick<Command & { type: 'vote' }, 'by' | 'reason'>,
  at: number,
): boolean {
  if (!hasPolicy(confirmation.asks) || decision === 'respond') return true;
  return completes(confirmation, { decision, by, reason }, at);
}

/** The kind of a vote. A response always ends the question, so it never is one vote of several. */
const voteWord = (decision: PersonDecision['decision']): 'approve' | 'edit' | 'deny' =>
  decision === 'respond' ? 'deny' : decision;

const readBounds = ({ forSession }: PersonDecision, now: number): SessionBounds | undefined =>
  forSession === undefined ? undefined : { until: now + forSession.forMs, uses: forSession.uses };

export type Decided = { readonly stored: StoredCall; readonly call: Call };

/** Stores a decision. Undefined if another process changed the call, or a state that it depends on. */
export async function keepDecision(
  engine: Engine,
  stored: StoredCall,
  call: Call,
  confirmation: Confirmation,
  decision: PersonDecision,
  acting: Acting,
): Promise<Decided | undefined> {
  const { sessionId, callId, turnId } = call;
  const clean = await cleanerFor(engine, call, decision);
  const by: DecidedBy = {
    ...(await approverOf(engine, call, acting)),
    ...(decision.notReadToEnd === true && { notReadToEnd: true }),
  };
  const edited = decision.decision === 'edit' ? await readEdit(engine, call, decision.arguments) : undefined;
  const at = engine.ledger.now();
  const session = readBounds(decision, at);
  const given = {
    confirmationId: confirmation.confirmationId,
    by,
    reason: decision.reason === undefined ? undefined : clean(decision.reason),
    inputDigest: confirmation.inputDigest,
    revision: confirmation.revision,
    ...(edited !== undefined && {
      // Redacting an object gives an object.
      editedInput: edited.input.kept as JsonObject,
      editedDigest: edited.input.digest,
      editedHidden: edited.input.hidden,
      editedForm: edited.form,
      editedAccepted: edited.accepted,
      editedArtifacts: edited.artifacts,
    }),
    ...(session !== undefined && { session }),
  };
  // A quorum is complete only if every vote of it still has its right.
  const fallen = endsQuestion(confirmation, decision.decision, given, at)
    ? await findFallen(engine, call, confirmation, decision.decision === 'deny' ? 'denial' : 'approval')
    : [];
  const counted = withoutFallen(confirmation, fallen);
  const withFallen = fallen.length === 0 ? given : { ...given, fallen };
  const command: Command = endsQuestion(counted, decision.decision, withFallen, at)
    ? {
        ...withFallen,
        type: 'answer',
        decision: decision.decision,
        ...(decision.decision === 'respond' && { response: clean(decision.response) }),
        ...(isLateDenial(confirmation, decision, at) && { receivedAt: decision.receivedAt }),
      }
    : { ...withFallen, type: 'vote', decision: voteWord(decision.decision) };
  const subject = { sessionId, turnId, callId, at, nextId: engine.nextEventId };
  const made = decide(call, command, subject);
  if (!made.ok)
    throw new QuittanceError('confirmation.decided', `Call ${callId}: ${made.refusal}`, { callId });
  const isApproved =
    command.type === 'answer' && (command.decision === 'approve' || command.decision === 'edit');
  const after = evolve(call, made.event);
  const added = isApproved
    ? [
        ...(await approvalsOf(engine, call, confirmation.asks, by, made.event)),
        ...(await grantOf(engine, after, made.event)),
      ]
    : [];
  const events: QuittanceEvent[] = [made.event, ...added.map(({ event }) => event)];
  const moves: Move[] = added.map(({ move }) => move);
  const entry: Entry = {
    entryId: engine.ids.next('ent'),
    sessionId,
    callId,
    expectedVersion: stored.version,
    events,
    ...(moves.length > 0 && { moves }),
    depth: stored.depth,
    ...(edited?.sealed !== undefined && { sealed: edited.sealed }),
    // The sealed values of the previous arguments are no longer needed.
    ...(edited !== undefined && edited.sealed === undefined && { dropSealed: true }),
  };
  const result = await append(engine, entry, call, by, decision.decision);
  if (result.status !== 'appended') return undefined;
  return {
    stored: { ...stored, version: result.version, events: [...stored.events, ...events] },
    call: after,
  };
}

/**
 * A decision that cannot be stored does not count. The failure is recorded once the ledger accepts writes
 * again.
 */
async function append(
  engine: Engine,
  entry: Entry,
  call: Call,
  by: DecidedBy,
  decision: PersonDecision['decision'],
): Promise<AppendResult> {
  try {
    return await engine.ledger.append(entry);
  } catch (error) {
    if (error instanceof LedgerTrouble)
      engine.failedWrites.add({
        call,
        depth: entry.depth,
        boundary: 'decision',
        error: cutText(
          engine.redactor.text(`The decision "${decision}" by ${by.name} was not stored: ${error.message}`),
          500,
        ),
      });
    throw error;
  }
}

/** True for a denial that counts only because it was received before the question expired. */
const isLateDenial = (confirmation: Confirmation, { decision }: PersonDecision, now: number): boolean =>
  decision === 'deny' && isExpired(confirmation, now);

/** Masks hidden values of the arguments in the person's text, if this process can open them. */
async function cleanerFor(
  engine: Engine,
  call: Call,
  decision: PersonDecision,
): Promise<(text: string) => string> {
  const { redactor } = engine;
  const isSilent = decision.reason === undefined && decision.decision !== 'respond';
  if (isSilent || !hidesInput(call)) return (text) => redactor.text(text);
  return hiddenCleaner(engine, call);
}

/** Replaces an answer of `onConfirm` by a denial if the named person may not decide so. */
export async function checkRights(
  { engine, journal: { call } }: ActiveCall,
  answer: ReadAnswer,
): Promise<ReadAnswer> {
  const { by, decision } = answer;
  if (call === undefined || by.type !== 'person') return answer;
  try {
    const why = await whyForbidden(engine, call, actingOf(by), decision);
    if (why === undefined) return answer;
    const forbidden = `${by.name} may not ${decision} this: ${why}.`;
    return denyFor(forbidden, forbidden);
  } catch (error) {
    return denyFor(`mayDecide threw: ${describeThrown(error)}`);
  }
}

const actingOf = ({ name, identity = selfAsserted }: DecidedBy): Acting => ({ by: name, identity });

/** Stores the answer of `onConfirm`, unless another decision was first. */
export async function keepAnswer(
  active: ActiveCall,
  confirmation: Confirmation,
  answer: ReadAnswer,
): Promise<void> {
  const { confirmationId, inputDigest, revision } = confirmation;
  const { decision, reason, mistake } = answer;
  const {
    engine,
    journal: { call },
  } = active;
  if (mistake !== undefined) logProblem(active, mistake);
  const by =
    answer.by.type === 'person' && call !== undefined
      ? personOf(engine.redactor, call, actingOf(answer.by))
      : answer.by;
  const isShared = answer.by.type === 'person' && hasPolicy(confirmation.asks);
  if (isShared || decision === 'edit' || decision === 'respond')
    return keepOther(active, confirmation, answer);
  for (;;) {
    const mark = active.journal.mark();
    active.journal.apply({
      type: 'answer',
      confirmationId,
      decision,
      by,
      reason: reason && clean(active, reason),
      inputDigest,
      revision,
    });
    if (decision === 'approve') await keepApprovals(active, confirmation.asks, by);
    if (await flushOrReadAgain(active, mark)) return;
  }
}

/**
 * Stores an edit, a response or a vote of `onConfirm` in the same way as `runtime.confirmations.decide`.
 */
async function keepOther(
  active: ActiveCall,
  { confirmationId, inputDigest, revision }: Confirmation,
  { by, reason, ...answer }: ReadAnswer,
): Promise<void> {
  const { engine, sessionId, callId } = active;
  for (;;) {
    const stored = await engine.ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const confirmation = call?.confirmation;
    if (stored === undefined || call === undefined) return readAgain(active);
    // Another decision was faster.
    if (confirmation?.confirmationId !== confirmationId || confirmation.status !== 'pending')
      return readAgain(active);
    const who = { by: by.name, inputDigest, ...(reason !== undefined && { reason }) };
    const shown = revision === undefined ? who : { ...who, revision };
    try {
      if (await keepDecision(engine, stored, call, confirmation, { ...shown, ...answer }, actingOf(by)))
        return await readAgain(active);
    } catch (error) {
      // Another decision was first, or this person has voted already.
      if (isQuittanceError(error, 'confirmation.decided')) return await readAgain(active);
      // An edit that the tool does not accept is not an approval.
      if (!isQuittanceError(error, 'confirmation.mismatch') && !isQuittanceError(error, 'config.invalid'))
        throw error;
      return keepAnswer(
        active,
        confirmation,
        denyFor(
          `${by.name} gave other arguments. ${error.message}`,
          `${by.name} gave other arguments. The tool cannot take them.`,
        ),
      );
    }
  }
}

/** Edited arguments that passed the schema and the rules. */
type Edit = {
  readonly input: KeptInput;
  /**
   * Undefined if this process does not have the tool. The process that runs the call then applies its schema
   * to the edit.
   */
  readonly form: InputForm | undefined;
  /** The person's arguments, if the schema changed them. */
  readonly accepted: JsonObject | undefined;
  readonly artifacts: readonly ArtifactArgument[];
  readonly sealed: string | undefined;
};

/**
 * The edited arguments in their stored form. If this process has the tool, they must match its schema without
 * coercion, and the schema's result is what was approved.
 */
export async function readEdit(engine: Engine, call: Call, given: JsonObject): Promise<Edit> {
  const read = toJson(given, { refuseUnsafeIntegers: true });
  if (!read.ok || !isJsonObject(read.value))
    throw new QuittanceError('config.invalid', 'The edited arguments must be an object that JSON can hold.');
  const wanted = await unmaskEdit(engine, call, read.value);
  if (engine.undoToolFor(call.toolName, undefined) !== undefined)
    throw new QuittanceError(
      'config.invalid',
      'The arguments of an undo cannot be edited: it must reverse the original call exactly.',
      { callId: call.callId },
    );
  const tool = engine.tools.get(call.toolName);
  // A process without the tool does not know what the tool hides. Values hidden before stay hidden.
  const hide = [
    ...new Set([...call.hidden, ...maskedPaths(acceptedInputOf(call)), ...maskedPaths(call.effectiveInput)]),
  ];
  const paths = [...(tool?.redact?.input ?? []), ...hide];
  const kept = keepInput(wanted, paths, engine.redactor, engine.seal);
  const context = sealContext(call.sessionId, call.callId);
  const facts = await openFacts(engine, call);
  const seal = ({ hidden }: KeptInput, payload: JsonValue): string | undefined =>
    hidden.length === 0 && facts === undefined
      ? undefined
      : engine.seal.seal(JSON.stringify(payload), context);
  if (tool === undefined) {
    const payload = toPayload({ form: 'json', effectiveInput: wanted, accepted: wanted }, undefined, facts);
    return { input: kept, form: undefined, accepted: undefined, artifacts: [], sealed: seal(kept, payload) };
  }
  const place = { engine, tool, sessionId: call.sessionId, hide };
  const fit = await acceptInput(place, { input: wanted, kept }, wanted, false);
  if (!fit.ok)
    throw new QuittanceError(
      'confirmation.mismatch',
      `The edited arguments do not fit the schema of "${call.toolName}": ${formatIssues(fit.issues)}`,
      {
        callId: call.callId,
        issues: JSON.stringify(fit.issues.map(({ path, message }) => ({ path, message }))),
      },
    );
  await refuseBlocked(engine, call, facts ?? call, tool, fit.prepared.effectiveInput);
  const { effective, effectiveInput, form, artifacts } = fit.prepared;
  return {
    input: effective,
    form,
    accepted: effectiveInput === wanted ? undefined : (kept.kept as JsonObject), // redacting an object gives an object
    artifacts,
    sealed: seal(effective, toPayload(fit.prepared, undefined, facts)),
  };
}

/**
 * An edit that the rules block is refused before it is recorded, so that the question stays open for another answer. The
 * gates judge the call again after the decision. Sandbox rules are left to them: they may use the folder of the turn.
 */
async function refuseBlocked(
  engine: Engine,
  call: Call,
  { principal, attrs }: ExactFacts,
  { resources }: Pick<AnyTool, 'resources'>,
  input: JsonObject,
): Promise<void> {
  const ruling = await engine.contracts?.policy.judgeCall({
    toolName: call.toolName,
    input,
    principal,
    metadata: attrs,
    snapshot: undefined,
    resources,
  });
  const by = ruling?.decision === 'block' ? ruling.decidedBy : undefined;
  if (by === undefined || by.ruleType === 'sandbox') return;
  const clean = await hiddenCleaner(engine, call);
  throw new QuittanceError(
    'confirmation.mismatch',
    `The rule "${by.ruleId}" blocks the edited arguments: ${clean(by.message)} The question is still open.`,
    { callId: call.callId, ruleId: by.ruleId },
  );
}

/**
 * Appends the new events. If another process changed the held call, drops them and reads its events. Returns false if
 * only a related state has changed and the append should be retried.
 */
export async function flushOrReadAgain(active: ActiveCall, mark: number): Promise<boolean> {
  const result = await active.journal.flush();
  if (result.status === 'appended') return true;
  active.journal.rewind(mark);
  if (result.status === 'moved') return false;
  await readAgain(active);
  return true;
}

/** Continues from the events that other processes wrote about the call. */
export async function readAgain(active: ActiveCall): Promise<void> {
  const stored = await active.engine.ledger.readCall(active.sessionId, active.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined)
    throw new TypeError(`Call ${active.callId} is held but missing from the ledger.`);
  active.journal.inherit(call, stored.version);
}

/** Masks hidden values of the arguments in a text, if this process can open them. */
async function hiddenCleaner(engine: Engine, call: Call): Promise<(text: string) => string> {
  const { redactor } = engine;
  if (!hidesInput(call)) return (text) => redactor.text(text);
  const known = createKnownSecrets(secretsOf(engine, call, await readExecuted(engine, call)), shortestEchoed);
  return (text) => known.text(redactor.text(text));
}

const longestWhy = 300;

/**
 * The earlier votes of one kind whose rights have ended, with the reason. A vote counts only while every right that it used
 * still exists when the quorum completes.
 */
async function findFallen(
  engine: Deciders,
  call: Call,
  confirmation: Confirmation,
  kind: 'approval' | 'denial',
): Promise<readonly FallenVote[]> {
  const votes = confirmation.votes.filter((vote) => isApproval(vote) === (kind === 'approval'));
  if (votes.length === 0) return [];
  const rights = await readRights(engine.ledger);
  const fallen: FallenVote[] = [];
  for (const vote of votes) {
    const why = whyEnded(rights, confirmation, vote) ?? (await whyHostRefuses(engine, call, vote));
    if (why === undefined) continue;
    const { by, decision, at } = vote;
    fallen.push({ by, decision, at, why: cutText(engine.redactor.text(why), longestWhy) });
  }
  return fallen;
}

async function whyHostRefuses(
  engine: Deciders,
  call: Call,
  { by, decision }: Vote,
): Promise<string | undefined> {
  const view = toConfirmationView(call);
  if (view === undefined || by.identity === undefined) return undefined;
  return whyNotAllowed(engine, view, { by: by.name, identity: by.identity }, decision);
}

/** Why a vote no longer counts. Pure. */
function whyEnded(rights: Rights, { asks, askedAt }: Confirmation, { by, at }: Vote): string | undefined {
  const current = currentPerson(rights, by);
  if (typeof current === 'string') return current;
  for (const { approval } of asks)
    for (const seat of approval?.seats ?? [])
      if (
        approval !== undefined &&
        fitsSeat(approval, seat, by, { askedAt, at }) &&
        !fitsSeat(approval, seat, current, { askedAt, at: rights.now })
      )
        return `they are no longer ${describeApprovers(seat)}`;
  return undefined;
}
