/**
 * One `tools/call` of a client, made by a runtime.
 *
 * 1. Nothing in the stream approves: an answer of the client decides only if the host allows it for the tool.
 * 2. A held call outlives the request of its client. The client comes back to it by a signed state, a task or its id.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { RequestStateCodec, ServerContext } from '@modelcontextprotocol/server';
import { ProtocolError } from '@modelcontextprotocol/server';
import { digestJson } from '../../base/canonical.ts';
import { isQuittanceError } from '../../base/error.ts';
import { isJsonObject, toJson } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import type { PendingCall } from '../../runtime/turn/await-reply.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { Principal } from '../../tool/tool-context.ts';
import { toCallToolResult } from '../tools/to-call-tool-result.ts';
import type { ApprovalAnswer } from './approvals.ts';
import {
  approvalWayFor,
  isShownWhole,
  readApprovalAnswer,
  toElicitation,
  toOpenResult,
  toPendingResult,
} from './approvals.ts';
import { mayAnswerInClient } from './may-answer-in-client.ts';
import { isCancelled, taskTtlMs, toHeldTask } from './held-task.ts';
import type { McpEra } from './mcp-fetch.ts';

export type Fields = Record<string, unknown>;

/** With it, a client comes back to exactly this call, and its answer is about exactly this question. */
export type CallState = {
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
export type Serving = {
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
export type Asked = { readonly ctx: ServerContext; readonly capabilities: Fields };

type Held = {
  readonly toolName: string;
  readonly digest: string;
  readonly pending: PendingCall;
  readonly outcome: Promise<Fields>;
};

/** Clients give up after about a minute without progress. */
const progressEveryMs = 10_000;
const patienceMs = 45_000;

export async function serveCall(serving: Serving, params: Fields, asked: Asked): Promise<Fields> {
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
export async function checkCall(serving: Serving, callId: unknown): Promise<Fields> {
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
export async function serveTask(
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
export const promisesStructure = ({ output }: AnyTool): boolean => output?.jsonSchema?.['type'] === 'object';

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
