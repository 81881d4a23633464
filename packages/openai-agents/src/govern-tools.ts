/** Tools of OpenAI Agents JS under Quittance. */
import { checkObject } from 'quittance/internal/base/check-keys';
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, ownValue } from 'quittance/internal/base/json';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { isTool } from 'quittance/internal/tool/define-tool';
import { quote } from 'quittance/internal/base/nearest';
import type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
import { AnsweredCalls, withSessionCallId } from '@quittance/adapter-kit/internal/run/conversation';
import { createDriver } from '@quittance/adapter-kit/internal/run/driver';
import { reportVersions } from '@quittance/adapter-kit/internal/adopt/tested-versions';
import { readItems } from '@quittance/openai/internal/items';
import { refuseUngovernedAgent, governedMark } from './find-ungoverned.ts';
import type { OpenAiAgentsMcpServer } from './mcp.ts';
import { listMcpTools } from './mcp.ts';
import type { OpenAiAgentsState } from './state.ts';
import { takeApprovals } from './state.ts';
import type {
  FollowedRun,
  OpenAiAgentsCall,
  OpenAiAgentsRunContext,
  OpenAiAgentsTool,
  RunOf,
  OpenAiAgentsCallDetails,
} from './tool.ts';
import { readOpenAiAgentsTool, readToolTimeout } from './tool.ts';
import type { SendProbe } from '@quittance/adapter-kit/internal/run/self-test';
import { probe, selfTest } from '@quittance/adapter-kit/internal/run/self-test';
import { refuseNoList } from '@quittance/adapter-kit/internal/adopt/refuse-foreign';
import type { Driver } from '@quittance/adapter-kit/internal/run/driver';
import { toToolOutput } from './output.ts';

/** Options of `governTools`. */
export type OpenAiAgentsOptions<Context = unknown> = AdapterOptions<OpenAiAgentsCall<Context>> & {
  /** Session of a run. Default: the `sessionId` of the context passed to `run`. */
  readonly session?: (runContext: OpenAiAgentsRunContext<Context>) => string | undefined;
  /**
   * The items at the start of the run, if they contain earlier calls of the session. Needed if the provider reuses
   * call ids, because the SDK does not show a tool the conversation.
   */
  readonly conversation?: (runContext: OpenAiAgentsRunContext<Context>) => readonly unknown[] | undefined;
  /**
   * Names of tools to pass through. A tool that is not a function here is refused unless it is named. A run is
   * refused if its agent or its handoffs can reach another ungoverned tool or MCP server.
   */
  readonly ungoverned?: readonly string[];
  /** Connected MCP servers, whose tools are also governed. Do not give them to the agents too. */
  readonly mcpServers?: readonly OpenAiAgentsMcpServer[];
};

/** The same tools in the same places, followed by those of MCP servers and `read_artifact`. */
export type GovernedOpenAiAgentsTools<Tools extends readonly unknown[]> = [
  ...{ -readonly [Index in keyof Tools]: Tools[Index] extends AnyTool ? OpenAiAgentsTool : Tools[Index] },
  OpenAiAgentsTool,
  ...OpenAiAgentsTool[],
];

export type GovernedTools<Tools extends readonly unknown[]> = {
  readonly runtime: Runtime;
  /** For the `tools` of agents. */
  readonly tools: GovernedOpenAiAgentsTools<Tools>;
  /**
   * Call it before a run that stopped for approvals continues. It processes the answers that people gave through the
   * SDK, and tells the SDK which confirmations were decided elsewhere. Open confirmations stop the run again.
   */
  readonly takeApprovals: (state: OpenAiAgentsState) => Promise<void>;
  /**
   * Throws if a run of this agent could reach an ungoverned tool or MCP server, directly or through handoffs. Every
   * run with governed tools checks this before each round. Call it at the start of your service to find out early,
   * and for agents without governed tools.
   */
  readonly checkAgent: (agent: unknown) => void;
};

/**
 * Puts tools of OpenAI Agents JS under Quittance. Refuses to start if another party runs a tool, or if a call that
 * policy blocks could run.
 */
