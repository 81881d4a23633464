import type { JsonObject } from '../../base/json.ts';
import type { DirectIdentity, Identity } from '../identity.ts';
import type { EventOf } from './event-of.ts';

/** Delegations of approvals, in the ledger's own chain. Each event carries all of them, so the last one is the state. */
export type DelegationEvent = DelegationGiven | DelegationRevoked;

/** A person lets another one approve in their place until an instant. */
export type DelegationGiven = EventOf<
  'delegation.given',
  {
    delegationId: string;
    by: string;
    /** How that person was verified, with the groups and roles that they pass on. */
    identity: DirectIdentity;
    /** The delegate. */
    to: string;
    /** By the ledger's clock. */
    until: number;
    reason: string | undefined;
    state: JsonObject;
  }
>;

/** A delegation was ended before its time. */
export type DelegationRevoked = EventOf<
  'delegation.revoked',
  {
    delegationId: string;
    by: string;
    identity?: Identity;
    reason: string | undefined;
    state: JsonObject;
  }
>;
