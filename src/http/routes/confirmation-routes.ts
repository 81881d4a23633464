import { safeSentence, shownId } from '../../base/safe-id.ts';
import type { ConfirmationStatus } from '../../call/call.ts';
import type { ConfirmationView } from '../../runtime/host/confirmation-view.ts';
import { longestLinkMs } from '../../runtime/people/decision-token.ts';
import type { LinkDecision } from '../../runtime/people/signed-token.ts';
import type {
  ConfirmationPage,
  DecisionLink,
  LinkedQuestion,
  NewDecision,
  NewDecisionLink,
  NewTokenDecision,
  TokenToRead,
} from '../api/confirmation.ts';
import { decideOnce } from '../decide-again.ts';
import { decideWithLink, makeLink, readLink } from '../decision-links.ts';
import { largeCallShape } from '../call-shapes.ts';
import { refuseLargeQuestion } from '../large-calls.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Fields, Shape } from '../shape.ts';
import {
  anyObject,
  choice,
  decimal,
  flag,
  integer,
  list,
  maybe,
  nameText,
  object,
  oneOf,
  only,
  open,
  text,
} from '../shape.ts';
import type { PageQuery } from './page-fields.ts';
import { pageFields } from './page-fields.ts';

type Filters = PageQuery & {
  readonly status?: ConfirmationStatus;
  readonly sessionId?: string;
  readonly toolName?: string;
};

const statusShape: Shape<ConfirmationStatus> = choice({
  pending: true,
  approved: true,
  denied: true,
  answered: true,
  withdrawn: true,
  expired: true,
});

const viewFields = {
  confirmationId: text(),
  sessionId: text(),
  callId: text(),
  toolName: text(),
  inputDigest: text(),
  description: text(),
  status: statusShape,
  createdAt: decimal(),
  previewSource: choice<ConfirmationView['previewSource']>({ tool: true, comparison: true, none: true }),
} as const;
const viewShape: Shape<ConfirmationView> = open(
  'ConfirmationView',
  'A question to a person, and how it stands.',
  viewFields,
);

const longText = text({ maxLength: 10_000 });
type Terms = {
  readonly inputDigest?: string;
  readonly revision?: number;
  readonly reason?: string;
  readonly notReadToEnd?: boolean;
};
const terms: Fields<Terms> = {
  inputDigest: maybe(text()),
  revision: maybe(integer({ minimum: 1 })),
  reason: maybe(longText),
  notReadToEnd: maybe(flag()),
};

const decisionShape: Shape<NewDecision> = oneOf<NewDecision>(
  [
    object<Terms & { readonly decision: 'approve' }>({ ...terms, decision: only('approve') }),
    object<Terms & { readonly decision: 'deny' }>({ ...terms, decision: only('deny') }),
    object<Extract<NewDecision, { readonly decision: 'edit' }>>({
      ...terms,
      decision: only('edit'),
      arguments: anyObject(),
    }),
    object<Extract<NewDecision, { readonly decision: 'respond' }>>({
      ...terms,
      decision: only('respond'),
      response: text({ minLength: 1, maxLength: 100_000 }),
    }),
  ],
  'NewDecision',
);

const tokenDecisionShape: Shape<LinkDecision> = choice({ approve: true, deny: true });
const linkedShape: Shape<LinkedQuestion> = open(
  'LinkedQuestion',
  'A question to a person, and what a decision link is good for.',
  {
    ...viewFields,
    allowed: list(tokenDecisionShape),
    named: maybe(text()),
    madeBy: maybe(text()),
    signedInAs: maybe(text()),
    shown: object({ toolName: text(), description: text() }),
  },
);
const tokenText = text({ minLength: 1, maxLength: 8_192 });
const deciderText = nameText(200);
const path = '/v1/confirmations/{confirmationId}';

