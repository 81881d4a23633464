import type { Ask, DecidedBy } from '../../call/event.ts';
import type { Grant, GrantVote } from '../../call/grant.ts';
import { selfAsserted } from '../../call/identity.ts';
import type { Vote } from '../../call/vote.ts';
import { hasPolicy, isQuorumComplete } from '../../call/quorum.ts';
import { askerAmong, isAmong, worstOf, withPrincipal } from '../host/separate-duties.ts';
import { sessionOwners } from '../host/session-owner.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { askKey } from './draft-grant.ts';

/**
 * Did the people who gave the grant satisfy every ask of this call? They are compared with the requester of this call
 * and with the owner of its session, not with those of the call that they approved.
 */
export async function coversAsks(live: AcceptedCall, grant: Grant, asks: readonly Ask[]): Promise<boolean> {
  const { approved, givenAt } = grant;
  if (approved !== undefined && !asks.every((ask) => approved.asks.includes(askKey(ask)))) return false;
  if (!hasPolicy(asks)) return true;
  const given = approved?.votes ?? [{ by: giverOf(grant), at: givenAt }];
  const votes: Vote[] = [];
  for (const vote of given) votes.push(await asVote(live, vote));
  return isQuorumComplete({ asks, askedAt: approved?.askedAt ?? givenAt }, votes);
}

const giverOf = ({ by, identity = selfAsserted }: Grant): DecidedBy => ({
  type: 'person',
  name: by,
  identity,
});

async function asVote(
  { engine, journal, facts, sessionId }: AcceptedCall,
  { by, at }: GrantVote,
): Promise<Vote> {
  const { call } = journal;
  const owners = await sessionOwners(engine.ledger, sessionId);
  const people = [
    { by: by.name, identity: by.identity ?? selfAsserted },
    ...(by.behalf ?? []).map(({ name, identity }) => ({ by: name, identity })),
  ];
  const forms = call === undefined ? [] : [call, withPrincipal(call, facts.principal)];
  const asker = worstOf(
    forms.flatMap((asked) => people.map((person) => askerAmong(asked, person, engine.redactor))),
  );
  const owner = worstOf(people.map((person) => isAmong(owners, person, engine.redactor)));
  return { decision: 'approve', by: { ...by, asker, owner }, at, reason: undefined };
}
