/** A request of a client, whichever side it came from. */
import type { DirectIdentity } from '../../call/event.ts';
import type { Principal } from '../../tool/tool-context.ts';
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

/** Sends progress under the client's own token, if it gave one. */
export function progressOf({ meta, notify }: ClientRequest): ((params: Fields) => void) | undefined {
  const progressToken = meta['progressToken'];
  if (progressToken === undefined) return undefined;
  return (params) => notify({ method: 'notifications/progress', params: { ...params, progressToken } });
}
