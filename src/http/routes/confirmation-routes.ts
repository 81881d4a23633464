import { safeSentenceBy, shownIdBy } from '../../base/safe-id.ts';
import { decideOnce } from '../decide-once.ts';
import { decideWithLink, makeDecisionLink, readDecisionLink, readLinkRefusals } from '../decision-links.ts';
import { refuseLargeQuestion } from '../large-calls.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';

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
      const { confirmationId, decisions, named, maker } = await readDecisionLink(service, body.token);
      const question = await service.reader.value('question', { confirmationId }, asked, { costOf: 1 });
      return {
        ...question,
        shown: {
          toolName: shownIdBy(service.runtime.redactor, question.toolName),
          description: safeSentenceBy(service.runtime.redactor, question.description),
        },
        allowed: decisions,
        refused: await readLinkRefusals(service, actor, body.token, decisions),
        ...(named !== undefined && { named: named.name }),
        ...(maker !== undefined && { madeBy: maker.name }),
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
