/** The events that leave an effect unresolved, and those that resolve it. */
import type { EmittedEvent } from '../call/emitted-event.ts';
import { isEmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent, ToolResolved, ToolResponded } from '../call/event.ts';

/** The call ended and it is unknown whether its effect happened: another such call must ask first. */
export const leavesUnsettledEffect = (event: QuittanceEvent): event is ToolResponded =>
  event.type === 'tool.responded' && event.final && event.unsettledEffect;

/**
 * Another such call need not ask any more. This does not apply if the effect turned out to have happened: then the
 * other call would repeat it.
 */
export const clearsUnsettledEffect = (event: QuittanceEvent): event is ToolResolved =>
  event.type === 'tool.resolved' && event.resolution !== 'succeeded';

/** The digest of the input that the gates last accepted, among the events of a call. */
export function lastInputDigest(
  events: readonly (QuittanceEvent | EmittedEvent)[],
  callId: string,
): string | undefined {
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index];
    if (event === undefined || isEmittedEvent(event)) continue;
    if (event.type === 'tool.decided' && event.callId === callId && event.inputDigest !== undefined)
      return event.inputDigest;
  }
  return undefined;
}