export const confirmationRoutes: readonly Route[] = [
  defineRoute<'/v1/confirmations', Filters, undefined, ConfirmationPage>({
    method: 'GET',
    path: '/v1/confirmations',
    access: 'viewer',
    summary: 'Lists questions to people, newest first.',
    query: { ...pageFields, status: maybe(statusShape), sessionId: maybe(text()), toolName: maybe(text()) },
    answer: object<ConfirmationPage>(
      { rows: list(viewShape), next: maybe(text()), large: maybe(list(largeCallShape)) },
      'ConfirmationPage',
    ),
    handle: ({ service, query, ...asked }) => service.reader.answer('confirmations', query, asked),
  }),
  defineRoute<typeof path, object, undefined, ConfirmationView>({
    method: 'GET',
    path,
    access: 'viewer',
    summary: 'Shows one question.',
    answer: viewShape,
    handle: ({ service, params: { confirmationId }, ...asked }) =>
      service.reader.answer('question', { confirmationId }, asked, { costOf: 1 }),
  }),
  defineRoute<`${typeof path}/decision`, object, NewDecision, ConfirmationView>({
    method: 'POST',
    path: `${path}/decision`,
    access: 'approver',
    summary: 'Decides about a held call. The same decision again gets the same answer; another is refused.',
    body: decisionShape,
    answer: viewShape,
    expect: ({ service, params, arrivedAt }) =>
      service.runtime.confirmations.expect(params.confirmationId, arrivedAt),
    size: 'judged',
    async handle({ service, params, body, actor, arrivedAt }) {
      await refuseLargeQuestion(service, params.confirmationId);
      return decideOnce(service, params.confirmationId, body, actor, arrivedAt);
    },
  }),
  defineRoute<`${typeof path}/link`, object, NewDecisionLink, DecisionLink>({
    method: 'POST',
    path: `${path}/link`,
    access: 'approver',
    summary: 'Makes a link to decide this question with, as it is shown now.',
    body: object<NewDecisionLink>(
      {
        by: maybe(deciderText),
        decisions: maybe(list(tokenDecisionShape, { minItems: 1 })),
        expiresInMs: integer({
          minimum: 1,
          description: `At most ${longestLinkMs}: 7 days.`,
        }),
      },
      'NewDecisionLink',
    ),
    answer: object<DecisionLink>({ token: text(), url: text() }, 'DecisionLink'),
    async handle({ service, params, body, actor }) {
      await refuseLargeQuestion(service, params.confirmationId);
      return makeLink(service, actor, params.confirmationId, body);
    },
  }),
  defineRoute<'/v1/decisions/read', object, TokenToRead, LinkedQuestion>({
    method: 'POST',
    path: '/v1/decisions/read',
    access: 'anyone',
    summary: 'Shows what a decision link is about. The link is the right to see it.',
    body: object<TokenToRead>({ token: tokenText }, 'TokenToRead'),
    answer: linkedShape,
    async handle({ service, body, ...asked }) {
      const { actor } = asked;
      const { confirmationId, decisions, named, maker } = readLink(service, body.token);
      const question = await service.reader.value('question', { confirmationId }, asked, { costOf: 1 });
      return {
        ...question,
        shown: { toolName: shownId(question.toolName), description: safeSentence(question.description) },
        allowed: decisions,
        ...(named !== undefined && { named: named.name }),
        ...(maker !== undefined && { madeBy: maker.name }),
        ...(actor.role !== undefined && { signedInAs: actor.name }),
      };
    },
  }),
  defineRoute<'/v1/decisions', object, NewTokenDecision, ConfirmationView>({
    method: 'POST',
    path: '/v1/decisions',
    access: 'anyone',
    summary: 'Decides with a decision link. It is good once: used again it says who decided.',
    body: object<NewTokenDecision>(
      { token: tokenText, decision: tokenDecisionShape, by: maybe(deciderText), reason: maybe(longText) },
      'NewTokenDecision',
    ),
    answer: viewShape,
    // Which question it is about is known only once the body is there.
    expect: ({ service, arrivedAt }) => service.runtime.confirmations.expect(undefined, arrivedAt),
    handle: ({ service, actor, body, arrivedAt }) => decideWithLink(service, actor, body, arrivedAt),
  }),
];
