/**
 * Which call a request is about. The protocol has no key for that, so the gateway takes the best evidence:
 *
 * 1. the id that the client gives the call in `_meta`,
 * 2. a state or task id that this gateway signed,
 * 3. the request id within the live session of a legacy client.
 *
 * A request without any of them is a new call. If it looks like an earlier one whose effect is unknown, the runtime
 * asks a person. The configured argument of a tool is the tool's idempotency key, and the runtime reads it.
 */
import type { ClientRequest } from './client-request.ts';
import { textOf } from './relayed-request.ts';
import { shortHash } from './short-hash.ts';

/** `_meta` keys that hold the id of a call: ours, and those of known clients. */
const idKeys = ['quittance/callId', 'claudecode/toolUseId', 'callId'] as const;

const isPlain = /^[\w.:-]{1,128}$/;

/** The id under which the call is recorded. Undefined if nothing identifies it. */
export function mcpCallId({ meta, sessionId, requestId }: ClientRequest): string | undefined {
  for (const key of idKeys) {
    const given = textOf(meta[key]);
    if (given !== undefined && given !== '') return isPlain.test(given) ? given : `mcp_${shortHash(given)}`;
  }
  if (sessionId === undefined) return undefined;
  return `rpc_${shortHash(sessionId)}_${typeof requestId === 'number' ? requestId : shortHash(requestId)}`;
}
