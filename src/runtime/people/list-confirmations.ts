import { checkObject } from '../../base/check-keys.ts';
import type { Page } from '../../ledger/call-query.ts';
import type { ConfirmationQuery } from '../../ledger/confirmation-query.ts';
import type { ConfirmationView } from '../host/confirmation-view.ts';
import { toConfirmationView } from '../host/confirmation-view.ts';
import type { Engine } from '../state/engine.ts';
import { foldStored } from '../../ledger/fold-stored.ts';

/** Questions in their current state. A question that the call has replaced is no longer listed. */
export async function listConfirmations(
  { ledger }: Pick<Engine, 'ledger'>,
  query: ConfirmationQuery,
): Promise<Page<ConfirmationView>> {
  checkObject('runtime.confirmations.list', query);
  const { rows, next } = await ledger.queries.findConfirmations(query);
  const views: ConfirmationView[] = [];
  for (const { sessionId, callId, confirmationId } of rows) {
    const stored = await ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const view = call && toConfirmationView(call);
    if (view?.confirmationId === confirmationId) views.push(view);
  }
  return { rows: views, next };
}
