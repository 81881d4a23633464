import { identityOf } from '../actor.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';

export const grantRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/grants',
    access: 'viewer',
    summary: 'Lists the grants of one session, or of the newest sessions.',
    query: 'GrantListQuery',
    answer: 'GrantList',
    handle: ({ service, query, ...asked }) =>
      service.reader.answer('grants', query, asked, {
        costOf: query.sessionId === undefined ? undefined : 2,
      }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/grants',
    access: 'approver',
    summary: 'Grants calls of a tool in one session in advance.',
    body: 'NewGrant',
    answer: 'GrantView',
    status: 201,
    handle: ({ service, body, actor }) =>
      service.runtime.grants.give({ ...body, by: actor.name, identity: identityOf(actor) }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/sessions/{sessionId}/grants/{grantId}/revoke',
    access: 'approver',
    summary: 'Revokes a grant. Revoking it again changes nothing.',
    body: 'GrantRevocationRequest',
    answer: 'GrantView',
    handle: ({ service, params, body, actor }) =>
      service.runtime.grants.revoke({
        ...params,
        ...body,
        by: actor.name,
        identity: identityOf(actor),
      }),
  }),
];
