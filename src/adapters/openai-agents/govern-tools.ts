/** Tools of OpenAI Agents JS under Quittance. */
import { QuittanceError } from '../../base/error.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { isTool } from '../../tool/define-tool.ts';
import { quote } from '../../base/nearest.ts';
import { ownValue } from '../../tool/own-value.ts';
import type { AdapterOptions } from '../adopt/adapter-options.ts';
import { AnsweredCalls, withSessionCallId } from '../run/conversation.ts';
import type { Driver } from '../run/driver.ts';
import { createDriver } from '../run/driver.ts';
import { reportVersions } from '../adopt/tested-versions.ts';
import { readItems } from '../openai/items.ts';
import { governedMark, refuseUngovernedAgent } from './find-ungoverned.ts';
import type { OpenAiAgentsMcpServer } from './mcp.ts';
import { listMcpTools } from './mcp.ts';
import { createRejectionFollower } from './rejections.ts';
import { toToolOutput } from './output.ts';
import type { OpenAiAgentsState } from './state.ts';
import { takeApprovals } from './state.ts';
import type {
  FollowedRun,
  OpenAiAgentsCall,
  OpenAiAgentsCallDetails,
  OpenAiAgentsRunContext,
  OpenAiAgentsTool,
  RunOf,
} from './tool.ts';
import { readOpenAiAgentsTool, readToolTimeout } from './tool.ts';
import type { SendProbe } from '../run/self-test.ts';
import { probe, selfTest } from '../run/self-test.ts';
import { refuseNoList } from '../adopt/refuse-foreign.ts';

/** What `governTools` takes beside the tools. */
export type OpenAiAgentsOptions<Context = unknown> = AdapterOptions<OpenAiAgentsCall<Context>> & {
  /** The session a run belongs to, where that is not the `sessionId` of the context given to `run`. */
  readonly session?: (runContext: OpenAiAgentsRunContext<Context>) => string | undefined;
  /**
   * The items the run began with, where they hold calls of the session that were made before. Needed where the provider
   * uses call ids again: the SDK does not show a tool the conversation.
   */
  readonly conversation?: (runContext: OpenAiAgentsRunContext<Context>) => readonly unknown[] | undefined;
  /**
   * Tools to hand on as they are, by name. Any tool that is not a function here is refused unless it is named, and so is
   * a run that could reach an ungoverned tool or MCP server through its agent or through handoffs.
   */
  readonly ungoverned?: readonly string[];
  /** Connected MCP servers, whose tools are governed too. Do not give them to the agents as well. */
  readonly mcpServers?: readonly OpenAiAgentsMcpServer[];
};

/** The same tools, in the same places, and behind them those of MCP servers and `read_artifact`. */
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
   * Call it before a run that stopped for approvals goes on. Takes the answers people gave through the SDK, and tells
   * the SDK which questions have been answered elsewhere; what is still open stops the run again.
   */
  readonly takeApprovals: (state: OpenAiAgentsState) => Promise<void>;
  /**
   * Throws where a run of this agent could reach a tool or an MCP server that is not governed, by itself or through
   * handoffs. Every run with governed tools checks this before each round; call it when your service starts to hear of
   * it then, and for agents without any governed tool.
   */
  readonly checkAgent: (agent: unknown) => void;
};

/**
 * Puts tools of OpenAI Agents JS under Quittance. Refuses to start where a tool is run by somebody else, and where a
 * call that policy blocks could run.
 */
export async function governTools<const Tools extends readonly unknown[], Context = unknown>(
  tools: Tools,
  options: OpenAiAgentsOptions<Context> = {},
): Promise<GovernedTools<Tools>> {
  reportVersions('quittance/openai-agents', options.onTrouble);
  refuseNoList('quittance/openai-agents', tools);
  await selfTest('quittance/openai-agents', sendProbe(wrap));
  // The context is what the host gives the SDK, which passes it on: only the host can say what it is.
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
    const { invoke } = tools[0] as OpenAiAgentsTool; // as any tool that was wrapped
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
  const driver = createDriver([...adopted, ...(await listMcpTools(mcpServers))], {
    ...options,
    overrides: { ...overrides, ...Object.fromEntries(limits) },
  });
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
  // What the model is offered does not depend on the run; this one only lists it, and leaves nothing behind.
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
        // A question holds the item of its call once more.
        .filter(({ type }) => type !== 'tool_approval_item')
        .map(({ rawItem }) => rawItem);
      answered.read(readItems([...(conversation?.(state._context) ?? []), ...made]));
      await takeApprovals(driver, runOf, new Set(wrapped.keys()), state);
    },
    checkAgent,
  };
}

