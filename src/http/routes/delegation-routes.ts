import { allows } from '../../runtime/host/rights.ts';
import { QuittanceError } from '../../base/error.ts';
import { personNames } from '../../call/fits-seat.ts';
import { isSameIdentity } from '../../call/same-identity.ts';
import type { Actor } from '../actor.ts';
import { identityOf } from '../actor.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { DelegationView } from '../../runtime/people/delegations.ts';

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
    async handle({ service, params, body, actor }) {
      const rows = await service.runtime.delegations.list();
      const found = rows.find(({ delegationId }) => delegationId === params.delegationId);
      if (found !== undefined && !mayRevokeDelegation(found, actor))
        throw new QuittanceError(
          'confirmation.forbidden',
          `${actor.name} may not revoke the delegation of ${found.by}: it is neither theirs nor to them.`,
          { by: actor.name },
        );
      return service.runtime.delegations.revoke({
        ...params,
        ...body,
        by: actor.name,
        identity: identityOf(actor),
      });
    },
  }),
];

/** The delegator, the delegate and admins may. Only exact names give a right. */
export function mayRevokeDelegation({ identity, to }: DelegationView, actor: Actor): boolean {
  if (allows(actor.role, 'admin')) return true;
  const own = identityOf(actor);
  const names = personNames(own);
  return (
    names.includes(to) ||
    isSameIdentity(identity, own) ||
    (identity.kind === own.kind && personNames(identity).some((name) => names.includes(name)))
  );
}
