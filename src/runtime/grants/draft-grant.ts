/** "Approve for this session": the approvals of a call become a bounded grant, if enough people agreed to it. */
import type { Call } from '../../call/call.ts';
import type { Ask, CallEvent, GrantGiven } from '../../call/event.ts';
import type { Grant } from '../../call/grant.ts';
import { withGrant } from '../../call/grant.ts';
import type { SessionBounds } from '../../call/session-bounds.ts';
import { isApproval, isQuorumComplete } from '../../call/quorum.ts';
import { countedIdentity } from '../../call/counted-identity.ts';
import type { Move } from '../../ledger/journal.ts';
import { grantsSubject } from '../../ledger/last-state.ts';
import type { Engine } from '../state/engine.ts';

/** What an approval for the session answers again: the same rule, unchanged, or the same gate. */
export const askKey = ({ by, digest, description }: Ask): string =>
  JSON.stringify([by.type, by.name, digest ?? description]);

/** The grant that the approvals of a call make, without a giver. */
export function draftGrant(
  { ids, ledger }: Pick<Engine, 'ids' | 'ledger'>,
  { sessionId, toolName, callId, confirmation }: Call,
  { until, uses }: SessionBounds,
): Grant {
  const votes = (confirmation?.votes ?? []).filter((vote) => isApproval(vote) && vote.session !== undefined);
  return {
    grantId: ids.secret('grt'),
    sessionId,
    toolName,
    where: undefined,
    until,
    uses,
    by: '',
    identity: undefined,
    reason: undefined,
    givenAt: ledger.now(),
    revoked: undefined,
    approved: {
      callId,
      askedAt: confirmation?.askedAt ?? ledger.now(),
      asks: (confirmation?.asks ?? []).map(askKey),
      votes: votes.map(({ by, at }) => ({ by, at })),
    },
  };
}

/**
 * The grant to store with the decision that approved the call. None if too few of the approvers agreed to one. Its
 * bounds are the narrowest that any of them stated.
 */
export async function grantOf(
  engine: Engine,
  call: Call,
  cause: Pick<CallEvent, 'id'>,
): Promise<readonly { readonly event: GrantGiven; readonly move: Move }[]> {
  const { confirmation, sessionId } = call;
  if (confirmation === undefined) return [];
  const agreed = confirmation.votes.filter((vote) => isApproval(vote) && vote.session !== undefined);
  const last = agreed.at(-1);
  if (last === undefined || !isQuorumComplete(confirmation, agreed)) return [];
  const bounds = agreed.flatMap(({ session }) => session ?? []);
  // A delegate grants nothing beyond the end of the delegation.
  const delegations = agreed.flatMap(({ by: { behalf = [] } }) => behalf);
  const until = Math.min(...[...bounds, ...delegations].map((each) => each.until));
  const uses = Math.min(...bounds.map((each) => each.uses));
  const by = last.by.name;
  const identity = countedIdentity(last.by.identity);
  const grant = { ...draftGrant(engine, call, { until, uses }), by, identity };
  const now = engine.ledger.now();
  const stored = await engine.ledger.journal.readState(sessionId, grantsSubject);
  return [
    {
      move: { subject: grantsSubject, expectedVersion: stored?.version ?? 0 },
      event: {
        id: engine.nextEventId(),
        type: 'grant.given',
        sessionId,
        turnId: call.turnId,
        at: now,
        cause: cause.id,
        grantId: grant.grantId,
        by,
        identity,
        state: withGrant(stored?.state ?? {}, grant, now),
      },
    },
  ];
}
