import type { GrantStatus, GrantView } from '../../runtime/host/grant-view.ts';
import { identityOf } from '../actor.ts';
import type { GrantList, GrantRevocationRequest, NewGrant } from '../api/confirmation.ts';
import type { GrantFilters } from '../read-grants.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Shape } from '../shape.ts';
import { anyObject, choice, flag, integer, list, maybe, object, open, text } from '../shape.ts';

const statusShape: Shape<GrantStatus> = choice({ active: true, used_up: true, expired: true, revoked: true });

const grantShape: Shape<GrantView> = open('GrantView', 'A standing permission as it stands now.', {
  grantId: text(),
  sessionId: text(),
  toolName: text(),
  status: statusShape,
  used: integer(),
});

const reasonText = text({ maxLength: 1_000 });

export const grantRoutes: readonly Route[] = [
  defineRoute<'/v1/grants', GrantFilters, undefined, GrantList>({
    method: 'GET',
    path: '/v1/grants',
    access: 'viewer',
    summary: 'Lists what was permitted beforehand, in one session or in the newest ones.',
    query: { sessionId: maybe(text()), active: maybe(flag()) },
    answer: object<GrantList>({ rows: list(grantShape), capped: flag() }, 'GrantList'),
    handle: ({ service, query, ...asked }) =>
      service.reader.answer('grants', query, asked, {
        costOf: query.sessionId === undefined ? undefined : 2,
      }),
  }),
  defineRoute<'/v1/grants', object, NewGrant, GrantView>({
    method: 'POST',
    path: '/v1/grants',
    access: 'approver',
    summary: 'Permits calls of a tool beforehand, in one session.',
    body: object<NewGrant>(
      {
        sessionId: text({ minLength: 1 }),
        toolName: text({ minLength: 1 }),
        where: maybe(anyObject()),
        until: maybe(integer({ minimum: 0 })),
        forMs: maybe(integer({ minimum: 1 })),
        uses: maybe(integer({ minimum: 1 })),
        reason: maybe(reasonText),
      },
      'NewGrant',
    ),
    answer: grantShape,
    status: 201,
    handle: ({ service, body, actor }) =>
      service.runtime.grants.give({ ...body, by: actor.name, identity: identityOf(actor) }),
  }),
  defineRoute<'/v1/sessions/{sessionId}/grants/{grantId}/revoke', object, GrantRevocationRequest, GrantView>({
    method: 'POST',
    path: '/v1/sessions/{sessionId}/grants/{grantId}/revoke',
    access: 'approver',
    summary: 'Takes a standing permission back. One that was taken back before stays so.',
    body: object<GrantRevocationRequest>({ reason: maybe(reasonText) }, 'GrantRevocationRequest'),
    answer: grantShape,
    handle: ({ service, params, body, actor }) =>
      service.runtime.grants.revoke({
        ...params,
        ...body,
        by: actor.name,
        identity: identityOf(actor),
      }),
  }),
];