export async function governTools<const Tools extends readonly unknown[], Context = unknown>(
  tools: Tools,
  options: OpenAiAgentsOptions<Context> = {},
): Promise<GovernedTools<Tools>> {
  checkObject('@quittance/openai-agents: governTools', options);
  reportVersions('@quittance/openai-agents', options.onTrouble, import.meta.url);
  refuseNoList('@quittance/openai-agents', tools);
  await selfTest('@quittance/openai-agents', sendProbe(wrap));
  // The host passes the context through the SDK, so only the host knows its type.
  return wrap(tools, options as OpenAiAgentsOptions);
}

type Wrap = (
  tools: readonly unknown[],
  options: OpenAiAgentsOptions,
) => Promise<{ readonly tools: readonly unknown[] }>;

/** Sends the probe through a tool that `wrapTools` made. */
export const sendProbe =
  (wrapTools: Wrap): SendProbe =>
  async (probeOptions, body) => {
    const given = { type: 'function', name: probe.name, invoke: async () => body() };
    const { tools } = await wrapTools([given], probeOptions);
    const runContext = { context: { sessionId: probe.sessionId } };
    const { invoke } = tools[0] as OpenAiAgentsTool; // like any wrapped tool
    await invoke(runContext as never, '{}', { toolCall: { callId: probe.callId, arguments: '{}' } }); // as the SDK does
  };

async function wrap<const Tools extends readonly unknown[]>(
  given: Tools,
  {
    ungoverned = [],
    mcpServers = [],
    session,
    conversation,
    overrides = {},
    ...options
  }: OpenAiAgentsOptions,
): Promise<GovernedTools<Tools>> {
  const governed = new Map<string, unknown>();
  const adopted = given.flatMap((tool) => {
    const read = ungoverned.includes(nameOf(tool)) ? undefined : readOpenAiAgentsTool(tool);
    if (read !== undefined) governed.set(read.name, tool);
    else if (!ungoverned.includes(nameOf(tool))) throw refuseUngoverned(nameOf(tool));
    return read ?? [];
  });
  const checkAgent = (agent: unknown): void => refuseUngovernedAgent(agent, ungoverned);
  const limits = adopted.flatMap(({ name }) => {
    const tool = governed.get(name);
    const timeoutMs = isTool(tool) ? undefined : readToolTimeout(tool);
    const said = Object.hasOwn(overrides, name) ? overrides[name] : undefined;
    return timeoutMs === undefined ? [] : [[name, { timeoutMs, ...said }] as const];
  });
  const driver = createDriver(
    [...adopted, ...(await listMcpTools(mcpServers))],
    { ...options, overrides: { ...overrides, ...Object.fromEntries(limits) } },
    ({ runContext }) => conversation?.(runContext),
  );
  const followed = new WeakMap<OpenAiAgentsRunContext, FollowedRun>();
  const runOf: RunOf = (runContext) => {
    const known = followed.get(runContext);
    if (known !== undefined) return known;
    const run = driver.runOf(runContext, () => ({ sessionId: findSession(runContext, session) }));
    const answered = new AnsweredCalls();
    answered.read(readItems(conversation?.(runContext) ?? []));
    const begun = { run, answered, asked: new Set<string>() };
    followed.set(runContext, begun);
    return begun;
  };
  const followRejections = createRejectionFollower<OpenAiAgentsRunContext>((runContext, rejection) => {
    const { run, answered } = runOf(runContext);
    const { callId, message } = rejection;
    const { id } = withSessionCallId({ id: callId, name: '', arguments: {} }, answered.earlier(callId));
    run
      .deny(id, message, { native: { callId, runContext } })
      .catch((error: unknown) => driver.faults.forModel(callId, error));
  });
  const neverAsks = await findNeverAsks([...governed.values()]);
  // The offered tools do not depend on the run; this one only lists them and leaves nothing behind.
  const offered = driver.open({ sessionId: 'tools' }).turn.tools();
  const wrapped = new Map(
    offered.map(({ name, description, schema }) => {
      const tool = governed.get(name);
      const own =
        isTool(tool) || tool === undefined
          ? { description, parameters: schema ?? anyObject }
          : (tool as object);
      return [name, toSdkTool({ driver, runOf, neverAsks, checkAgent, followRejections }, name, own)];
    }),
  );
  const places = given.map((tool) => (ungoverned.includes(nameOf(tool)) ? tool : wrapped.get(nameOf(tool))));
  const others = [...wrapped].filter(([name]) => !governed.has(name)).map(([, tool]) => tool);
  return {
    runtime: driver.runtime,
    tools: [...places, ...others] as GovernedTools<Tools>['tools'], // place by place
    async takeApprovals(state) {
      const { answered } = runOf(state._context);
      const made = (state._generatedItems ?? [])
        // A confirmation repeats the item of its call.
        .filter(({ type }) => type !== 'tool_approval_item')
        .map(({ rawItem }) => rawItem);
      answered.read(readItems([...(conversation?.(state._context) ?? []), ...made]));
      await takeApprovals(driver, runOf, new Set(wrapped.keys()), state);
    },
    checkAgent,
  };
}

