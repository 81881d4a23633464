/** Tools of LangChain and LangGraph under Quittance. */
import { checkObject } from 'quittance/internal/base/check-keys';
import { AsyncLocalStorage } from 'node:async_hooks';
import { QuittanceError } from 'quittance/internal/base/error';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { quote } from 'quittance/internal/base/nearest';
import type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
import { withSessionCallId, earlierUses } from '@quittance/adapter-kit/internal/run/conversation';
import type { Driver, Run } from '@quittance/adapter-kit/internal/run/driver';
import { createDriver } from '@quittance/adapter-kit/internal/run/driver';
import { reportVersions } from '@quittance/adapter-kit/internal/adopt/tested-versions';
import type { LangChainCall, LangChainConfig } from './call.ts';
import type { Shelf } from './interrupt.ts';
import { callOrInterrupt, checkCanStop } from './interrupt.ts';
import type { InterruptOn, LangChainInterruptOn } from './interrupt-on.ts';
import { readInterruptOn } from './interrupt-on.ts';
import { InnerTools } from './inner-tools.ts';
import { isInterrupt, toContent, isMarked, readToolOutput } from './output.ts';
import type { LangChainTool, LangChainToolClass, ToolFields, ToolInstance } from './tool.ts';
import { findToolClass, readLangChainTool } from './tool.ts';
import { probe, selfTest } from '@quittance/adapter-kit/internal/run/self-test';
import { notMade } from '@quittance/adapter-kit/internal/answer/fault-messages';
import { refuseNoList } from '@quittance/adapter-kit/internal/adopt/refuse-foreign';
import { isJsonObject } from 'quittance/internal/base/json';
import type { ConversationStep } from '@quittance/adapter-kit/internal/run/conversation';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import type { FaultMessages } from '@quittance/adapter-kit/internal/answer/fault-messages';

/** Options of `governTools`. */
export type LangChainOptions = AdapterOptions<LangChainConfig> & {
  /** Session of a call. Default: the `thread_id` of the run. */
  readonly session?: (config: LangChainConfig) => string | undefined;
  /** Tools that need approval, in the format of humanInTheLoopMiddleware. That middleware is then not needed. */
  readonly interruptOn?: LangChainInterruptOn;
  /** Tools to pass through that the provider or the client runs. Any other such tool is refused. */
  readonly ungoverned?: readonly string[];
  /**
   * Names of tools that the agent gets from middleware, such as `write_file` of deepagents: `wrapToolCall` has their
   * calls judged, held and recorded. Needs that middleware.
   */
  readonly middlewareTools?: readonly string[];
  /**
   * The class `StructuredTool` of `@langchain/core/tools`. Needed if none of the tools comes from LangChain, for example
   * if all are made by `defineTool` or `governMcp`.
   */
  readonly toolClass?: { readonly prototype: object };
};

export type GovernedTools<Tools extends readonly unknown[]> = {
  readonly runtime: Runtime;
  /** For `createAgent`, a `ToolNode`, or your own loop. Includes `read_artifact`, for large outputs. */
  readonly tools: Exclude<Tools[number], AnyTool>[];
  /**
   * For `createMiddleware`: records calls of unknown tools, and refuses tools that the agent got elsewhere. The tools
   * are governed with or without it.
   */
  readonly wrapToolCall: <Message>(
    request: LangChainToolCallRequest,
    handler: (request: never) => Message | Promise<Message>,
  ) => Promise<Message>;
};

/** The argument of `wrapToolCall`. */
export type LangChainToolCallRequest = {
  readonly toolCall: { readonly id?: string; readonly name: string; readonly args: unknown };
  readonly tool?: unknown;
  readonly state?: unknown;
  readonly runtime?: unknown;
};

/**
 * Puts tools of LangChain under Quittance. Refuses to start if another party runs a tool, or if a call that policy
 * blocks could run.
 */
export async function governTools<
  const Tools extends readonly (LangChainTool | AnyTool | Readonly<Record<string, unknown>>)[],
