/**
 * Decision links over HTTP: who may make them, whether they are still valid, and who uses them.
 *
 * A link depends on the token of its maker, and on the token of the named person if that person has one. Both tokens
 * must be valid and have the role, when the link is made and whenever it is read or used.
 */
import { allows } from '../runtime/host/rights.ts';
import { QuittanceError } from '../base/error.ts';
import { createSeal } from '../ledger/seal.ts';
import type { ConfirmationView } from '../runtime/host/confirmation-view.ts';
import type { LinkDecision, LinkPerson, TokenClaims } from '../runtime/people/signed-token.ts';
import { readSignedToken } from '../runtime/people/signed-token.ts';
import type { Actor } from './actor.ts';
import { identityOf } from './actor.ts';
import type { DecisionLink, NewDecisionLink, NewTokenDecision } from './api/confirmation.ts';
import { refuseLargeQuestion } from './large-calls.ts';
import { HttpRefusal } from './problem.ts';
import type { Service } from './service.ts';

/** Makes a link with the permissions of the signed-in person. */
export async function makeDecisionLink(
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
 * The token of a person that a link names. Undefined if no token has that name; the maker then vouches for them. Throws
 * if they have a token that does not allow decisions.
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

/** The permissions of a link. Throws if it is not a link, has expired or is no longer valid. */
export async function readDecisionLink(service: Service, token: string): Promise<TokenClaims> {
  const claims = readSignedToken(token, createSeal(service.ledger.sealKey).tokenKey);
  if (claims === undefined || service.ledger.now() >= claims.expiresAt)
    throw new QuittanceError(
      'confirmation.forbidden',
      'This decision link is not of this ledger, or it has expired. Ask for a new one.',
    );
  for (const person of [claims.maker, claims.named]) {
    if (person?.identity === undefined) continue;
    const stands = await standsStill(service, { name: person.name, identity: person.identity });
    if (stands !== true)
      throw new QuittanceError(
        'confirmation.forbidden',
        `This link depends on ${person.identity.kind === 'token' ? 'the token' : 'the sign-in'} of ${person.name}: ${stands}.`,
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
  const claims = readSignedToken(token, createSeal(service.ledger.sealKey).tokenKey);
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

/** Why each of these decisions would be refused now, so that a page says it before a person decides. */
export async function readLinkRefusals(
  service: Service,
  actor: Actor,
  token: string,
  decisions: readonly LinkDecision[],
): Promise<{ readonly [Decision in LinkDecision]?: string }> {
  const isSignedIn = actor.role !== undefined;
  if (isSignedIn && !isApprover(actor)) {
    const why = `your role is ${actor.role}, and a decision needs approver`;
    return Object.fromEntries(decisions.map((decision) => [decision, why]));
  }
  const refused: { [Decision in LinkDecision]?: string } = {};
  for (const decision of decisions) {
    const why = await service.runtime.confirmations.whyNotByLink(token, {
      decision,
      ...(isSignedIn && { identity: identityOf(actor) }),
      stands: (person) => standsStill(service, person),
    });
    if (why !== undefined) refused[decision] = why;
  }
  return refused;
}

/** Is the token or the sign-in that a person in a link was known by still valid, with the role and the groups? */
async function standsStill({ access, signIns }: Service, { identity }: LinkPerson): Promise<true | string> {
  if (identity.kind === 'provider' && signIns?.isIssuer(identity.issuer) === true) {
    // Another server may have ended them. A request without a sign-in has not read them.
    await signIns.refresh();
    const known = signIns.knownPerson(identity.issuer, identity.subject);
    if (known === undefined)
      return 'the identity provider has not confirmed them lately, or their sign-ins were ended';
    const { role, groups } = known;
    if (!allows(role, 'approver')) return `they have the role ${role}, and a decision needs approver`;
    // The link holds the groups and the role of its maker. Rules about approvers must not count what they have lost.
    const lost = identity.groups?.find((group) => !groups.includes(group));
    if (lost !== undefined) return `they have left the group ${lost} since. Ask for a new link`;
    return identity.roles?.includes(role) === false
      ? `their role has changed to ${role} since. Ask for a new link`
      : true;
  }
  if (identity.kind !== 'token') return true;
  const holder = access.holderOf(identity.id);
  if (holder === undefined) return 'it was revoked, or its time is up';
  return isApprover(holder)
    ? true
    : `it has the role ${holder.role ?? 'none'}, and a decision needs approver`;
}