const anyObject = { type: 'object', properties: {}, required: [], additionalProperties: true };

const neverAsksOurselves = async (): Promise<boolean> => false;

/**
 * The function that tells the SDK not to ask for approval. The SDK treats the default function of tool() specially.
 * With it, arguments that are not an object are answered. With any other, they stop the run. So the default function
 * of a given tool is reused. It takes no arguments and always returns false.
 */
async function findNeverAsks(tools: readonly unknown[]): Promise<() => Promise<boolean>> {
  for (const tool of tools) {
    const asks = isTool(tool) ? undefined : (tool as Partial<OpenAiAgentsTool>).needsApproval;
    if (typeof asks !== 'function' || asks.length > 0) continue;
    const borrowed = asks as () => Promise<boolean>; // it takes no arguments
    if ((await borrowed().catch(() => true)) === false) return borrowed;
  }
  return neverAsksOurselves;
}

function findSession(
  runContext: OpenAiAgentsRunContext,
  session: OpenAiAgentsOptions['session'] = ({ context }) => {
    const named = isJsonObject(context) ? ownValue(context, 'sessionId') : undefined;
    return typeof named === 'string' ? named : undefined;
  },
): string {
  const sessionId = session(runContext);
  if (typeof sessionId === 'string' && sessionId !== '') return sessionId;
  throw new QuittanceError(
    'config.invalid',
    'The session of this run is unknown. Pass one, run(agent, input, { context: { sessionId: ' +
      "'thread-1' } }), or name it: governTools(tools, { session: ({ context }) => context.threadId }).",
  );
}

const nameOf = (tool: unknown): string =>
  typeof tool === 'object' && tool !== null && 'name' in tool && typeof tool.name === 'string'
    ? tool.name
    : '';