>(tools: Tools, options: LangChainOptions = {}): Promise<GovernedTools<Tools>> {
  checkObject('@quittance/langchain: governTools', options);
  reportVersions('@quittance/langchain', options.onTrouble, import.meta.url);
  refuseNoList('@quittance/langchain', tools);
  if (tools.length === 0 && options.middlewareTools === undefined) return governNothing(options);
  const { toolClass } = options;
  const example: unknown = toolClass && Object.create(toolClass.prototype);
  const Base = findToolClass(example === undefined ? tools : [...tools, example]);
  await selfTest('@quittance/langchain', async (probeOptions, body) => {
    const tool = Object.assign(new Base({}), { name: probe.name, schema: { type: 'object' }, _call: body });
    const [tested] = wrap([tool], Base, probeOptions).tools;
    const config = { configurable: { thread_id: probe.sessionId } };
    // As a tool node does.
    await tested?.invoke({ id: probe.callId, name: probe.name, args: {}, type: 'tool_call' }, config);
  });
  return wrap(tools, Base, options);
}

/** An agent without tools: the framework answers calls of invented tools. */
function governNothing<Tools extends readonly unknown[]>({
  session: _session,
  interruptOn: _interruptOn,
  ungoverned: _ungoverned,
  middlewareTools: _middlewareTools,
  toolClass: _toolClass,
  principal: _principal,
  attrs: _attrs,
  approver: _approver,
  ...options
}: LangChainOptions): GovernedTools<Tools> {
  return {
    runtime: createDriver([], options).runtime,
    tools: [] as never, // the same number as given
    async wrapToolCall(request, handler) {
      if (request.tool !== undefined) throw refuseStranger(request.toolCall.name);
      return handler(request as never);
    },
  };
}

function wrap<Tools extends readonly unknown[]>(
  given: Tools,
  Base: LangChainToolClass,
  {
    session,
    interruptOn = {},
    ungoverned = [],
    middlewareTools = [],
    toolClass: _toolClass,
    principal,
    attrs,
    approver,
    ...options
  }: LangChainOptions,
): GovernedTools<Tools> {
  const elsewhere = new MiddlewareTools();
  const inner = new InnerTools();
  const asking = readInterruptOn(interruptOn);
  const read = given.map((tool) => [tool, readLangChainTool(tool, Base, asking)] as const);
  const handedOn = read.flatMap(([tool, adopted]) => (adopted === undefined ? [tool] : []));
  for (const tool of handedOn) if (!ungoverned.includes(nameOf(tool))) throw refuseUngoverned(nameOf(tool));
  const kept = read.filter(([tool]) => !ungoverned.includes(nameOf(tool)));
  const driver = createDriver<LangChainCall>(
    [
      ...kept.flatMap(([, adopted]) => adopted ?? []),
      ...middlewareTools.map((name) => elsewhere.adopt(name)),
    ],
    {
      ...options,
      principal: ({ config }) => principal?.(config),
      attrs: ({ config }) => attrs?.(config),
      ...(approver !== undefined && {
        approver: typeof approver === 'function' ? ({ config }: LangChainCall) => approver(config) : approver,
      }),
    },
    ({ config }) => messagesOf(config.state),
  );
  const originals = new Map(kept.map(([tool]) => [nameOf(tool), tool]));
  const makeTool = createToolMaker(Base, createCaller(driver, asking, session), driver.faults, inner);
  const tools = driver
    .open({ sessionId: 'none' })
    .turn.tools()
    .filter(({ name }) => !middlewareTools.includes(name))
    .map(({ name, description, schema }) => {
      const original = originals.get(name);
      return makeTool({ name, description, schema: schema ?? schemaOf(original), original });
    });
  const own = new Set<unknown>(tools);
  return {
    runtime: driver.runtime,
    // Each was made in place of one of them, by their common class.
    tools: [...tools, ...given.filter((tool) => ungoverned.includes(nameOf(tool)))] as never,
    async wrapToolCall(request, handler) {
      const { toolCall, tool, state, runtime } = request;
      if (own.has(tool) || ungoverned.includes(toolCall.name))
        return inner.starting(toolCall, 'governed tool', () => handler(request as never));
      const isElsewhere = middlewareTools.includes(toolCall.name);
      if (tool !== undefined && !isElsewhere) throw refuseStranger(toolCall.name);
      const judged = makeTool({ name: toolCall.name, description: '', schema: {}, original: undefined });
      const config = { ...(runtime as object | undefined), state };
      const make = (): Promise<unknown> => judged.invoke({ ...toolCall, type: 'tool_call' }, config);
      if (!isElsewhere) return (await make()) as never; // a tool returns the result of its handler
      const handle = (args: unknown): unknown =>
        inner.starting(toolCall, 'middleware', () =>
          handler({ ...request, tool: inner.watch(tool), toolCall: { ...toolCall, args } } as never),
        );
      return (await elsewhere.call(handle, make, toolCall.id)) as never;
    },
  };
}

