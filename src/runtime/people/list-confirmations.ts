import { checkObject } from '../../base/check-keys.ts';
import type { Call } from '../../call/call.ts';
import { isSameVoter } from '../../call/counted-identity.ts';
import type { DirectIdentity } from '../../call/event.ts';
import type { Page } from '../../ledger/call-query.ts';
import type { ConfirmationQuery } from '../../ledger/confirmation-query.ts';
import type { Acting } from '../host/acting.ts';
import { readIdentity } from '../host/acting.ts';
import { approverOf } from '../host/approver.ts';
import type { ConfirmationView } from '../host/confirmation-view.ts';
import { toConfirmationView } from '../host/confirmation-view.ts';
import { whyForbidden } from '../host/may-decide.ts';
import type { Engine } from '../state/engine.ts';
import { foldStored } from '../../ledger/fold-stored.ts';

/** The person whose questions are listed. */
export type Asked = { readonly by: string; readonly identity?: DirectIdentity };

/** Open questions that this person may answer now, newest first: they may approve or deny, and have not done so. */
export async function listQuestionsFor(
  engine: Engine,
  { by, identity }: Asked,
  query: Pick<ConfirmationQuery, 'limit' | 'cursor'>,
): Promise<Page<ConfirmationView>> {
  const acting = { by, identity: readIdentity('runtime.confirmations.listFor', identity, engine.redactor) };
  const { rows, next } = await engine.ledger.queries.findConfirmations({ ...query, status: 'pending' });
  const views: ConfirmationView[] = [];
  for (const { sessionId, callId, confirmationId } of rows) {
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const view = call && toConfirmationView(call);
    if (call === undefined || view?.confirmationId !== confirmationId || view.status !== 'pending') continue;
    if (await mayAnswer(engine, call, acting)) views.push(view);
  }
  return { rows: views, next };
}

/** A person who has approved already is not asked again, although they could still deny. */
async function mayAnswer(engine: Engine, call: Call, acting: Acting): Promise<boolean> {
  const { confirmation } = call;
  if (confirmation !== undefined && confirmation.votes.length > 0) {
    const by = await approverOf(engine, call, acting);
    if (confirmation.votes.some((vote) => isSameVoter(vote.by, by))) return false;
  }
  return (
    (await whyForbidden(engine, call, acting, 'approve')) === undefined ||
    (await whyForbidden(engine, call, acting, 'deny')) === undefined
  );
}

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
