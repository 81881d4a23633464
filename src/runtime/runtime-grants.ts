/** `runtime.grants`: standing permissions, which answer questions before they are asked. */
import { orUnavailable } from './host/ledger-trouble.ts';
import type { GrantQuery, GrantRef, GrantRequest } from './grants/grants.ts';
import { giveGrant, listGrants, revokeGrant } from './grants/grants.ts';
import type { GrantView } from './host/grant-view.ts';
import type { Engine } from './state/engine.ts';

/** The standing permissions of sessions. */
export interface RuntimeGrants {
  /** Permits calls of a tool in advance. The grant answers their questions in the name of the person who gives it. */
  give(request: GrantRequest): Promise<GrantView>;
  /** The grants of a session, oldest first. */
  list(query: GrantQuery): Promise<readonly GrantView[]>;
  /** Revokes a grant. Calls whose body has not started are asked about again. */
  revoke(ref: GrantRef): Promise<GrantView>;
}

export function createRuntimeGrants(engine: Engine): RuntimeGrants {
  return {
    give: (request) => orUnavailable(giveGrant(engine, request)),
    list: (query) => orUnavailable(listGrants(engine, query)),
    revoke: (ref) => orUnavailable(revokeGrant(engine, ref)),
  };
}