/** The function of every governed tool: makes the call through the runtime. */
function createCaller(
  driver: Driver<LangChainCall>,
  interruptOn: InterruptOn,
  session: LangChainOptions['session'],
): MakeToolCall {
  const shelves = new WeakMap<Run<LangChainCall>, Shelf>();
  const runOf = createRunFinder(driver);
  const make: MakeToolCall = async ({ id, name, args }, config, runManager) => {
    const run = runOf(readSession(config, session), config);
    const native: LangChainCall = {
      config,
      runManager,
      inPlace: AsyncLocalStorage.snapshot(),
      artifact: undefined,
    };
    const request = withSessionCallId(
      // The runtime denies arguments that are not an object, with a message.
      { id, name, arguments: args as Record<string, unknown> },
      timesUsedInState(config.state, id),
    );
    const { signal } = config;
    const given = { native, ...(signal !== undefined && { signal }) };
    let shelf = shelves.get(run);
    if (shelf === undefined) shelves.set(run, (shelf = new Map()));
    if (driver.suspends) checkCanStop(config);
    const answer = driver.suspends
      ? await callOrInterrupt({ runtime: driver.runtime, interruptOn, run, shelf }, request, given)
      : await run.call(request, given);
    const isSuccess = answer.outcome.type === 'ToolExecutionResult';
    return {
      content: toContent(answer),
      artifact: isSuccess ? native.artifact : undefined,
      isError: answer.isError,
    };
  };
  return async (...call) => {
    try {
      return await make(...call);
    } catch (error) {
      // LangGraph stops a run by throwing. It may send any other error to its model.
      throw isInterrupt(error) ? error : driver.faults.forModel(call[0].name, error);
    }
  };
}

/**
 * A run is one invocation of an agent or a graph for one message. LangGraph passes a handle on it since 1.4, which a
 * host may share among several. Before that, a resumed run counts as the run that stopped.
 */
function createRunFinder(
  driver: Driver<LangChainCall>,
): (sessionId: string, config: LangChainConfig) => Run<LangChainCall> {
  const numbers = new WeakMap<object, number>();
  let count = 0;
  return (sessionId, { control, state, metadata }) => {
    if (control !== undefined && !numbers.has(control)) numbers.set(control, ++count);
    const number = control && numbers.get(control);
    // Without a message, only the step of the graph identifies the run.
    const about = lastAsked(state) ?? (number === undefined ? metadata?.['langgraph_checkpoint_ns'] : '');
    if (typeof about !== 'string') return driver.open({ sessionId });
    return driver.runOf(JSON.stringify([sessionId, number, about]), () => ({ sessionId }));
  };
}

function readSession(config: LangChainConfig, session: LangChainOptions['session']): string {
  const sessionId: unknown = session?.(config) ?? config.configurable?.['thread_id'];
  if (typeof sessionId === 'string' && sessionId !== '') return sessionId;
  throw notMade(
    'The run has no session, so the call was not made.',
    'The run has no thread, so the call has no session. Invoke the agent or the graph with { ' +
      'configurable: { thread_id } }, or give governTools a `session` that finds one in the config.',
  );
}

function nameOf(tool: unknown): string {
  if (typeof tool !== 'object' || tool === null) return String(tool);
  const { name, type } = tool as { readonly name?: unknown; readonly type?: unknown };
  return [name, type].find((word) => typeof word === 'string') ?? 'without a name';
}

