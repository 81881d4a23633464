import type { JsonObject } from '../base/json.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import type { ReadEvent } from './unknown-event.ts';

/** The subject an event tells the state of, and that state. */
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
    default:
      return undefined;
  }
}

export const grantsSubject = 'grants';

export const workflowSubject = (workflow: string): string => `workflow/${workflow}`;

/** What the last of the events says about a subject. */
export function lastState(events: readonly ReadEvent[], subject: string): JsonObject {
  for (const event of events.toReversed()) {
    const told = stateIn(event);
    if (told?.subject === subject) return told.state;
  }
  throw new TypeError(`An entry moves ${subject} and holds no event that says where to.`);
}
