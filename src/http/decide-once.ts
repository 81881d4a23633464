/** A repeated decision gets the answer of the first one if both say the same. */
import { canonicalJson } from '../base/canonical.ts';
import { isQuittanceError } from '../base/error.ts';
import type { ConfirmationDecided, ConfirmationVoted } from '../call/event.ts';
import type { ConfirmationView } from '../runtime/host/confirmation-view.ts';
import { toConfirmationView } from '../runtime/host/confirmation-view.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { Actor } from './actor.ts';
import { identityOf, isSameActor } from './actor.ts';
import type { NewDecision } from './api/confirmation.ts';
import type { Service } from './service.ts';

/** Makes a decision. If the same decision is on record, returns the record. */
export async function decideOnce(
  service: Service,
  confirmationId: string,
  decision: NewDecision,
  actor: Actor,
  receivedAt: number,
): Promise<ConfirmationView> {
  const by = actor.name;
  try {
    return await service.runtime.confirmations.decide(confirmationId, {
      ...decision,
      by,
      identity: identityOf(actor),
      receivedAt,
    });
  } catch (error) {
    const isOver =
      isQuittanceError(error, 'confirmation.decided') || isQuittanceError(error, 'confirmation.expired');
    if (!isOver) throw error;
    const made = await readDecisions(service, confirmationId);
    if (made === undefined || !made.events.some((event) => isSame(event, decision, actor))) throw error;
    return made.view;
  }
}

type Recorded = ConfirmationDecided | ConfirmationVoted;
type Made = { readonly events: readonly Recorded[]; readonly view: ConfirmationView };

/** The recorded decisions, of one person or of several, and the current confirmation. */
async function readDecisions({ ledger }: Service, confirmationId: string): Promise<Made | undefined> {
  const found = await ledger.queries.findConfirmation(confirmationId);
  const stored = found && (await ledger.journal.readCall(found.sessionId, found.callId));
  const call = stored && foldStored(stored);
  const view = call && toConfirmationView(call);
  const events = (stored?.events ?? []).filter(
    (each): each is Recorded =>
      (each.type === 'confirmation.decided' || each.type === 'confirmation.voted') &&
      'confirmationId' in each &&
      each.confirmationId === confirmationId,
  );
  return view?.confirmationId === confirmationId ? { events, view } : undefined;
}

/** Redacted arguments are not stored in the clear, so an edit of them is never known to be a repeat. */
function isSame(event: Recorded, decision: NewDecision, actor: Actor): boolean {
  if (event.decision !== decision.decision || !isSameActor(actor, event.by)) return false;
  if (decision.inputDigest !== undefined && decision.inputDigest !== event.inputDigest) return false;
  switch (decision.decision) {
    case 'approve':
    case 'deny':
      return true;
    case 'edit':
      return (
        event.editedInput !== undefined &&
        event.editedHidden.length === 0 &&
        canonicalJson(event.editedInput) === canonicalJson(decision.arguments)
      );
    case 'respond':
      return event.type === 'confirmation.decided' && event.response === decision.response;
  }
}
