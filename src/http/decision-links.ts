/**
 * Decision links over HTTP: who may make one, whether it still stands, and who uses it.
 *
 * A link rests on the token of its maker, and on that of the person it names where that person has one. Both tokens
 * must be valid and have the role, when the link is made and whenever it is read or used.
 */
import { QuittanceError } from '../base/error.ts';
import { createSeal } from '../ledger/seal.ts';
import type { ConfirmationView } from '../runtime/host/confirmation-view.ts';
import type { LinkPerson, TokenClaims } from '../runtime/people/signed-token.ts';
import { readToken } from '../runtime/people/signed-token.ts';
import type { Actor } from './actor.ts';
import { allows, identityOf } from './actor.ts';
import type { DecisionLink, NewDecisionLink, NewTokenDecision } from './api/confirmation.ts';
import { refuseLargeQuestion } from './large-calls.ts';
import { HttpRefusal } from './problem.ts';
import type { Service } from './service.ts';

/** Makes a link by the right of a person who is signed in. */
export async function makeLink(
  service: Service,
  actor: Actor,
  confirmationId: string,
  body: NewDecisionLink,
): Promise<DecisionLink> {
  const named = body.by === undefined ? undefined : approverNamed(service, body.by);
  const token = await service.runtime.confirmations.link(confirmationId, {
    ...body,
    madeBy: actor.name,
    identity: identityOf(actor),
    ...(named !== undefined && { byIdentity: identityOf(named) }),
  });
  return { token, url: `${service.url()}/decide#${token}` };
}

/**
 * The token of a person who is named in a link. Undefined where no token has their name: then the maker alone answers
 * for them. Throws where they have one and it does not let them decide.
 */
function approverNamed({ access }: Service, name: string): Actor | undefined {
  const tokens = access.tokensOf(name);
  const [first] = tokens;
  if (first === undefined) return undefined;
  const approver = tokens.find(isApprover);
  if (approver !== undefined) return approver;
  throw new HttpRefusal(
    'http.forbidden',
    `${name} has a token with the role ${first.role ?? 'none'}, and a decision needs approver. Name a person who may decide.`,
    { role: first.role ?? '', needed: 'approver' },
  );
}

const isApprover = ({ role }: Actor): boolean => allows(role, 'approver');

/** What a link is good for. Throws where it is none, its time is up, or it does not stand any more. */
export function readLink(service: Service, token: string): TokenClaims {
  const claims = readToken(token, createSeal(service.ledger.sealKey).tokenKey);
  if (claims === undefined || service.ledger.now() >= claims.expiresAt)
    throw new QuittanceError(
      'confirmation.forbidden',
      'This is no decision link of this ledger, or its time is up. Ask for a new one.',
    );
  for (const person of [claims.maker, claims.named]) {
    if (person?.identity === undefined) continue;
    const stands = standsStill(service, { name: person.name, identity: person.identity });
    if (stands !== true)
      throw new QuittanceError(
        'confirmation.forbidden',
        `This link rests on the token of ${person.name}: ${stands}.`,
      );
  }
  return claims;
}

/** Decides with a link, for a person who may be signed in. */
export async function decideWithLink(
  service: Service,
  actor: Actor,
  { token, ...use }: NewTokenDecision,
  receivedAt: number,
): Promise<ConfirmationView> {
  const isSignedIn = actor.role !== undefined;
  if (isSignedIn && !isApprover(actor))
    throw new HttpRefusal(
      'http.forbidden',
      `You are signed in as ${JSON.stringify(actor.name)} with the role ${actor.role}, and a decision needs approver. Sign out first if the link is meant for another person.`,
      { role: actor.role ?? '', needed: 'approver' },
    );
  const claims = readToken(token, createSeal(service.ledger.sealKey).tokenKey);
  // The person's tokens may have changed since the link was made.
  if (claims?.named !== undefined) approverNamed(service, claims.named.name);
  if (claims !== undefined) await refuseLargeQuestion(service, claims.confirmationId);
  return service.runtime.confirmations.decideByLink(token, {
    ...use,
    receivedAt,
    ...(isSignedIn && { identity: identityOf(actor) }),
    stands: (person) => standsStill(service, person),
  });
}

/** Is the token that a person in a link was known by still valid, with the role? */
function standsStill({ access }: Service, { identity }: LinkPerson): true | string {
  if (identity.kind !== 'token') return true;
  const holder = access.holderOf(identity.id);
  if (holder === undefined) return 'it was revoked, or its time is up';
  return isApprover(holder)
    ? true
    : `it has the role ${holder.role ?? 'none'}, and a decision needs approver`;
}
