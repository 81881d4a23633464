/**
 * `tools/call` through the runtime: every call is judged, recorded and settled once.
 *
 * 1. The body of a call sends to the server of its tool. Questions of the server go to the client that made the call.
 * 2. A client that comes back with the state of its question, or repeats the id of a call, gets that call again.
 * 3. A call whose client is gone goes on without it. Its end is in the ledger.
 */
import { ProtocolError } from '@modelcontextprotocol/client';
import { digestJson } from 'quittance/internal/base/canonical';
import type { Ids } from 'quittance/internal/base/ids';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { toLastingFact } from 'quittance/internal/runtime/call-input';
import type { PendingCall } from 'quittance/internal/runtime/turn';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { ServerEntry } from '@quittance/server/internal/mcp-reviews/server-entry';
import { jsonRpcErrorOf } from '../tools/call-error.ts';
import { toCallToolResult } from '../tools/to-call-tool-result.ts';
import type { ListedTool } from '@quittance/server/internal/mcp-reviews/listed-tool';
import type { CallUpstream } from '../tools/tool-from-listed.ts';
import type { CallSessions } from './call-sessions.ts';
import type { ClientRequest } from './client-request.ts';
import type { Exchange } from './connection.ts';
import type { Fields } from './relayed-request.ts';
import { isFields, textOf, toFields, rpcCodes } from './relayed-request.ts';
import type { CallStop, SendToServer } from './open-call.ts';
import { toNextRound } from './next-round.ts';
import { ClientGone, OpenCall } from './open-call.ts';
import { isTooLong, tooLong } from './server-words.ts';
import type { StateSigner } from './signed-state.ts';
import { stateLastsMs } from './signed-state.ts';
import type { CatalogTool, ToolCatalog } from './tool-catalog.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { shortHash } from './short-hash.ts';

/** Handles a held call: it waits for a person, and the client learns how. */
type AwaitDecision = (held: HeldCall) => Promise<Fields>;

export type HeldCall = {
  readonly call: OpenCall;
  readonly tool: CatalogTool;
  readonly pending: PendingCall;
  readonly arguments: JsonValue;
  /** The end of the call, once a person has decided. */
  readonly outcome: Promise<Fields>;
};