/** What all tools share. */
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
  /** The SDK goes on with a call by the very item, so an item that is known is no later call. */
  const earlierOf = new WeakMap<object, number>();
  const { isEnabled } = own as { isEnabled?: (runContext: unknown, agent: unknown) => unknown };
  return {
    type: 'function',
    name,
    strict: false,
    ...own,
    ...withoutChecks(own),
    [governedMark]: true,
    // The SDK asks this before every round, and says for which agent.
    isEnabled: async (runContext: unknown, agent: unknown): Promise<boolean> => {
      checkAgent(agent);
      return isEnabled === undefined || Boolean(await isEnabled.call(own, runContext, agent));
    },
    // How long a call may take is for the runtime to say.
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
      // The call has its outcome, so going on inside it could not be told to anybody.
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
      // An approval that counts for nothing leaves the question open: then it waits, as it would have without.
      const told = answer.type === 'pending' ? await run.call(request, given) : answer;
      answered.answered(callId, earlier);
      return toToolOutput(told, toolCall?.id);
    },
  };
}

/** What the SDK would check answers by: a denial fits no schema of outputs. The runtime checks outputs by it. */
function withoutChecks(own: object): object {
  const checks = Object.getOwnPropertySymbols(own).filter((key) => typeof ownValue(own, key) === 'function');
  return { outputSchema: undefined, ...Object.fromEntries(checks.map((key) => [key, undefined])) };
}

const anyObject = { type: 'object', properties: {}, required: [], additionalProperties: true };

const neverAsksOurselves = async (): Promise<boolean> => false;

/**
 * What to tell the SDK where it is not to ask anybody. It tells functions that tool() made for tools without approvals
 * from any others: under those, arguments that are no object are answered; under others they stop the run. So one of
 * them is borrowed where there is one. They take no arguments, and never change their mind.
 */
async function findNeverAsks(tools: readonly unknown[]): Promise<() => Promise<boolean>> {
  for (const tool of tools) {
    const asks = isTool(tool) ? undefined : (tool as Partial<OpenAiAgentsTool>).needsApproval;
    if (typeof asks !== 'function' || asks.length > 0) continue;
    const borrowed = asks as () => Promise<boolean>; // it takes nothing
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
    "Nothing says which session this run belongs to. Give it one, run(agent, input, { context: { sessionId: 'thread-1' " +
      '} }), or say where it is found: governTools(tools, { session: ({ context }) => context.threadId }).',
  );
}

function checkCallId(name: string, callId: unknown): string {
  if (typeof callId === 'string' && callId !== '') return callId;
  throw new QuittanceError(
    'config.invalid',
    `The tool ${quote(name)} was called without the id of the call. Have the SDK run it, or pass the id: ` +
      'tool.invoke(runContext, input, { toolCall: { callId, ... } }).',
    { tool: name },
  );
}

const refuseResuming = (name: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The tool ${quote(name)} is an agent that stopped for an approval inside, and as one call it cannot go on. Govern ` +
      `the tools of that agent, and hand the agent on as it is: { ungoverned: [${JSON.stringify(name)}] }.`,
    { tool: name },
  );

const nameOf = (tool: unknown): string =>
  typeof tool === 'object' && tool !== null && 'name' in tool && typeof tool.name === 'string'
    ? tool.name
    : '';

const refuseUngoverned = (name: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The tool ${quote(name)} is no function that runs here: OpenAI runs it, or the SDK by other means, so Quittance ` +
      `cannot. To hand it on all the same, say so: governTools(tools, { ungoverned: [${JSON.stringify(name)}] }).`,
    { tool: name },
  );