const schemaOf = (tool: unknown): unknown =>
  typeof tool === 'object' && tool !== null && 'schema' in tool ? tool.schema : { type: 'object' };

const refuseUngoverned = (name: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The tool ${quote(name)} has no function here: the provider or the client runs it, so Quittance ` +
      `cannot run it. To pass it through ungoverned: governTools(tools, { ungoverned: [${JSON.stringify(name)}] ` +
      '}).',
    { tool: name },
  );

const refuseStranger = (name: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The agent has a tool ${quote(name)} that was not passed to governTools, so its calls would not ` +
      `be governed. Pass it to governTools, or allow it: governTools(tools, { ungoverned: [${JSON.stringify(name)}] ` +
      '}).',
    { tool: name },
  );

/** Reads the calls in the messages of a graph. A client may have written them, so nothing here is trusted. */

type Message = {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: unknown;
};

function messagesOf(state: unknown): readonly Message[] {
  const held: unknown =
    typeof state === 'object' && state !== null && 'messages' in state ? state.messages : state;
  if (!Array.isArray(held)) return [];
  return held.filter((message): message is Message => typeof message === 'object' && message !== null);
}

/** Number of earlier assistant messages that contain this id. */
const timesUsedInState = (state: unknown, toolCallId: string): number =>
  earlierUses(messagesOf(state).map(toSaid), toolCallId);

function toSaid({ type, tool_calls: calls, tool_call_id: id }: Message): ConversationStep {
  if (type === 'tool' && typeof id === 'string') return { type: 'answer', id };
  const ids = (type === 'ai' && Array.isArray(calls) ? (calls as readonly unknown[]) : []).flatMap((call) =>
    isJsonObject(call) && typeof call['id'] === 'string' ? [call['id']] : [],
  );
  return ids.length === 0 ? { type: 'other' } : { type: 'calls', ids };
}

/** The message that the run answers. */
function lastAsked(state: unknown): string | undefined {
  const id = messagesOf(state).findLast(({ type }) => type === 'human')?.id;
  return typeof id === 'string' ? id : undefined;
}

/**
 * Tools that a LangChain agent gets from middleware, such as the file tools of deepagents, judged and recorded by
 * `wrapToolCall`. The call is made like any other; the framework's handler is its function.
 */

/** One call of the framework: runs the tool with the allowed arguments. */
type Handling = { readonly handle: (args: unknown) => unknown; result: unknown };

class MiddlewareTools {
  readonly #handling = new AsyncLocalStorage<Handling>();

  /** The tool for the runtime. */
  adopt(name: string): AdoptedTool<LangChainCall> {
    return {
      name,
      run: async (args, native, context) => {
        const handling = native?.inPlace(() => this.#handling.getStore());
        if (native === undefined || handling === undefined) throw refuseAlone(name);
        const result = await native.inPlace(() => handling.handle(args));
        const { output } = await readToolOutput(messageIn(result, context.callId), {}, context);
        handling.result = result;
        return output;
      },
    };
  }

  /**
   * Makes the call and returns the framework's result: the message of the governed tool. If the tool returned a
   * Command and succeeded, it returns that, with the message in it.
   */
  async call(
    handle: (args: unknown) => unknown,
    make: () => Promise<unknown>,
    toolCallId: string | undefined,
  ): Promise<unknown> {
    const handling: Handling = { handle, result: undefined };
    const message = await this.#handling.run(handling, make);
    const { result } = handling;
    const isError = isJsonObject(message) && message['status'] === 'error';
    return isError || !isCommand(result) ? message : withMessage(result, message, toolCallId);
  }
}

type Command = { readonly [key: string]: unknown; readonly update?: unknown };

const isCommand = (value: unknown): value is Command => isMarked(value, 'lg_name', 'Command');

const messagesOfState = ({ update }: Command): readonly unknown[] =>
  isJsonObject(update) && Array.isArray(update['messages']) ? (update['messages'] as unknown[]) : [];

const isAnswerTo = (message: unknown, toolCallId: string | undefined): boolean =>
  isMarked(message, 'tool_call_id', toolCallId);

/** The text for the model: the message itself, or the one in a Command. */
function messageIn(result: unknown, callId: string): unknown {
  if (!isCommand(result)) return result;
  const messages = messagesOfState(result);
  // The recorded id may distinguish repeated ids; then the only message is the right one.
  return messages.find((message) => isAnswerTo(message, callId)) ?? messages.at(-1) ?? null;
}

function withMessage(command: Command, message: unknown, toolCallId: string | undefined): unknown {
  const others = messagesOfState(command).filter((one) => !isAnswerTo(one, toolCallId));
  const update = { ...(isJsonObject(command.update) ? command.update : {}), messages: [...others, message] };
  const copy = Object.create(
    Object.getPrototypeOf(command) as object,
    Object.getOwnPropertyDescriptors(command),
  );
  return Object.assign(copy as object, { update });
}

const refuseAlone = (name: string): ToolError =>
  new ToolError(
    'tool.execution_error',
    `Middleware of the agent runs the tool ${quote(name)}, and no run of the agent has requested this ` +
      'call. Run the agent again in its thread.',
    { retryable: true, problem: 'The agent that runs this tool was not available. Nothing ran.' },
  );

/** LangChain tools that only call the runtime. */

/** The properties of a tool for the framework and the model. */
type ShownTool = {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  /** The replaced tool, if it is one of the framework. */
  readonly original: unknown;
};

/** The result of a call, as a tool message holds it. */
type ToolAnswer = {
  readonly content: unknown;
  readonly artifact: unknown;
  readonly isError: boolean;
};

type MakeToolCall = (
  call: { readonly id: string; readonly name: string; readonly args: unknown },
  config: LangChainConfig,
  runManager: unknown,
) => Promise<ToolAnswer>;

/** Makes tools of the framework whose only function is `make`. */
function createToolMaker(
  Base: LangChainToolClass,
  make: MakeToolCall,
  faults: FaultMessages,
  inner: InnerTools,
): (shown: ShownTool) => ToolInstance {
  class GovernedTool extends Base {
    static lc_name(): string {
      return 'DynamicStructuredTool';
    }

    override async call(args: unknown, given?: unknown, tags?: unknown): Promise<unknown> {
      const config = (given ?? {}) as LangChainConfig; // as made by the framework's `invoke`
      const { toolCall } = config;
      const id = toolCall?.id;
      // A tool that passes its config on also passes its own call.
      if (typeof id !== 'string' || id === '' || toolCall?.name !== this.name)
        throw faults.forModel(this.name, refuseBareInput(this.name));
      let isError = false;
      const once = Object.create(this, {
        // The model reads the schema. Here it accepts everything: the runtime checks and coerces the arguments.
        schema: { value: {} },
        _call: {
          value: async (_: unknown, runManager: unknown, runConfig: LangChainConfig) => {
            const answer = await make({ id, name: this.name, args }, runConfig, runManager);
            isError = answer.isError;
            return [answer.content, answer.artifact];
          },
        },
      }) as this;
      const message = await inner.starting({ id, name: this.name }, 'governed tool', () =>
        super.call.call(once, args, { runName: this.name, ...config }, tags),
      );
      return Object.assign(message as object, { tool_call_id: id, status: isError ? 'error' : 'success' });
    }
  }
  return ({ name, description, schema, original }) => {
    const own: ToolFields = typeof original === 'object' && original !== null ? { ...original } : {};
    const fields = Object.fromEntries(
      ['callbacks', 'defaultConfig', 'extras', 'metadata', 'tags', 'verbose'].map((key) => [key, own[key]]),
    );
    return Object.assign(new GovernedTool({ ...fields, responseFormat: 'content_and_artifact' }), {
      name,
      description,
      schema,
      returnDirect: own['returnDirect'] === true,
    });
  };
}

const refuseBareInput = (name: string): QuittanceError =>
  notMade(
    `The tool ${quote(name)} was called without the id of the call.`,
    `The tool ${quote(name)} was invoked without the id of a call, so the same call could run twice. ` +
      "Invoke it with the model's tool call, unchanged: tool.invoke(message.tool_calls[0], config).",
    { tool: name },
  );