type GovernedCallsOptions = {
  readonly ledger: OpenLedger;
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
      const sent = this.#callUpstream(entry, listed)(call, context).then(refuseTooLong);
      this.#sent.add(sent);
      const forget = (): void => void this.#sent.delete(sent);
      void sent.then(forget, forget);
      return sent;
    };

  readonly #callUpstream =
    (entry: ServerEntry, listed: ListedTool): ((...given: Parameters<CallUpstream>) => Promise<Fields>) =>
    async ({ name, arguments: args }, context): Promise<Fields> => {
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

function refuseTooLong(result: Fields): Fields {
  if (!isTooLong(result)) return result;
  throw new ToolError('tool.invalid_output', tooLong);
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

/**
 * Tasks of servers. The gateway follows them itself, and the result of a task is the result of the call. Clients never
 * see a task of a server: they get a task of the gateway, which ends with the settled call.
 */

const [leastPollMs, mostPollMs] = [50, 10_000];
/** A server that never stops to ask would ask without end. */
const mostQuestions = 50;

type FollowedTask = {
  /** What the server answered to the call. */
  readonly task: Fields;
  readonly send: SendToServer;
  readonly exchange: Exchange;
  /** Puts questions of the server to the client, until the signal. Undefined: the client is gone. */
  readonly ask: ((requests: Fields, signal: AbortSignal) => Promise<Fields>) | undefined;
};

/**
 * Follows a task of a modern server to its end. A call that is cancelled cancels the task too. The gateway goes on to
 * look at the task while the client is asked: the server may ask more, or end the task.
 */
async function followTask({ task, send, exchange, ask }: FollowedTask): Promise<Fields> {
  const taskId = readTaskId(task);
  const ending = new AbortController();
  const signal =
    exchange.signal === undefined ? ending.signal : AbortSignal.any([exchange.signal, ending.signal]);
  const plain = { ...exchange, headers: undefined, signal };
  /** By key. The server may show a question for a while after it got the answer. */
  const asked = new Set<string>();
  let questions = 0;
  const put = async (key: string, request: unknown): Promise<void> => {
    try {
      if (ask === undefined) throw new ClientGone('The server asks, and the client is gone.');
      let answer: unknown;
      // A client may come back with answers to other questions only.
      while (answer === undefined) answer = (await ask({ [key]: request }, signal))[key];
      if (signal.aborted) return;
      await send({ method: 'tasks/update', params: { taskId, inputResponses: { [key]: answer } } }, plain);
    } catch (error) {
      ending.abort(error);
    }
  };
  const putNew = (requests: Fields): void => {
    for (const key of asked) if (!Object.hasOwn(requests, key)) asked.delete(key);
    for (const [key, request] of Object.entries(requests)) {
      if (asked.has(key)) continue;
      if ((questions += 1) > mostQuestions)
        throw new Error(`The server still asked for input after ${mostQuestions} questions.`);
      asked.add(key);
      void put(key, request);
    }
  };
  try {
    let seen = task;
    for (;;) {
      const pollMs = Number(seen['pollIntervalMs']) || 1_000;
      await sleep(Math.min(mostPollMs, Math.max(leastPollMs, pollMs)), undefined, { signal });
      seen = await send({ method: 'tasks/get', params: { taskId } }, plain);
      switch (seen['status']) {
        case 'completed':
          return toFields(seen['result']);
        case 'failed':
          throw toTaskError(seen['error']);
        case 'cancelled':
          throw new Error('The task was cancelled. It may have taken effect.');
        case 'input_required':
          putNew(toFields(seen['inputRequests']));
          break;
        default:
          putNew({});
      }
    }
  } catch (error) {
    await cancelTask(taskId, send, exchange);
    throw ending.signal.aborted ? ending.signal.reason : error;
  } finally {
    ending.abort(new Error('The task has ended.'));
  }
}

function toTaskError(error: unknown): ProtocolError {
  const { code, message, data } = toFields(error);
  return new ProtocolError(
    typeof code === 'number' ? code : rpcCodes.internal,
    textOf(message) ?? 'The task failed.',
    data,
  );
}

/** The result of a task of a legacy server. The request for it lasts as long as the task. */
async function awaitLegacyTask(task: Fields, send: SendToServer, exchange: Exchange): Promise<Fields> {
  const taskId = readTaskId(task);
  try {
    return await send({ method: 'tasks/result', params: { taskId } }, { ...exchange, headers: undefined });
  } catch (error) {
    await cancelTask(taskId, send, exchange);
    throw error;
  }
}

function readTaskId({ taskId }: Fields): string {
  if (typeof taskId !== 'string') throw new Error('The server made a task without an id.');
  return taskId;
}

/** Tells the server, if the call was cancelled. */
async function cancelTask(taskId: string, send: SendToServer, exchange: Exchange): Promise<void> {
  if (exchange.signal?.aborted !== true) return;
  const plain = { ...exchange, headers: undefined, signal: undefined };
  await send({ method: 'tasks/cancel', params: { taskId } }, plain).catch(() => undefined);
}

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

/** `_meta` keys that hold the id of a call: ours, and those of known clients. */
const idKeys = ['quittance/callId', 'claudecode/toolUseId', 'callId'] as const;

const isPlain = /^[\w.:-]{1,128}$/;

/** The id under which the call is recorded. Undefined if nothing identifies it. */
function mcpCallId({ meta, sessionId, requestId }: ClientRequest): string | undefined {
  for (const key of idKeys) {
    const given = textOf(meta[key]);
    if (given !== undefined && given !== '') return isPlain.test(given) ? given : `mcp_${shortHash(given)}`;
  }
  if (sessionId === undefined) return undefined;
  return `rpc_${shortHash(sessionId)}_${typeof requestId === 'number' ? requestId : shortHash(requestId)}`;
}

/**
 * `Mcp-Param-*` headers, which repeat arguments for the machines between a client and a server over HTTP. They are made
 * from the arguments that are sent: the client may have none (stdio), and the runtime may have coerced the client's.
 */

const key = 'x-mcp-header';
const isToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const types: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
const deepest = 20;

/** The headers that the input schema of a tool declares, for arguments that are given. */
export function toParamHeaders(inputSchema: unknown, args: unknown): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const visit = (schema: Fields, value: unknown, depth: number): void => {
    const name = schema[key];
    if (depth > 0 && typeof name === 'string' && isToken.test(name) && types.has(schema['type'])) {
      const text = toText(value);
      if (text !== undefined) found[`Mcp-Param-${name}`] = encode(text);
    }
    if (depth === deepest || !isFields(value)) return;
    for (const [property, inner] of Object.entries(toFields(schema['properties'])))
      if (isFields(inner) && Object.hasOwn(value, property)) visit(inner, value[property], depth + 1);
  };
  visit(toFields(inputSchema), args, 0);
  return found;
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  return undefined;
}

/** A text that a header cannot hold as it is, or that looks encoded, is sent in base64. */
function encode(text: string): string {
  const isPlain =
    /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}
