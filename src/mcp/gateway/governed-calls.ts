/**
 * `tools/call` through the runtime: every call is judged, recorded and settled once.
 *
 * 1. The body of a call sends to the server of its tool. Questions of the server go to the client that made the call.
 * 2. A client that comes back with the state of its question, or repeats the id of a call, gets that call again.
 * 3. A call whose client is gone goes on without it. Its end is in the ledger.
 */
import { ProtocolError } from '@modelcontextprotocol/client';
import { digestJson } from '../../base/canonical.ts';
import type { Ids } from '../../base/ids.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { toLastingFact } from '../../runtime/input/caller-facts.ts';
import type { PendingCall } from '../../runtime/turn/await-reply.ts';
import type { ToolContext } from '../../tool/tool-context.ts';
import type { ServerEntry } from '../config/server-entry.ts';
import { jsonRpcErrorOf } from '../tools/call-error.ts';
import { toCallToolResult } from '../tools/to-call-tool-result.ts';
import type { ListedTool } from '../tools/listed-tool.ts';
import type { CallUpstream } from '../tools/tool-from-listed.ts';
import type { CallSessions } from './call-sessions.ts';
import { mcpCallId } from './mcp-call-id.ts';
import type { ClientRequest } from './client-request.ts';
import type { Exchange } from './connection.ts';
import { awaitLegacyTask, followTask } from './follow-task.ts';
import type { Fields } from './relayed-request.ts';
import { isFields, textOf, toFields, rpcCodes } from './relayed-request.ts';
import { toParamHeaders } from './param-headers.ts';
import type { CallStop, SendToServer } from './open-call.ts';
import { toNextRound } from './next-round.ts';
import { ClientGone, OpenCall } from './open-call.ts';
import type { StateSigner } from './signed-state.ts';
import { stateLastsMs } from './signed-state.ts';
import type { CatalogTool, ToolCatalog } from './tool-catalog.ts';

/** Handles a held call: it waits for a person, and the client learns how. */
export type AwaitDecision = (held: HeldCall) => Promise<Fields>;

export type HeldCall = {
  readonly call: OpenCall;
  readonly tool: CatalogTool;
  readonly pending: PendingCall;
  readonly arguments: JsonValue;
  /** The end of the call, once a person has decided. */
  readonly outcome: Promise<Fields>;
};

export type GovernedCallsOptions = {
  readonly ledger: Ledger;
  readonly ids: Ids;
  readonly sessions: CallSessions;
  readonly signer: StateSigner;
  readonly catalog: () => ToolCatalog;
  readonly awaitDecision: AwaitDecision;
  /** Answers the client with a task that ends with the call. */
  readonly tellTask: (call: OpenCall) => void;
  /** Larger files become a link. Undefined: the default. */
  readonly mediaLimit: number | undefined;
  /** Sends for a call whose client is gone. */
  readonly sendDetached: (server: string) => SendToServer;
  /** Throws unless the server still lists the tool as it was when the call was judged. */
  readonly requireUnchanged: (tool: JudgedTool, send: SendToServer) => Promise<void>;
};

/** A tool as its server listed it when a call of it was judged. `name` is the one that clients use. */
export type JudgedTool = { readonly server: string; readonly name: string; readonly listed: ListedTool };

/** A client that ends its gateway waits about two seconds before it kills it. */
const drainMs = 1_000;

/** The trace context that a client sends in `_meta`. The runtime ignores a malformed one. */
const traceOf = ({ meta: { traceparent } }: ClientRequest): { readonly traceparent?: string } =>
  typeof traceparent === 'string' ? { traceparent } : {};

export class GovernedCalls {
  readonly #options: GovernedCallsOptions;
  readonly #open = new Map<string, OpenCall>();
  readonly #lastAttrs = new WeakMap<
    CatalogTool,
    { readonly client: string | undefined; readonly attrs: JsonObject }
  >();
  /** Calls that servers are handling. */
  readonly #sent = new Set<Promise<unknown>>();

  constructor(options: GovernedCallsOptions) {
    this.#options = options;
  }

