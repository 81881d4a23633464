import type { JsonObject } from '../../base/json.ts';
import type { Identity } from '../identity.ts';
import type { EventOf } from './event-of.ts';

/** Standing permissions of a session. Each carries all of them, so that the last one is the state. */
export type GrantEvent = GrantGiven | GrantRevoked;

/** A person has permitted calls of a tool beforehand. */
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

/** A standing permission was taken back. */
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
