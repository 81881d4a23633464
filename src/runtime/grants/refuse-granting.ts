import { QuittanceError } from '../../base/error.ts';
import type { Identity } from '../../call/event.ts';
import type { Engine } from '../state/engine.ts';
import { whyRoleForbids } from '../host/rights.ts';
import type { GrantView } from '../host/grant-view.ts';

/**
 * With `mayDecide` but no `mayGrant`, grants are disabled: a grant is a decision about all later calls.
 * Revoking is always allowed.
 */
export async function refuseGranting(
  { mayDecide, mayGrant }: Pick<Engine, 'mayDecide' | 'mayGrant'>,
  actor: string,
  grant: GrantView,
  action: 'give' | 'revoke',
  identity: Identity | undefined,
): Promise<void> {
  const forbid = (why: string): never => {
    throw new QuittanceError(
      'confirmation.forbidden',
      `${actor} may not ${action} a grant for ${JSON.stringify(grant.toolName)}: ${why}.`,
      { by: actor, grantId: grant.grantId },
    );
  };
  const role = identity && whyRoleForbids(identity, 'approver');
  if (role !== undefined) forbid(role);
  if (mayGrant === undefined) {
    if (mayDecide === undefined || action === 'revoke') return;
    forbid('the runtime says with mayDecide who may decide, and not with mayGrant who may do so beforehand');
  }
  const allowed: unknown = await mayGrant?.(actor, grant, action, identity);
  if (allowed !== true) forbid(typeof allowed === 'string' && allowed !== '' ? allowed : 'mayGrant says no');
}
