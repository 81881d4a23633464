/**
 * The methods and notices that pass the gateway, in each direction. Any other one is refused or dropped: the gateway
 * cannot tell what it would do. Names are compared exactly.
 */
import type { Fields } from './relayed-request.ts';

/** Requests of clients. A caller who may only read makes those that say `read`. */
const clientRequests: ReadonlyMap<string, 'read' | 'effect'> = new Map([
  ['tools/list', 'read'],
  // The catalog refuses tools that do more than read.
  ['tools/call', 'read'],
  ['prompts/list', 'read'],
  ['prompts/get', 'read'],
  ['resources/list', 'read'],
  ['resources/templates/list', 'read'],
  ['resources/read', 'read'],
  ['completion/complete', 'read'],
  // A task belongs to the caller who made the call.
  ['tasks/get', 'read'],
  ['tasks/result', 'read'],
  ['tasks/update', 'read'],
  ['tasks/cancel', 'read'],
  ['resources/subscribe', 'effect'],
  ['resources/unsubscribe', 'effect'],
  ['logging/setLevel', 'effect'],
]);

/** May this caller make the request? `unknown`: no client may. */
export function judgeRequest(
  method: string,
  { readsOnly }: { readonly readsOnly: boolean },
): 'allowed' | 'forbidden' | 'unknown' {
  const needs = clientRequests.get(method);
  if (needs === undefined) return 'unknown';
  return readsOnly && needs === 'effect' ? 'forbidden' : 'allowed';
}

/** Notices of clients that servers receive. The SDK handles those about requests. */
export const isClientNotice = (method: string, { readsOnly }: { readonly readsOnly: boolean }): boolean =>
  method === 'notifications/roots/list_changed' && !readsOnly;

/** Notices of servers that clients receive. A server cannot cancel a question of the gateway, or report its own tasks. */
const serverNotices: ReadonlySet<string> = new Set([
  'notifications/progress',
  'notifications/message',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/elicitation/complete',
]);

export const isServerNotice = (method: string): boolean => serverNotices.has(method);

/** The questions of servers, and the capability that a client needs to be asked. */
const serverRequests: ReadonlyMap<string, string> = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
]);

/** May a server put this question to a client with these capabilities? */
export function mayAsk(method: string, capabilities: Fields): boolean {
  const needed = serverRequests.get(method);
  return needed !== undefined && capabilities[needed] !== undefined;
}
