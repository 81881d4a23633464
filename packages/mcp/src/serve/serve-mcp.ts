import { randomBytes, randomUUID, createHash } from 'node:crypto';
import type { RequestStateCodec, ServerContext, Transport } from '@modelcontextprotocol/server';
import {
  createRequestStateCodec,
  fromJsonSchema,
  McpServer,
  ProtocolError,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { checkKeys } from 'quittance/internal/base/check-keys';
import { QuittanceError, isQuittanceError } from 'quittance/internal/base/error';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { Principal } from 'quittance/internal/tool/tool-context';
import { readArtifactResource } from '../tools/artifact-resource.ts';
import {
  toCheckTool,
  approvalWayFor,
  isShownWhole,
  readApprovalAnswer,
  toElicitation,
  toOpenResult,
  toPendingResult,
} from './approvals.ts';
import type { McpEra, McpFetch, McpPeer } from './mcp-fetch.ts';
import { createMcpFetch } from './mcp-fetch.ts';
import { digestJson } from 'quittance/internal/base/canonical';
import { isJsonObject, toJson } from 'quittance/internal/base/json';
import type { Call } from 'quittance/internal/call/call';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import type { PendingCall } from 'quittance/internal/runtime/turn';
import { toCallToolResult } from '../tools/to-call-tool-result.ts';
import type { ApprovalAnswer } from './approvals.ts';
import { mayAnswerInClient } from './may-answer-in-client.ts';
import { isCancelled, taskTtlMs, toHeldTask } from './held-task.ts';

export type ServeMcpOptions = {
  /** Shown to clients. Default: `quittance`. */
  readonly name?: string;
  readonly version?: string;
  /** Told to the model by clients that support it. */
  readonly instructions?: string;
  /** The versions of the protocol, before and since 2026-07-28. Default: both. */
  readonly eras?: readonly McpEra[];
  /** Names under which HTTP clients may address the server. Default: those of this machine. */
  readonly hostnames?: readonly string[];
  /** The session of a client's calls. Default: one for each authenticated client, and `mcp:local` for the others. */
  readonly session?: (peer: McpPeer) => string;
  /** On whose behalf a client calls. */
  readonly principal?: (peer: McpPeer) => Principal | undefined;
  /** The console of this runtime. Held calls then come with a link to their question. */
  readonly consoleUrl?: string | URL;
  /**
   * Lets the person at the client decide about held calls of a tool: the person's name. `rules` are the ids of the rules
   * that ask; it is empty if only the tool's mode asks. Default: undefined for every tool, so the client shows the
   * question, and the decision comes from elsewhere. It is not asked about rules that name their approvers, stages of
   * workflows, possible repeats, and arguments that are too long to be shown whole.
   */
  readonly decidesInClient?: (
    toolName: string,
    peer: McpPeer,
    rules: readonly string[],
  ) => string | undefined;
  /** Larger files of results become a link, in bytes. Default: 4 MiB. */
  readonly mediaLimit?: number;
};

/** The tools of a runtime as an MCP server. */
export type McpServing = {
  /** Serves HTTP: pass it to any server that speaks the Fetch API. Authentication is up to the host. */
  readonly fetch: McpFetch['fetch'];
  /** Serves one client over the standard input and output of this process, or over another transport. */
  readonly stdio: (transport?: Transport) => { readonly close: () => Promise<void> };
  /** Ends all connections. The runtime stays open. */
  readonly close: () => Promise<void>;
};

const anything = fromJsonSchema<Fields>({ type: 'object' });
const tasksExtension = 'io.modelcontextprotocol/tasks';
const knownOptions = [
  'name',
  'version',
  'instructions',
  'eras',
  'hostnames',
  'session',
  'principal',
  'consoleUrl',
  'decidesInClient',
  'mediaLimit',
] as const satisfies readonly (keyof ServeMcpOptions)[];

/** Offers the tools of a runtime to MCP clients. Every call is a call of the runtime, and held calls wait for a person. */
export function serveMcp(runtime: Runtime, options: ServeMcpOptions = {}): McpServing {
  checkKeys('serveMcp', options, knownOptions);
  if (typeof runtime?.turn !== 'function')
    throw new QuittanceError('config.invalid', 'serveMcp expects a runtime, as createRuntime makes it.');
  const { eras, hostnames } = options;
  const codec: RequestStateCodec<CallState> = createRequestStateCodec<CallState>({
    key: randomBytes(32),
    ttlSeconds: 24 * 3_600,
    bind: (ctx) => ctx.http?.authInfo?.clientId ?? '',
  });
  const build = (peer: McpPeer): McpServer => buildServer(runtime, options, codec, peer);
  const http = createMcpFetch({
    build,
    ...(eras !== undefined && { eras }),
    ...(hostnames !== undefined && { hostnames }),
  });
  const open = new Set<{ close(): Promise<void> }>();
  return {
    fetch: http.fetch,
    stdio(transport) {
      const served = serveStdio(({ era }) => build({ era }), {
        legacy: eras?.includes('legacy') === false ? 'reject' : 'serve',
        ...(transport !== undefined && { transport }),
      });
      open.add(served);
      return served;
    },
    async close() {
      await http.close();
      await Promise.all([...open].map((served) => served.close()));
    },
  };
}

/** The SDK checks `Mcp-Param-*` headers against the schemas of this class. */
class RuntimeServer extends McpServer {
  readonly #runtime: Runtime;

  constructor(runtime: Runtime, ...rest: ConstructorParameters<typeof McpServer>) {
    super(...rest);
    this.#runtime = runtime;
  }

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return this.#runtime.tools.find((tool) => tool.name === name)?.input.jsonSchema;
  }
}

