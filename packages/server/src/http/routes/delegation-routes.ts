import { identityOf } from '../actor.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';

export const delegationRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/delegations',
    access: 'viewer',
    summary: 'Lists delegations: who approves for whom, and until when.',
    answer: 'DelegationList',
    handle: async ({ service }) => ({ rows: await service.runtime.delegations.list() }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/delegations',
    access: 'approver',
    summary: 'Lets another person approve in your place until an instant.',
    body: 'NewDelegation',
    answer: 'DelegationView',
    status: 201,
    handle: ({ service, body, actor }) =>
      service.runtime.delegations.give({ ...body, by: actor.name, identity: identityOf(actor) }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/delegations/{delegationId}/revoke',
    access: 'approver',
    summary: 'Ends a delegation. Ending it again changes nothing.',
    body: 'DelegationRevocationRequest',
    answer: 'DelegationView',
    handle: ({ service, params, body, actor }) =>
      service.runtime.delegations.revoke({ ...params, ...body, by: actor.name, identity: identityOf(actor) }),
  }),
];
