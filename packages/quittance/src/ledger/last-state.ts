import type { JsonObject } from '../base/json.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import type { ReadEvent } from './unknown-event.ts';

/** The subject whose state an event records, and that state. */
export function stateIn(
  event: ReadEvent,
): { readonly subject: string; readonly state: JsonObject } | undefined {
  if (isEmittedEvent(event)) return undefined;
  switch (event.type) {
    case 'workflow.advanced':
    case 'workflow.updated':
    case 'workflow.completed':
      return 'unknownFields' in event
        ? undefined
        : { subject: workflowSubject(event.workflow), state: event.state };
    case 'grant.given':
    case 'grant.revoked':
      return 'unknownFields' in event ? undefined : { subject: grantsSubject, state: event.state };
    case 'delegation.given':
    case 'delegation.revoked':
      return 'unknownFields' in event ? undefined : { subject: delegationsSubject, state: event.state };
    default:
      return undefined;
  }
}

export const grantsSubject = 'grants';

/** In the ledger's own session. */
export const delegationsSubject = 'delegations';

export const workflowSubject = (workflow: string): string => `workflow/${workflow}`;

/** The state of a subject according to the last event about it. */
export function lastState(events: readonly ReadEvent[], subject: string): JsonObject {
  for (const event of events.toReversed()) {
    const stated = stateIn(event);
    if (stated?.subject === subject) return stated.state;
  }
  throw new TypeError(`An entry changes ${subject} but contains no event with its new state.`);
}