function buildServer(
  runtime: Runtime,
  options: ServeMcpOptions,
  codec: RequestStateCodec<CallState>,
  peer: McpPeer,
): McpServer {
  const {
    name = 'quittance',
    version = '0',
    instructions,
    consoleUrl,
    decidesInClient,
    mediaLimit,
  } = options;
  const { era, request, authInfo } = peer;
  const sessionId = options.session?.(peer) ?? `mcp:${authInfo?.clientId ?? 'local'}`;
  const checkTool = runtime.tools.some((tool) => tool.name === 'check_call')
    ? 'quittance_check_call'
    : 'check_call';
  const serving: Serving = {
    runtime,
    sessionId,
    principal: options.principal?.(peer),
    era,
    connectionId: era === 'legacy' ? randomUUID() : undefined,
    codec,
    checkTool,
    mediaLimit,
    linkTo: (confirmationId) =>
      consoleUrl === undefined
        ? undefined
        : new URL(`/confirmations/${encodeURIComponent(confirmationId)}`, consoleUrl).href,
    decidesInClient: (toolName, rules) => decidesInClient?.(toolName, peer, rules),
  };
  const face = new RuntimeServer(
    runtime,
    { name, version },
    {
      capabilities: {
        tools: {},
        resources: {},
        ...(era === 'modern' && { extensions: { [tasksExtension]: {} } }),
      },
      ...(instructions !== undefined && { instructions }),
    },
  );
  const { server } = face;
  server.setRequestHandler('tools/list', () => ({
    tools: [...listTools(runtime, sessionId), toCheckTool(checkTool)] as never, // written as the protocol defines it
  }));
  server.setRequestHandler('resources/list', () => ({ resources: [] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const contents = await readArtifactResource(
      (session, artifactId) => runtime.calls.artifact({ sessionId: session, artifactId }),
      uri,
      (session) => session === sessionId,
    );
    if (contents === undefined) throw new ResourceNotFoundError(uri);
    return { contents: [contents] };
  });
  // The SDK refuses a task as the result of its own handler. With a fallback, unknown methods would look known.
  server.removeRequestHandler('tools/call');
  if ((request?.headers.get('mcp-method') ?? 'tools/call') === 'tools/call' || era === 'legacy')
    server.fallbackRequestHandler = async (sent, ctx) => {
      if (sent.method !== 'tools/call') throw new ProtocolError(-32_601, 'Method not found');
      const params: Fields = { ...sent.params };
      if (params['name'] === checkTool) {
        const { call_id: callId } = { ...(params['arguments'] as Fields | undefined) };
        return checkCall(serving, callId);
      }
      return serveCall(serving, params, { ctx, capabilities: capabilitiesOf(face, ctx) });
    };
  if (era === 'modern')
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      server.setRequestHandler(method, { params: anything, result: anything }, (params, ctx) =>
        serveTask(serving, method, params, ctx),
      );
  return face;
}

/** What the client can do: a modern client says it with each request. */
function capabilitiesOf({ server }: McpServer, { mcpReq }: ServerContext): Fields {
  const envelope: Fields = { ...mcpReq.envelope };
  const declared = envelope['io.modelcontextprotocol/clientCapabilities'] ?? server.getClientCapabilities();
  return { ...(declared as Fields | undefined) };
}

function listTools(runtime: Runtime, sessionId: string): readonly Fields[] {
  const own = new Map(runtime.tools.map((tool) => [tool.name, tool]));
  return runtime
    .turn({ sessionId })
    .tools()
    .map(({ name, description, schema }) => {
      const tool = own.get(name);
      return {
        name,
        ...(tool !== undefined && tool.displayName !== name && { title: tool.displayName }),
        description,
        inputSchema: { ...schema, type: 'object' },
        ...outputSchemaOf(tool),
        annotations: tool === undefined ? { readOnlyHint: true } : annotationsOf(tool),
      };
    });
}

function outputSchemaOf(tool: AnyTool | undefined): Fields {
  return tool !== undefined && promisesStructure(tool) ? { outputSchema: tool.output?.jsonSchema } : {};
}

/** Clients run a tool with `readOnlyHint` unasked, so words in its name are not enough. */
const annotationsOf = ({ mode, surelyReads, idempotent }: AnyTool): Fields => ({
  readOnlyHint: surelyReads,
  ...(!surelyReads && {
    destructiveHint: mode === 'destructive' || mode === 'local',
    idempotentHint: idempotent,
  }),
});

/**
 * One `tools/call` of a client, made by a runtime.
 *
 * 1. Nothing in the stream approves: an answer of the client decides only if the host allows it for the tool.
 * 2. A held call outlives the request of its client. The client comes back to it by a signed state, a task or its id.
 */

type Fields = Record<string, unknown>;

/** With it, a client comes back to exactly this call, and its answer is about exactly this question. */
type CallState = {
  readonly callId: string;
  /** Of the tool and its arguments. */
  readonly digest: string;
  readonly question: ShownQuestion | null;
};

/** The question as the client saw it. */
type ShownQuestion = {
  readonly confirmationId: string;
  readonly inputDigest: string;
  readonly revision?: number;
};

/** The client of a request, and what the host allows it. */
type Serving = {
  readonly runtime: Runtime;
  readonly sessionId: string;
  readonly principal: Principal | undefined;
  readonly era: McpEra;
  /** Unique for the session of a legacy client: its request ids are unique in it. */
  readonly connectionId: string | undefined;
  readonly codec: RequestStateCodec<CallState>;
  readonly checkTool: string;
  readonly mediaLimit: number | undefined;
  readonly linkTo: (confirmationId: string) => string | undefined;
  /** The name of the person who decides in the client about these questions. Undefined: the client does not decide. */
  readonly decidesInClient: (toolName: string, rules: readonly string[]) => string | undefined;
};

/** A request with what its client declared. */
type Asked = { readonly ctx: ServerContext; readonly capabilities: Fields };

type Held = {
  readonly toolName: string;
  readonly digest: string;
  readonly pending: PendingCall;
  readonly outcome: Promise<Fields>;
};

/** Clients give up after about a minute without progress. */
const progressEveryMs = 10_000;
const patienceMs = 45_000;

async function serveCall(serving: Serving, params: Fields, asked: Asked): Promise<Fields> {
  const { runtime, sessionId, principal } = serving;
  const { ctx } = asked;
  const { name: toolName, arguments: given = {} } = params;
  const turn = runtime.turn({ sessionId, ...(principal !== undefined && { principal }) });
  if (typeof toolName !== 'string' || !turn.tools().some(({ name }) => name === toolName))
    throw new ProtocolError(invalidParams, `Unknown tool: ${String(toolName)}`);
  const args = toJson(given);
  if (!args.ok || !isJsonObject(args.value))
    throw new ProtocolError(invalidParams, 'The arguments are not an object.');
  const digest = digestJson([toolName, args.value]);
  const state = await readState(serving, ctx, digest);
  const envelope = { id: state?.callId ?? callIdOf(serving, ctx), name: toolName, arguments: args.value };
  const leaving = new AbortController();
  const leave = (): void => leaving.abort(ctx.mcpReq.signal.reason);
  ctx.mcpReq.signal.addEventListener('abort', leave, { once: true });
  if (ctx.mcpReq.signal.aborted) leave();
  const report = createReporter(ctx);
  const answer = await turn.call(envelope, {
    signal: leaving.signal,
    ...traceOf(ctx),
    onProgress: ({ message }) => report?.(message),
    ifHeld: 'return',
  });
  // A client that goes away cancels a running call. It does not withdraw a question.
  ctx.mcpReq.signal.removeEventListener('abort', leave);
  if (answer.type !== 'pending') return toResult(serving, answer);
  const outcome = turn.call(envelope).then((end) => toResult(serving, end));
  outcome.catch(() => undefined); // the client may not wait for it
  if (answer.confirmationId === undefined) return outcome;
  return awaitDecision(serving, asked, { toolName, digest, pending: answer, outcome }, state, report);
}

/** The trace context that the client sends. The runtime ignores a malformed one. */
function traceOf({ mcpReq }: ServerContext): { readonly traceparent?: string } {
  const { traceparent } = (mcpReq._meta ?? {}) as Fields; // any keys may be in it
  return typeof traceparent === 'string' ? { traceparent } : {};
}

async function awaitDecision(
  serving: Serving,
  { ctx, capabilities }: Asked,
  held: Held,
  state: CallState | undefined,
  report: Report | undefined,
): Promise<Fields> {
  const { era, checkTool } = serving;
  const { pending, outcome, toolName } = held;
  const call = await readCall(serving, pending.callId);
  const { confirmation } = call ?? {};
  // It was decided meanwhile.
  if (call === undefined || confirmation?.status !== 'pending') return outcome;
  const { confirmationId, inputDigest, revision, asks } = confirmation;
  const input = call.effectiveInput ?? call.requestedInput;
  const rules = asks.flatMap(({ by: { type, name } }) => (type === 'rule' ? [name] : []));
  const isForClient = isShownWhole(input) && mayAnswerInClient(asks, () => true);
  const by = isForClient ? serving.decidesInClient(toolName, rules) : undefined;
  const link = serving.linkTo(confirmationId);
  const way = approvalWayFor(era, capabilities, { hasUrl: link !== undefined, inClient: by !== undefined });
  if (way === 'pending') return toPendingResult(pending, checkTool);
  if (way === 'task')
    return toHeldTask(await mint(serving, ctx, held, null), call, { status: 'working' }, 'task');
  const question: ShownQuestion = {
    confirmationId,
    inputDigest,
    ...(revision !== undefined && { revision }),
  };
  const elicitation = toElicitation(way, {
    toolName,
    pending,
    link,
    arguments: input,
    inClient: by !== undefined,
  });
  // A modern client answers the question of its state, a legacy one the question that was just asked.
  const answered = askClient(era, ctx, elicitation, state, outcome, by !== undefined).then(async (said) => {
    if (said.type === 'decide' && by !== undefined)
      await decide(serving, said, by, state?.question ?? question);
    return said;
  });
  answered.catch(() => undefined); // the client may have the pending result by then
  const said = await waitFor(answered, report);
  switch (said?.type) {
    case 'ended':
    case 'decide':
      return outcome;
    case 'unasked':
      return {
        resultType: 'input_required',
        inputRequests: { approval: elicitation },
        requestState: await mint(serving, ctx, held, question),
      };
    case 'leave':
    case undefined:
      return toPendingResult(pending, checkTool);
    case 'wait': {
      const result = await waitFor(outcome, report);
      if (result !== undefined) return result;
      return era === 'legacy'
        ? toPendingResult(pending, checkTool)
        : {
            resultType: 'input_required',
            inputRequests: { approval: elicitation },
            requestState: await mint(serving, ctx, held, question),
          };
    }
  }
}

type Said = ApprovalAnswer | { readonly type: 'ended' | 'unasked' };

async function askClient(
  era: McpEra,
  ctx: ServerContext,
  { params }: ReturnType<typeof toElicitation>,
  state: CallState | undefined,
  outcome: Promise<Fields>,
  inClient: boolean,
): Promise<Said> {
  if (era === 'modern') {
    const answer = ctx.mcpReq.inputResponses?.['approval'];
    return (state?.question ?? null) === null || answer === undefined
      ? { type: 'unasked' }
      : readApprovalAnswer(answer, inClient);
  }
  type Elicited = Parameters<ServerContext['mcpReq']['elicitInput']>[0];
  const asking = ctx.mcpReq
    .elicitInput(params as unknown as Elicited, { timeout: taskTtlMs }) // as the protocol defines it
    .then(
      (answer): Said => readApprovalAnswer(answer, inClient),
      (): Said => ({ type: 'leave' }),
    );
  // A decision from elsewhere ends the wait for the answer.
  return Promise.race([asking, outcome.then((): Said => ({ type: 'ended' }))]);
}

async function decide(
  { runtime }: Serving,
  { decision, reason }: ApprovalAnswer & { type: 'decide' },
  by: string,
  { confirmationId, inputDigest, revision }: ShownQuestion,
): Promise<void> {
  try {
    await runtime.confirmations.decide(confirmationId, {
      decision,
      by,
      inputDigest,
      ...(revision !== undefined && { revision }),
      ...(reason !== undefined && { reason }),
    });
  } catch (error) {
    // Another person was first, or the question has changed. The outcome tells.
    if (!isQuittanceError(error)) throw error;
  }
}

/** Waits for as long as the client does. Undefined if it cannot be kept waiting. */
async function waitFor<Result>(
  waiting: Promise<Result>,
  report: Report | undefined,
): Promise<Result | undefined> {
  const { promise: tired, resolve } = Promise.withResolvers<undefined>();
  const timer =
    report === undefined
      ? setTimeout(() => resolve(undefined), patienceMs)
      : setInterval(() => report('Waiting for an approval.'), progressEveryMs);
  try {
    return await Promise.race([waiting, tired]);
  } finally {
    clearInterval(timer);
  }
}

/** Tells what became of a pending call of this session. */
async function checkCall(serving: Serving, callId: unknown): Promise<Fields> {
  const call = typeof callId === 'string' ? await readCall(serving, callId) : undefined;
  if (call === undefined)
    return {
      content: [{ type: 'text', text: JSON.stringify({ error: 'There is no call with this call_id.' }) }],
      isError: true,
    };
  if (call.settled !== undefined) return toResult(serving, call.settled.outcome);
  return toOpenResult(call, serving.checkTool);
}

/** Serves `tasks/get`, `tasks/update` and `tasks/cancel`. */
async function serveTask(
  serving: Serving,
  method: string,
  params: Fields,
  ctx: ServerContext,
): Promise<Fields> {
  const taskId = String(params['taskId']);
  const state = await serving.codec.verify(taskId, ctx).catch(() => undefined);
  const call = state === undefined ? undefined : await readCall(serving, state.callId);
  if (call === undefined) throw new ProtocolError(invalidParams, 'Unknown task');
  if (method === 'tasks/get') {
    if (call.settled === undefined) return toHeldTask(taskId, call, { status: 'working' });
    if (isCancelled(call.settled.outcome)) return toHeldTask(taskId, call, { status: 'cancelled' });
    const result = await toResult(serving, call.settled.outcome);
    return toHeldTask(taskId, call, { status: 'completed', result: { resultType: 'complete', ...result } });
  }
  if (method === 'tasks/cancel')
    serving.runtime
      .turn({ sessionId: serving.sessionId })
      .cancel(call.callId, 'The client cancelled the task.');
  return {};
}

const readCall = async ({ runtime, sessionId }: Serving, callId: string): Promise<Call | undefined> =>
  (await runtime.calls.list({ sessionId, callId }))[0];

function toResult({ runtime, sessionId, mediaLimit }: Serving, outcome: ToolOutcome): Promise<Fields> {
  const tool = runtime.tools.find(({ name }) => name === outcome.toolName);
  return toCallToolResult(
    (session, artifactId) => runtime.calls.artifact({ sessionId: session, artifactId }),
    sessionId,
    outcome,
    {
      shape: 'value',
      isStructured: tool !== undefined && promisesStructure(tool),
      ...(mediaLimit !== undefined && { mediaLimit }),
    },
  );
}

/** Does the tool promise structured content? Legacy clients accept only objects. */
const promisesStructure = ({ output }: AnyTool): boolean => output?.jsonSchema?.['type'] === 'object';

const mint = (
  { codec }: Serving,
  ctx: ServerContext,
  { pending, digest }: Held,
  question: ShownQuestion | null,
): Promise<string> => codec.mint({ callId: pending.callId, digest, question }, ctx);

async function readState(
  { codec }: Serving,
  ctx: ServerContext,
  digest: string,
): Promise<CallState | undefined> {
  const given: unknown = ctx.mcpReq.requestState();
  if (given === undefined) return undefined;
  const state = typeof given === 'string' ? await codec.verify(given, ctx).catch(() => undefined) : undefined;
  if (state?.digest === digest) return state;
  throw new ProtocolError(invalidParams, 'Invalid or expired requestState', {
    reason: 'invalid_request_state',
  });
}

const invalidParams = -32_602;

/** `_meta` keys that hold the id of a call: ours, and those of known clients. */
const idKeys = ['quittance/callId', 'claudecode/toolUseId', 'callId'];

/** A request that nothing identifies is a new call. The twin guard stops a repeat of a call with an unknown effect. */
function callIdOf({ connectionId }: Serving, { mcpReq }: ServerContext): string {
  const meta: Fields = { ...mcpReq._meta };
  const given = idKeys.map((key) => meta[key]).find((id) => typeof id === 'string' && id !== '');
  if (typeof given === 'string') return /^[\w.:-]{1,128}$/.test(given) ? given : `mcp_${hash(given)}`;
  return connectionId === undefined
    ? `call_${randomUUID()}`
    : `rpc_${hash(`${connectionId} ${typeof mcpReq.id} ${mcpReq.id}`)}`;
}

const hash = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex').slice(0, 24);

type Report = (message: string | undefined) => void;

/** Sends progress, if the client asked for it. */
function createReporter({ mcpReq }: ServerContext): Report | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return (message) => {
    progress += 1;
    const params = { progressToken, progress, ...(message !== undefined && { message }) };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined); // the client may be gone
  };
}