  /** Calls that wait for answers of a client end. The others end with their servers. */
  close(): void {
    for (const call of this.#open.values()) call.giveUp('The gateway is closing.');
  }

  /** Gives the servers a moment to answer, so that fewer calls end with an unknown outcome. */
  async drain(): Promise<void> {
    if (this.#sent.size === 0) return;
    const { promise: tired, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, drainMs);
    await Promise.race([Promise.allSettled(this.#sent), tired]);
    clearTimeout(timer);
  }

  find(sessionId: string, callId: string): OpenCall | undefined {
    return this.#open.get(keyOf(sessionId, callId));
  }

  get openCount(): number {
    return this.#open.size;
  }

  async call(tool: CatalogTool, params: Fields, client: ClientRequest, send: SendToServer): Promise<Fields> {
    const args = (params['arguments'] ?? {}) as JsonValue; // it came as JSON
    const makeDigest = (): string => digestJson([tool.name, args]);
    const { sessionId, callId } = await this.#identify(client, makeDigest);
    const key = keyOf(sessionId, callId);
    const running = this.#open.get(key);
    // Another request under the same id: the runtime tells the conflict.
    if (running !== undefined && running.digest === makeDigest())
      return this.#tell(await running.next(client), running);
    const call = new OpenCall({ sessionId, callId, makeDigest }, client, send);
    if (running === undefined) this.#open.set(key, call);
    call.run(
      this.#make(call, tool, args).finally(() => {
        if (this.#open.get(key) === call) this.#open.delete(key);
      }),
    );
    return this.#tell(await call.next(client), call);
  }

  /** Calls a tool that every runtime has. */
  async callOwn(name: string, params: Fields, client: ClientRequest): Promise<Fields> {
    const { sessions, ids } = this.#options;
    const sessionId = await sessions.find(client);
    const { runtime, release } = this.#options.catalog().use();
    try {
      const { principal, askedBy } = client.caller;
      const turn = runtime.turn({ sessionId, principal, ...(askedBy !== undefined && { askedBy }) });
      const id = mcpCallId(client) ?? ids.next('call');
      const given = (params['arguments'] ?? {}) as JsonObject; // it came as JSON
      const options = { signal: client.signal, ...traceOf(client) };
      const outcome = await turn.call({ id, name, arguments: given }, options);
      return await toCallToolResult(this.#options.ledger, sessionId, outcome, { shape: 'value' });
    } finally {
      release();
    }
  }

  async #identify(
    client: ClientRequest,
    makeDigest: () => string,
  ): Promise<{ readonly sessionId: string; readonly callId: string }> {
    const { signer, sessions, ids } = this.#options;
    if (client.requestState !== undefined) {
      const state = signer.read(client.requestState);
      if (state === undefined || state.callerId !== client.caller.id || state.digest !== makeDigest())
        throw new ProtocolError(rpcCodes.invalidParams, 'Invalid or expired requestState', {
          reason: 'invalid_request_state',
        });
      return state;
    }
    return { sessionId: await sessions.find(client), callId: mcpCallId(client) ?? ids.next('call') };
  }

  async #make(call: OpenCall, tool: CatalogTool, args: JsonValue): Promise<Fields> {
    const { runtime, release } = this.#options.catalog().use();
    let isHeld = false;
    try {
      const { caller } = call.firstRequest;
      const turn = runtime.turn({
        sessionId: call.sessionId,
        principal: caller.principal,
        ...(caller.askedBy !== undefined && { askedBy: caller.askedBy }),
      });
      const envelope = { id: call.callId, name: tool.name, arguments: args as JsonObject };
      const options = {
        signal: call.signal,
        attrs: this.#attrs(tool, call),
        ...traceOf(call.firstRequest),
      };
      const answer = await turn.call(envelope, { ...options, ifHeld: 'return' });
      if (answer.type !== 'pending') return await this.toResult(call.sessionId, answer);
      // The same call again: it joins the first and waits for its end.
      const outcome = turn.call(envelope, options).then((end) => this.toResult(call.sessionId, end));
      // The runtime is needed until the call has ended, whether or not a client still waits.
      void outcome.catch(() => undefined).finally(release);
      isHeld = true;
      if (answer.confirmationId === undefined) return await outcome;
      return await this.#options.awaitDecision({ call, tool, pending: answer, arguments: args, outcome });
    } finally {
      if (!isHeld) release();
    }
  }

  /** Most calls of a tool come from the client that made the last one. */
  #attrs(tool: CatalogTool, { firstRequest }: OpenCall): JsonObject {
    const client = textOf(toFields(firstRequest.client)['name'])?.slice(0, 100);
    const last = this.#lastAttrs.get(tool);
    if (last !== undefined && last.client === client) return last.attrs;
    const mcp = { server: tool.server, tool: tool.listed.name, ...(client !== undefined && { client }) };
    const attrs = toLastingFact({ mcp });
    this.#lastAttrs.set(tool, { client, attrs });
    return attrs;
  }

  /** What a client gets for an outcome. An error of the server is passed on as one. */
  async toResult(sessionId: string, outcome: ToolOutcome): Promise<Fields> {
    const error = jsonRpcErrorOf(outcome);
    if (error !== undefined) throw new ProtocolError(error.code, error.message, error.data);
    const { ledger, mediaLimit, catalog } = this.#options;
    const { listed } = catalog().get(outcome.toolName) ?? {};
    return toCallToolResult(ledger, sessionId, outcome, {
      isStructured: listed === undefined || isFields(listed.outputSchema),
      ...(mediaLimit !== undefined && { mediaLimit }),
    });
  }

  #tell(stop: CallStop, call: OpenCall): Fields {
    switch (stop.type) {
      case 'ended':
      case 'task':
        return stop.result;
      case 'asked':
        return {
          resultType: 'input_required',
          ...(Object.keys(stop.requests).length > 0 && { inputRequests: stop.requests }),
          requestState: this.signState(call),
        };
    }
  }

  /** The text with which the client of this call can come back to it. */
  signState({ sessionId, callId, callerId, digest, firstRequest }: OpenCall): string {
    const { signer, ledger } = this.#options;
    const mayWrite = !firstRequest.caller.readsOnly;
    const expiresAt = ledger.now() + stateLastsMs;
    return signer.write({ sessionId, callId, callerId, mayWrite, digest, expiresAt });
  }

  /** The body of the tools of a server. */
  readonly callUpstream =
    (entry: ServerEntry, listed: ListedTool): CallUpstream =>
    (call, context) => {
      const sent = this.#callUpstream(entry, listed)(call, context);
      this.#sent.add(sent);
      const forget = (): void => void this.#sent.delete(sent);
      void sent.then(forget, forget);
      return sent;
    };

  readonly #callUpstream =
    (entry: ServerEntry, listed: ListedTool): CallUpstream =>
    async ({ name, arguments: args }, context) => {
      const call = this.#open.get(keyOf(context.sessionId, context.callId));
      const onAlive = (progress: Fields): void => {
        const { message } = progress;
        context.progress(typeof message === 'string' ? { message } : {});
      };
      const exchange = {
        ...(call?.toExchange(context.signal, onAlive) ?? detached(context)),
        // A pipe has no headers.
        headers: entry.type === 'stdio' ? undefined : toParamHeaders(listed.inputSchema, args),
      };
      const send = call?.send ?? this.#options.sendDetached(entry.name);
      await this.#options.requireUnchanged({ server: entry.name, name: context.toolName, listed }, send);
      const meta = { ...call?.firstRequest.meta };
      delete meta['quittance/callId'];
      // The attempt is nearer to the server than what the client sent. Without a trace, that is passed on as it came.
      if (context.traceparent !== undefined) meta['traceparent'] = context.traceparent;
      // A client may send answers before it was asked.
      const early = call?.firstRequest.requestState === undefined && call?.firstRequest.inputResponses;
      const first: Fields = {
        name,
        arguments: args,
        ...(isTask(listed) && { task: {} }),
        ...(early !== undefined && early !== false && { inputResponses: early }),
        ...(Object.keys(meta).length > 0 && { _meta: meta }),
      };
      let params = first;
      for (let round = 1; ; round++) {
        const result = await send({ method: 'tools/call', params }, exchange);
        if (result['resultType'] === 'input_required') {
          if (call === undefined) throw new ClientGone('The server asks, and the client is gone.');
          const ask = (requests: Fields): Promise<Fields> => call.askAll(requests);
          params = await toNextRound({ round, params: first, result, signal: context.signal, ask });
        } else if (result['resultType'] === 'task') {
          if (call !== undefined) this.#options.tellTask(call);
          const ask =
            call && ((requests: Fields, until: AbortSignal): Promise<Fields> => call.askAll(requests, until));
          return followTask({ task: result, send, exchange, ask });
        } else if (isFields(result['task'])) return awaitLegacyTask(result['task'], send, exchange);
        else return result;
      }
    };
}

/** Must the tool be called as a task? Only servers of 2025-11-25 have such tools. The client makes a plain call. */
const isTask = ({ execution }: ListedTool): boolean => toFields(execution)['taskSupport'] === 'required';

/** The length keeps two pairs apart that would read alike. */
const keyOf = (sessionId: string, callId: string): string => `${sessionId.length} ${sessionId} ${callId}`;

const detached = ({ signal }: ToolContext): Exchange => ({
  signal,
  capabilities: {},
  envelope: undefined,
  headers: undefined,
  onProgress: undefined,
  onNotice: () => undefined,
  ask: () => Promise.reject(new ClientGone('The client is gone.')),
});
