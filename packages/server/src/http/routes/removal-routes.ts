import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { RemovalReason } from 'quittance/internal/ledger/removal';
import { eraseContents, removeSession } from 'quittance/internal/ledger/removal';
import type { Actor } from '../actor.ts';
import { identityOf } from '../actor.ts';
import { HttpRefusal } from '../problem.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { readHeads } from 'quittance/internal/ledger/reads';

const path = '/v1/sessions/{sessionId}';

/** Permanent removals. Each is recorded in a chain with the caller and the reason. */
export const removalRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: `${path}/erase`,
    access: 'admin',
    summary:
      'Empties the contents of a session permanently. Its chain stays and records who erased it and why.',
    body: 'NewRemoval',
    answer: 'Removed',
    async handle({ service, params: { sessionId }, body: { reason }, actor }) {
      const entries = await eraseContents(
        service.ledger,
        { sessionId, callId: undefined },
        by(actor, reason),
      );
      return { sessionId, entries: entries > 0 ? entries : await requireSession(service.ledger, sessionId) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/calls/{callId}/erase`,
    access: 'admin',
    summary: 'Empties the contents of one call permanently. The chain records who erased them and why.',
    body: 'NewRemoval',
    answer: 'Removed',
    async handle({ service, params: { sessionId, callId }, body: { reason }, actor }) {
      if ((await service.ledger.readCall(sessionId, callId)) === undefined) throw none('call', callId);
      const entries = await eraseContents(service.ledger, { sessionId, callId }, by(actor, reason));
      return { sessionId, entries };
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/drop`,
    access: 'admin',
    summary:
      'Removes a session permanently. The chain of the ledger records how it ended, who removed it and why.',
    body: 'NewRemoval',
    answer: 'Removed',
    async handle({ service, params: { sessionId }, body: { reason }, actor }) {
      const [head] = await readHeads(service.ledger, sessionId);
      if (head === undefined || !(await removeSession(service.ledger, sessionId, by(actor, reason))))
        throw none('session', sessionId);
      return { sessionId, entries: head.sequence };
    },
  }),
];

const by = (actor: Actor, reason: string): RemovalReason => ({
  by: actor.name,
  identity: identityOf(actor),
  reason,
});

/** Nothing was left to erase: an erased session is answered with 0, an unknown one is refused. */
async function requireSession(ledger: OpenLedger, sessionId: string): Promise<number> {
  const heads = await readHeads(ledger, sessionId);
  if (heads.length === 0) throw none('session', sessionId);
  return 0;
}

const none = (what: 'session' | 'call', id: string): HttpRefusal =>
  new HttpRefusal('http.not_found', `There is no ${what} ${JSON.stringify(id.slice(0, 200))}.`);
