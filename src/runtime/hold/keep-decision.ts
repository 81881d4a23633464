/** Stores a person's decision: one append, which fails if another process has changed the call. */
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Call, Confirmation } from '../../call/call.ts';
import { hidesInput } from '../../call/hides-input.ts';
import type { Command } from '../../call/command.ts';
import { decide } from '../../call/decide.ts';
import type { DecidedBy, DirectIdentity } from '../../call/event.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import { evolve } from '../../call/evolve.ts';
import type { SessionBounds } from '../../call/session-bounds.ts';
import { hasPolicy, withoutFallen } from '../../call/quorum.ts';
import { completes } from '../../call/why-not-approver.ts';
import type { AppendResult, Entry, Move, StoredCall } from '../../ledger/journal.ts';
import { cutText } from '../../base/cut-text.ts';
import type { Acting } from '../host/acting.ts';
import { approverOf } from '../host/approver.ts';
import { findFallen } from './standing.ts';
import { grantOf } from '../grants/draft-grant.ts';
import type { Engine } from '../state/engine.ts';
import { isExpired } from '../settle/expiry.ts';
import { approvalsOf } from '../rules/ask-workflows.ts';
import { hiddenCleaner } from './hidden-cleaner.ts';
import { readEdit } from './read-edit.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';

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

/** Does the decision end the question? Without a rule that needs several people, any decision does. */
function endsQuestion(
  confirmation: Confirmation,
  decision: PersonDecision['decision'],
  { by, reason }: Pick<Command & { type: 'vote' }, 'by' | 'reason'>,
  at: number,
): boolean {
  if (!hasPolicy(confirmation.asks) || decision === 'respond') return true;
  return completes(confirmation, { decision, by, reason }, at);
}

/** A response always ends a question, so it is never only one voice of several. */
const voteWord = (decision: PersonDecision['decision']): 'approve' | 'edit' | 'deny' =>
  decision === 'respond' ? 'deny' : decision;

const readBounds = ({ forSession }: PersonDecision, now: number): SessionBounds | undefined =>
  forSession === undefined ? undefined : { until: now + forSession.forMs, uses: forSession.uses };

export type Decided = { readonly stored: StoredCall; readonly call: Call };

/** Undefined if another process changed the call, or a state it depends on, meanwhile. */
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
  const said = fallen.length === 0 ? given : { ...given, fallen };
  const command: Command = endsQuestion(counted, decision.decision, said, at)
    ? {
        ...said,
        type: 'answer',
        decision: decision.decision,
        ...(decision.decision === 'respond' && { response: clean(decision.response) }),
        ...(isLateDenial(confirmation, decision, at) && { receivedAt: decision.receivedAt }),
      }
    : { ...said, type: 'vote', decision: voteWord(decision.decision) };
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
    return await engine.ledger.journal.append(entry);
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

/** A denial that counts only because it was received before the question expired. */
const isLateDenial = (confirmation: Confirmation, { decision }: PersonDecision, now: number): boolean =>
  decision === 'deny' && isExpired(confirmation, now);

/** Hides in the person's words what is hidden in the arguments, as far as this process can open them. */
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
