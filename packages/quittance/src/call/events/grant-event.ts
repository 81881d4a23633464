import type { JsonObject } from '../../base/json.ts';
import type { Identity } from '../identity.ts';
import type { EventOf } from './event-of.ts';

/** Grants of a session. Each event carries all of them, so the last one is the state. */
export type GrantEvent = GrantGiven | GrantRevoked;

/** A person gave a grant: a permission for calls of a tool in advance. */
export type GrantGiven = EventOf<
  'grant.given',
  {
    grantId: string;
    by: string;
    /** How that person was identified. Absent: not recorded. */
    identity?: Identity;
    state: JsonObject;
  }
>;

/** A grant was revoked. */
export type GrantRevoked = EventOf<
  'grant.revoked',
  {
    grantId: string;
    by: string;
    /** How that person was identified. Absent: not recorded. */
    identity?: Identity;
    reason: string | undefined;
    state: JsonObject;
  }
>;
