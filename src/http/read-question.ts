/** One question to a person in its current state. */
import { QuittanceError } from '../base/error.ts';
import type { ConfirmationDecided } from '../call/event.ts';
import type { ConfirmationView } from '../runtime/host/confirmation-view.ts';
import { toConfirmationView } from '../runtime/host/confirmation-view.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { BoundedReads } from './bounded-reads.ts';

export async function readQuestion(
  reads: BoundedReads,
  { confirmationId }: { readonly confirmationId: string },
): Promise<ConfirmationView> {
  const found = await reads.ledger.queries.findConfirmation(confirmationId);
  const stored = found && (await reads.needCall(found));
  const call = stored && foldStored(stored);
  const view = call && toConfirmationView(call);
  if (found === undefined || stored === undefined || view === undefined)
    throw new QuittanceError(
      'confirmation.unknown',
      `There is no confirmation ${JSON.stringify(confirmationId.slice(0, 200))}.`,
      { confirmationId },
    );
  if (view.confirmationId === confirmationId) return view;
  // The call has asked another question since, so this one is shown as it ended.
  const made = stored.events.find(
    (each): each is ConfirmationDecided =>
      each.type === 'confirmation.decided' &&
      'confirmationId' in each &&
      each.confirmationId === confirmationId,
  );
  return {
    ...view,
    confirmationId,
    status: found.status,
    decision: made?.decision,
    by: made?.by,
    votes: [],
    fallen: [],
    missing: [],
  };
}
