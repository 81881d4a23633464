import type { JsonObject } from '../../base/json.ts';
import type { EventOf } from './envelope.ts';

/** Standing permissions of a session. Each carries all of them, so that the last one is the state. */
export type GrantEvent = GrantGiven | GrantRevoked;

/** A person has permitted calls of a tool beforehand. */
export type GrantGiven = EventOf<'grant.given', { grantId: string; by: string; state: JsonObject }>;

/** A standing permission was taken back. */
export type GrantRevoked = EventOf<
  'grant.revoked',
  { grantId: string; by: string; reason: string | undefined; state: JsonObject }
>;
