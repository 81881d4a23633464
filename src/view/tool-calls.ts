import { isJsonObject } from '../base/json.ts';
import type { CallEvent } from '../call/event.ts';
import { readCallEvent } from './read-call-event.ts';
import type { ToolCallView } from './tool-call-view.ts';
import { toolCallKey } from './tool-call-view.ts';
import { viewToolCall } from './view-tool-call.ts';

/** Calls as they are shown, by their key. */
export type ToolCalls = ReadonlyMap<string, ToolCallView>;

/** What is shown before anything happened. */
export const noToolCalls: ToolCalls = new Map();

/**
 * The reducer behind everything that shows calls: calls and events give calls. Pure; the order of events and whether
 * one comes twice make no difference; what is not an event about a call is left out. A call nothing happened to stays
 * the same object, and so does the whole where nothing happened at all.
 */
export function reduceToolCalls(calls: ToolCalls, events: Iterable<unknown>): ToolCalls {
  const news = new Map<string, CallEvent[]>();
  for (const event of callEventsIn(events)) {
    const key = toolCallKey(event.sessionId, event.callId);
    const known = calls.get(key)?.events ?? [];
    if (known.some(({ id }) => id === event.id)) continue;
    const fresh = news.get(key);
    if (fresh === undefined) news.set(key, [event]);
    else fresh.push(event);
  }
  if (news.size === 0) return calls;
  const next = new Map(calls);
  for (const [key, fresh] of news) {
    const [first, ...rest] = [...(calls.get(key)?.events ?? []), ...fresh];
    if (first !== undefined) next.set(key, viewToolCall([first, ...rest]));
  }
  return next;
}

/** Events as they are, as `runtime.events.tail` gives them, and in the entries that a server sends. */
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

/** In the order they were asked for; those whose request was not seen stand where their first event does. */
export const listToolCalls = (calls: ToolCalls): readonly ToolCallView[] =>
  [...calls.values()].toSorted((one, other) => beganAt(one) - beganAt(other));

const beganAt = ({ requestedAt, events: [first] }: ToolCallView): number => requestedAt ?? first?.at ?? 0;

/** The call with this id. Where several sessions have one, that of the session named, else the one asked for last. */
export function findToolCall(calls: ToolCalls, callId: string, sessionId?: string): ToolCallView | undefined {
  if (sessionId !== undefined) return calls.get(toolCallKey(sessionId, callId));
  let found: ToolCallView | undefined;
  for (const call of calls.values())
    if (call.callId === callId && (found === undefined || beganAt(call) >= beganAt(found))) found = call;
  return found;
}
