/** A request of a client, whichever side it came from. */
import type { DirectIdentity } from 'quittance/internal/call/event';
import type { Principal } from 'quittance/internal/tool/tool-context';
import type { Era, Fields, RelayedRequest } from './relayed-request.ts';

/** Who is at the other end of a connection or of an HTTP request. */
export type Caller = {
  /** Separates the calls of different people and programs. */
  readonly id: string;
  readonly principal: Principal;
  readonly askedBy: DirectIdentity | undefined;
  /** May call only tools that read. */
  readonly readsOnly: boolean;
  /** Groups or scopes, as a provider states them. */
  readonly groups?: readonly string[];
};

export type ClientRequest = {
  readonly era: Era;
  readonly caller: Caller;
  /** What the client calls itself. */
  readonly client: Fields;
  readonly capabilities: Fields;
  /** The live session of a legacy client. Request ids are unique in it. */
  readonly sessionId: string | undefined;
  readonly requestId: string | number;
  /** `_meta` without the envelope. */
  readonly meta: Fields;
  readonly envelope: Fields | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly inputResponses: Fields | undefined;
  readonly requestState: string | undefined;
  readonly signal: AbortSignal;
  /** Sends a notice that belongs to this request. */
  readonly notify: (notice: RelayedRequest) => void;
  /** Asks the client while the request runs. Only a legacy client can be asked this way. */
  readonly ask: (request: RelayedRequest) => Promise<Fields>;
};

/** The progress that the client of a request last heard of. */
const heard = new WeakMap<ClientRequest, number>();

/** Added to progress that would stand still. Far below the steps of a tool. */
const smallestStep = 1e-6;

/**
 * Sends progress under the client's own token, if it gave one. The protocol wants progress to rise with each
 * message. A request has several sources of progress: the wait for an approval, the tool, and the tool again after a
 * failed attempt. So progress that would stand still or go back is lifted.
 */
export function progressOf(client: ClientRequest): ((params: Fields) => void) | undefined {
  const progressToken = client.meta['progressToken'];
  if (progressToken === undefined) return undefined;
  return (params) =>
    client.notify({
      method: 'notifications/progress',
      params: { ...params, progress: raise(client, params['progress']), progressToken },
    });
}

function raise(client: ClientRequest, progress: unknown): unknown {
  if (typeof progress !== 'number' || !Number.isFinite(progress)) return progress;
  const last = heard.get(client);
  const raised = last === undefined || progress > last ? progress : nextAbove(last);
  heard.set(client, raised);
  return raised;
}

/** A large number does not change by the smallest step. */
const nextAbove = (value: number): number =>
  value + Math.max(smallestStep, Math.abs(value) * Number.EPSILON * 2);
