/**
 * Requests other than calls of tools during which a legacy server asks a modern client: `prompts/get`, `resources/read`.
 * The client gets the questions as a result, and comes back with the answers and the state of its request.
 */
import { ProtocolError } from '@modelcontextprotocol/client';
import { randomUUID } from 'node:crypto';
import { digestJson } from 'quittance/internal/base/canonical';
import type { JsonValue } from 'quittance/internal/base/json';
import type { ClientRequest } from './client-request.ts';
import type { SendToServer } from './open-call.ts';
import { OpenCall } from './open-call.ts';
import type { Fields, RelayedRequest } from './relayed-request.ts';
import { rpcCodes } from './relayed-request.ts';
import type { StateSigner } from './signed-state.ts';

/** In the place of a session: a state of a call never names one of these requests. */
const place = 'request';
const stateLastsMs = 15 * 60_000;

export class OpenRequests {
  readonly #signer: StateSigner;
  readonly #now: () => number;
  readonly #open = new Map<string, OpenCall>();

  constructor(signer: StateSigner, now: () => number) {
    this.#signer = signer;
    this.#now = now;
  }

  async send(request: RelayedRequest, client: ClientRequest, send: SendToServer): Promise<Fields> {
    const { params, method } = request;
    const { _meta, inputResponses: _, requestState: __, ...asked } = params ?? {};
    const digest = digestJson([method, asked as JsonValue]); // it came as JSON
    const open = this.#find(client, digest);
    if (open !== undefined) return this.#next(open, client);
    const call = new OpenCall(
      { sessionId: place, callId: randomUUID(), makeDigest: () => digest },
      client,
      send,
    );
    this.#open.set(call.callId, call);
    const exchange = call.toExchange(call.signal, () => undefined);
    call.run(send(request, exchange).finally(() => this.#open.delete(call.callId)));
    return this.#next(call, client);
  }

  /** Ends what waits for answers of clients. */
  close(): void {
    for (const call of this.#open.values()) call.giveUp('The gateway is closing.');
  }

  /** A state of a modern server is none of ours, and is passed on. */
  #find({ requestState, caller }: ClientRequest, digest: string): OpenCall | undefined {
    const state = requestState === undefined ? undefined : this.#signer.read(requestState);
    if (state?.sessionId !== place) return undefined;
    const open = this.#open.get(state.callId);
    if (open === undefined || state.callerId !== caller.id || state.digest !== digest)
      throw new ProtocolError(rpcCodes.invalidParams, 'Invalid or expired requestState', {
        reason: 'invalid_request_state',
      });
    return open;
  }

  async #next(call: OpenCall, client: ClientRequest): Promise<Fields> {
    const stop = await call.next(client);
    if (stop.type !== 'asked') return stop.result;
    const { sessionId, callId, callerId, digest } = call;
    const expiresAt = this.#now() + stateLastsMs;
    return {
      resultType: 'input_required',
      inputRequests: stop.requests,
      requestState: this.#signer.write({ sessionId, callId, callerId, digest, expiresAt }),
    };
  }
}
