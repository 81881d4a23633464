import { isJsonObject } from '../base/json.ts';
import type { CallEvent } from '../call/event.ts';
import { readCallEvent } from './read-call-event.ts';
import type { ToolCallView } from './tool-call-view.ts';
import { toolCallKey } from './tool-call-view.ts';
import { viewToolCall } from './view-tool-call.ts';

/** Calls for display, by key. */
export type ToolCalls = ReadonlyMap<string, ToolCallView>;

/** The state before the first event. */
export const noToolCalls: ToolCalls = new Map();

/**
 * The reducer behind every display of calls: calls plus events give calls. It is pure. Order and duplicates of events
 * do not matter, and values that are not call events are skipped. A call without new events stays the same object, and
 * so does the map if nothing changed.
 */
export function reduceToolCalls(calls: ToolCalls, events: Iterable<unknown>): ToolCalls {
  const byCall = new Map<string, CallEvent[]>();
  for (const event of callEventsIn(events)) {
    const key = toolCallKey(event.sessionId, event.callId);
    const known = calls.get(key)?.events ?? [];
    if (known.some(({ id }) => id === event.id)) continue;
    const fresh = byCall.get(key);
    if (fresh === undefined) byCall.set(key, [event]);
    else fresh.push(event);
  }
  if (byCall.size === 0) return calls;
  const next = new Map(calls);
  for (const [key, fresh] of byCall) {
    const [first, ...rest] = [...(calls.get(key)?.events ?? []), ...fresh];
    if (first !== undefined) next.set(key, viewToolCall([first, ...rest]));
  }
  return next;
}

/** Accepts plain events, items of `runtime.events.tail` and ledger entries sent by a server. */
function* callEventsIn(values: Iterable<unknown>): Generator<CallEvent> {
  for (const value of values) {
    const held = isJsonObject(value) && !Object.hasOwn(value, 'type') ? value : undefined;
    const list = held?.['events'];
    for (const each of Array.isArray(list) ? list : [held?.['event'] ?? value]) {
      const event = readCallEvent(each);
      if (event !== undefined) yield event;
    }
  }
}

/** Sorts by request time. A call without a known request sorts by its first event. */
export const listToolCalls = (calls: ToolCalls): readonly ToolCallView[] =>
  [...calls.values()].toSorted((one, other) => beganAt(one) - beganAt(other));

const beganAt = ({ requestedAt, events: [first] }: ToolCallView): number => requestedAt ?? first?.at ?? 0;

/** Finds a call by id. Without a session id, the most recently requested call with that id wins. */
export function findToolCall(calls: ToolCalls, callId: string, sessionId?: string): ToolCallView | undefined {
  if (sessionId !== undefined) return calls.get(toolCallKey(sessionId, callId));
  let found: ToolCallView | undefined;
  for (const call of calls.values())
    if (call.callId === callId && (found === undefined || beganAt(call) >= beganAt(found))) found = call;
  return found;
}