const refuseUngoverned = (name: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The tool ${quote(name)} is not a function that runs here: OpenAI runs it, or the SDK by other ` +
      'means, so Quittance cannot run it. To pass it through ungoverned: governTools(tools, { ' +
      `ungoverned: [${JSON.stringify(name)}] }).`,
    { tool: name },
  );

/**
 * Records rejections in a realtime session. The session answers a rejected call itself and calls no function of the
 * tool, so the confirmation would stay open and could still be approved. The session stores a rejection only in its
 * context. This therefore watches `rejectTool` of that context, and of no other object.
 */
type Rejection = { readonly callId: string; readonly message: string | undefined };

/** Follows the rejections of a realtime session, once per session. The context of any other run is unchanged. */
function createRejectionFollower<Context extends object>(
  record: (runContext: Context, rejection: Rejection) => void,
): (runContext: Context) => void {
  const followed = new WeakSet<object>();
  return (runContext) => {
    const reject = Reflect.get(runContext, 'rejectTool') as unknown;
    if (followed.has(runContext) || !isRealtime(runContext) || typeof reject !== 'function') return;
    followed.add(runContext);
    Object.defineProperty(runContext, 'rejectTool', {
      configurable: true,
      writable: true,
      value: (item: unknown, ...more: readonly unknown[]): unknown => {
        const noted = Reflect.apply(reject, runContext, [item, ...more]) as unknown;
        const callId = textAt(valueAt(item, 'rawItem'), 'callId');
        if (callId !== undefined) record(runContext, { callId, message: textAt(more[0], 'message') });
        return noted;
      },
    });
  };
}

/** A realtime session keeps its history in the context. Other runs keep it in their state. */
const isRealtime = (runContext: object): boolean =>
  Array.isArray(valueAt(valueAt(runContext, 'context'), 'history'));

const valueAt = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (Reflect.get(value, key) as unknown) : undefined;

function textAt(value: unknown, key: string): string | undefined {
  const found = valueAt(value, key);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** State shared by all tools. */
type Place = {
  readonly driver: Driver<OpenAiAgentsCall>;
  readonly runOf: RunOf;
  readonly neverAsks: () => Promise<boolean>;
  readonly checkAgent: (agent: unknown) => void;
  readonly followRejections: (runContext: OpenAiAgentsRunContext) => void;
};

function toSdkTool(
  { driver, runOf, neverAsks, checkAgent, followRejections }: Place,
  name: string,
  own: object,
): object {
  /** The SDK continues a call with the same item object, so a known item is not a later call. */
  const earlierOf = new WeakMap<object, number>();
  const { isEnabled } = own as { isEnabled?: (runContext: unknown, agent: unknown) => unknown };
  return {
    type: 'function',
    name,
    strict: false,
    ...own,
    ...withoutChecks(own),
    [governedMark]: true,
    // The SDK calls this before every round, with the agent.
    isEnabled: async (runContext: unknown, agent: unknown): Promise<boolean> => {
      checkAgent(agent);
      return isEnabled === undefined || Boolean(await isEnabled.call(own, runContext, agent));
    },
    // The runtime enforces the timeout.
    timeoutMs: undefined,
    needsApproval: driver.suspends
      ? async (runContext: OpenAiAgentsRunContext, args: Readonly<Record<string, unknown>>, id?: string) => {
          const callId = checkCallId(name, id);
          const { run, answered, asked } = runOf(runContext);
          const request = withSessionCallId({ id: callId, name, arguments: args }, answered.earlier(callId));
          const question = await run.ask(request, { native: { callId, runContext } });
          if (question === undefined) return false;
          asked.add(request.id);
          followRejections(runContext);
          return true;
        }
      : neverAsks,
    async invoke(runContext: OpenAiAgentsRunContext, input: string, details: OpenAiAgentsCallDetails = {}) {
      const callId = checkCallId(name, details.toolCall?.callId);
      // The call has its outcome, so continuing inside it would have no effect.
      if (details.resumeState !== undefined) throw refuseResuming(name);
      const { run, answered, asked } = runOf(runContext);
      const { signal, toolCall } = details;
      const earlier = (toolCall && earlierOf.get(toolCall)) ?? answered.earlier(callId);
      if (toolCall !== undefined) earlierOf.set(toolCall, earlier);
      const request = withSessionCallId({ id: callId, name, arguments: input }, earlier);
      const given = { native: { callId, runContext, details }, ...(signal !== undefined && { signal }) };
      const isApproved =
        driver.suspends &&
        (earlier === 0 || asked.has(request.id)) &&
        runContext.isToolApproved({ toolName: name, callId }) === true;
      const answer = await (isApproved ? run.callApproved(request, given) : run.call(request, given));
      // An invalid approval leaves the confirmation open, so the call waits as it would without it.
      const final = answer.type === 'pending' ? await run.call(request, given) : answer;
      answered.answered(callId, earlier);
      return toToolOutput(final, toolCall?.id);
    },
  };
}

/** Removes the SDK's output checks, because a denial matches no output schema. The runtime checks outputs. */
function withoutChecks(own: object): object {
  const checks = Object.getOwnPropertySymbols(own).filter((key) => typeof ownValue(own, key) === 'function');
  return { outputSchema: undefined, ...Object.fromEntries(checks.map((key) => [key, undefined])) };
}

function checkCallId(name: string, callId: unknown): string {
  if (typeof callId === 'string' && callId !== '') return callId;
  throw new QuittanceError(
    'config.invalid',
    `The tool ${quote(name)} was called without the id of the call. Let the SDK run it, or pass the ` +
      'id: tool.invoke(runContext, input, { toolCall: { callId, ... } }).',
    { tool: name },
  );
}

const refuseResuming = (name: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The tool ${quote(name)} is an agent that stopped for an approval inside, and a single call ` +
      `cannot resume it. Govern the tools of that agent, and pass the agent through: { ungoverned: [${JSON.stringify(name)}] ` +
      '}.',
    { tool: name },
  );
