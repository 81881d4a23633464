/** `runtime.delegations`: people who approve for others, for a time. */
import { orUnavailable } from './host/ledger-trouble.ts';
import type { DelegationRef, DelegationRequest, DelegationView } from './people/delegations.ts';
import { giveDelegation, listDelegations, revokeDelegation } from './people/delegations.ts';
import type { Engine } from './state/engine.ts';

/** The delegations of approvals in this ledger. */
export interface RuntimeDelegations {
  /** Lets another person approve for a verified one. It passes on that person's groups and roles. */
  give(request: DelegationRequest): Promise<DelegationView>;
  /** Oldest first. The oldest ended ones are left out. */
  list(): Promise<readonly DelegationView[]>;
  /**
   * Ends a delegation. The delegator, the delegate and admins may, with a verified identity. A vote given under it no longer
   * counts.
   */
  revoke(ref: DelegationRef): Promise<DelegationView>;
}

export function createRuntimeDelegations(engine: Engine): RuntimeDelegations {
  return {
    give: (request) => orUnavailable(giveDelegation(engine, request)),
    list: () => orUnavailable(listDelegations(engine)),
    revoke: (ref) => orUnavailable(revokeDelegation(engine, ref)),
  };
}
