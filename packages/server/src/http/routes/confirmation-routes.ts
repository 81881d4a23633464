import { safeSentenceBy, shownIdBy } from 'quittance/internal/base/safe-id';
import { refuseLargeQuestion } from '../large-calls.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { canonicalJson } from 'quittance/internal/base/canonical';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { ConfirmationDecided, ConfirmationVoted } from 'quittance/internal/call/event';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { toConfirmationView } from 'quittance/internal/runtime/views';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import type { Actor } from '../actor.ts';
import { identityOf, isSameActor } from '../actor.ts';
import type { NewDecision, DecisionLink, NewDecisionLink, NewTokenDecision } from '../api/confirmation.ts';
import type { Service } from '../service.ts';
import { allows } from 'quittance/internal/call/role';
import { createSeal } from 'quittance/internal/ledger/seal';
import type { LinkView, StandsAtHost, LinkDecision } from 'quittance/internal/runtime/decision-token';
import { readSignedToken } from 'quittance/internal/runtime/decision-token';
import { findConfirmation } from 'quittance/internal/ledger/reads';

const path = '/v1/confirmations/{confirmationId}';

export const confirmationRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/confirmations',
    access: 'viewer',
    summary: 'Lists confirmations, newest first.',
    query: 'ConfirmationListQuery',
    answer: 'ConfirmationPage',
    handle: ({ service, query, ...asked }) => service.reader.answer('confirmations', query, asked),
  }),
  defineRoute({
    method: 'GET',
    path,
    access: 'viewer',
    summary: 'Shows one confirmation.',
    answer: 'ConfirmationView',
    handle: ({ service, params: { confirmationId }, ...asked }) =>
      service.reader.answer('question', { confirmationId }, asked, { costOf: 1 }),
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/decision`,
    access: 'approver',
    summary: 'Decides a held call. The same decision again gets the same answer; a different one is refused.',
    body: 'NewDecision',
    answer: 'ConfirmationView',
    expect: ({ service, params, arrivedAt }) =>
      service.runtime.confirmations.expect(params.confirmationId, arrivedAt),
    size: 'judged',
    async handle({ service, params, body, actor, arrivedAt }) {
      await refuseLargeQuestion(service, params.confirmationId);
      return decideOnce(service, params.confirmationId, body, actor, arrivedAt);
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/try`,
    access: 'approver',
    summary: 'Tries edited arguments against the schema and the rules. It decides and records nothing.',
    body: 'EditToTry',
    answer: 'TriedEdit',
    size: 'judged',
    async handle({ service, params, body }) {
      await refuseLargeQuestion(service, params.confirmationId);
      return service.runtime.confirmations.tryEdit(params.confirmationId, body.arguments);
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/link`,
    access: 'approver',
    summary: 'Makes a link that decides this confirmation as it is shown now.',
    body: 'NewDecisionLink',
    answer: 'DecisionLink',
    async handle({ service, params, body, actor }) {
      await refuseLargeQuestion(service, params.confirmationId);
      return makeDecisionLink(service, actor, params.confirmationId, body);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/decisions/read',
    access: 'anyone',
    summary: 'Shows the confirmation of a decision link. The link is all the access it needs.',
    body: 'TokenToRead',
    answer: 'LinkedQuestion',
    async handle({ service, body, ...asked }) {
      const { actor } = asked;
      const { confirmationId, decisions, named, madeBy } = await readDecisionLink(service, body.token);
      const question = await service.reader.value('question', { confirmationId }, asked, { costOf: 1 });
      return {
        ...question,
        shown: {
          toolName: shownIdBy(service.runtime.redactor, question.toolName),
          description: safeSentenceBy(service.runtime.redactor, question.description),
        },
        allowed: decisions,
        refused: await readLinkRefusals(service, actor, body.token, decisions),
        ...(named !== undefined && { named }),
        ...(madeBy !== undefined && { madeBy }),
        ...(actor.role !== undefined && { signedInAs: actor.name }),
        ...(actor.role === undefined &&
          service.signIns !== undefined && { signInWith: service.signIns.settings.providerName }),
      };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/decisions',
    access: 'anyone',
    summary: 'Decides with a decision link. A link decides once; a second use answers who decided.',
    body: 'NewTokenDecision',
    answer: 'ConfirmationView',
    // The body names the confirmation, so it is unknown until the body arrives.
    expect: ({ service, arrivedAt }) => service.runtime.confirmations.expect(undefined, arrivedAt),
    handle: ({ service, actor, body, arrivedAt }) => decideWithLink(service, actor, body, arrivedAt),
  }),
];

/** A repeated decision gets the answer of the first one if both say the same. */

/** Makes a decision. If the same decision is on record, returns the record. */
async function decideOnce(
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
  const found = await findConfirmation(ledger, confirmationId);
  const stored = found && (await ledger.readCall(found.sessionId, found.callId));
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

/** Decision links over HTTP. The runtime says who may make and use them; this adds what only this server knows. */

/** Makes a link with the permissions of the signed-in person. */
async function makeDecisionLink(
  service: Service,
  actor: Actor,
  confirmationId: string,
  body: NewDecisionLink,
): Promise<DecisionLink> {
  const local = body.by === undefined ? undefined : service.access.localNamed(body.by);
  const token = await service.runtime.confirmations.link(confirmationId, {
    ...body,
    madeBy: actor.name,
    identity: identityOf(actor),
    ...(local !== undefined && { byIdentity: identityOf(local) }),
  });
  return { token, url: `${service.url()}/decide#${token}` };
}

/** What a link is about. Throws if it is not of this ledger, has expired or is no longer valid. */
const readDecisionLink = (service: Service, token: string): Promise<LinkView> =>
  service.runtime.confirmations.readLink(token, standsHere(service));

/** Decides with a link, for a person who may be signed in. */
async function decideWithLink(
  service: Service,
  actor: Actor,
  { token, ...use }: NewTokenDecision,
  receivedAt: number,
): Promise<ConfirmationView> {
  const claims = readSignedToken(token, createSeal(service.ledger.sealKey).tokenKey);
  if (claims !== undefined) await refuseLargeQuestion(service, claims.confirmationId);
  return service.runtime.confirmations.decideByLink(token, {
    ...use,
    ...signedIn(actor),
    receivedAt,
    stands: standsHere(service),
  });
}

/** Why each of these decisions would be refused now, so that a page says it before a person decides. */
async function readLinkRefusals(
  service: Service,
  actor: Actor,
  token: string,
  decisions: readonly LinkDecision[],
): Promise<{ readonly [Decision in LinkDecision]?: string }> {
  const refused: { [Decision in LinkDecision]?: string } = {};
  for (const decision of decisions) {
    const why = await service.runtime.confirmations.whyNotByLink(token, {
      decision,
      ...signedIn(actor),
      stands: standsHere(service),
    });
    if (why !== undefined) refused[decision] = why;
  }
  return refused;
}

const signedIn = (actor: Actor): { readonly identity?: ReturnType<typeof identityOf> } =>
  actor.role === undefined ? {} : { identity: identityOf(actor) };

/** What only this server knows: whether its own token is valid, and whom its settings give a role. */
const standsHere =
  ({ access, signIns }: Service): StandsAtHost =>
  async ({ identity }) => {
    if (identity.kind === 'token')
      return access.holderOf(identity.id) === undefined ? 'it was revoked, or its time is up' : true;
    if (identity.kind !== 'provider' || signIns?.isIssuer(identity.issuer) !== true) return true;
    // Another server may have ended them. A request without a sign-in has not read them.
    await signIns.refresh();
    const role = signIns.knownPerson(identity.issuer, identity.subject)?.role;
    if (role === undefined)
      return 'the identity provider has not confirmed them lately, or their sign-ins were ended';
    return allows(role, 'approver') ? true : `they have the role ${role}, and a decision needs approver`;
  };
