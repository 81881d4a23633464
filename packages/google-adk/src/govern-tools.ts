/** Tools of the Agent Development Kit (`@google/adk`) under Quittance. */
import { checkObject } from 'quittance/internal/base/check-keys';
import type { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, ownValue } from 'quittance/internal/base/json';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { PendingCall, BoundTool } from 'quittance/internal/runtime/turn';
import type { ToolCallInput } from 'quittance/internal/runtime/call-options';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { isTool } from 'quittance/internal/tool/define-tool';
import { quote } from 'quittance/internal/base/nearest';
import type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
import type { Answer } from '@quittance/adapter-kit/internal/answer/answer';
import { toAnswer } from '@quittance/adapter-kit/internal/answer/answer';
import { withSessionCallId } from '@quittance/adapter-kit/internal/run/conversation';
import type { Driver, Run } from '@quittance/adapter-kit/internal/run/driver';
import { createDriver } from '@quittance/adapter-kit/internal/run/driver';
import { notMade } from '@quittance/adapter-kit/internal/answer/fault-messages';
import { reportVersions } from '@quittance/adapter-kit/internal/adopt/tested-versions';
import type { AdkPlugin } from './plugin.ts';
import { createPlugin } from './plugin.ts';
import type { AdkTool, AdkToolContext } from './tool.ts';
import { expandTools, governedMark, readAdkTool, adkToolMark, ungovernedWithin } from './tool.ts';
import type { SendProbe } from '@quittance/adapter-kit/internal/run/self-test';
import { probe, selfTest } from '@quittance/adapter-kit/internal/run/self-test';
import { refuseForeign, refuseNoList } from '@quittance/adapter-kit/internal/adopt/refuse-foreign';
import { readList, callsIn } from '@quittance/google-genai/internal/calls';

/** Options of `governTools`. */
export type AdkOptions = AdapterOptions<AdkToolContext> & {
  /** Session of a call. Default: `appName/userId/id` of the kit's session, so that users share none. */
  readonly session?: (context: AdkToolContext) => string | undefined;
  /** Names of tools to pass through: the provider runs them, or you do not want them governed. */
  readonly ungoverned?: readonly string[];
};

/**
 * A tool of the kit keeps its type. A toolset becomes its tools. A tool made by `defineTool` fits any list of tools.
 */
export type GovernedAdkTool<Tool> = Tool extends AnyTool
  ? never
  : Tool extends { getTools(context?: never): Promise<readonly (infer Made)[]> }
    ? Made
    : Tool;

export type GovernedTools<Tools extends readonly unknown[]> = {
  readonly runtime: Runtime;
  /** For `tools` of agents. Includes `read_artifact`, for large outputs. */
  readonly tools: GovernedAdkTool<Tools[number]>[];
  /**
   * For `plugins` of the runner. It blocks every other tool of every agent, and answers calls of unknown tools, which
   * would otherwise end the run.
   */
  readonly plugin: AdkPlugin;
};

/**
 * Puts tools of the Agent Development Kit under Quittance. Refuses to start if the provider runs a tool, or if a call
 * that policy blocks could run.
 */
export async function governTools<const Tools extends readonly unknown[]>(
  tools: Tools,
  options: AdkOptions = {},
): Promise<GovernedTools<Tools>> {
  checkObject('@quittance/google-adk: governTools', options);
  reportVersions('@quittance/google-adk', options.onTrouble, import.meta.url);
  refuseNoList('@quittance/google-adk', tools);
  await selfTest('@quittance/google-adk', sendProbe(wrap));
  return wrap(tools, options);
}

type Wrap = (
  tools: readonly unknown[],
  options: AdkOptions,
) => Promise<{ readonly tools: readonly unknown[] }>;

/** Sends the probe through a tool that `wrapTools` made. */
const sendProbe =
  (wrapTools: Wrap): SendProbe =>
  async (probeOptions, body) => {
    const given = {
      [adkToolMark]: true,
      name: probe.name,
      description: '',
      isLongRunning: false,
      _getDeclaration: () => ({ name: probe.name, parameters: { type: 'OBJECT' } }),
      runAsync: async () => body(),
      processLlmRequest: async () => undefined,
    };
    const { tools } = await wrapTools([given], { ...probeOptions, session: () => probe.sessionId });
    const session = { id: '', appName: '', userId: '', events: [] };
    const toolContext = {
      functionCallId: probe.callId,
      invocationContext: { invocationId: 'probe', session },
      actions: {},
    };
    // As the kit calls it.
    await (tools[0] as AdkTool).runAsync({ args: {}, toolContext: toolContext as never });
  };

async function wrap<const Tools extends readonly unknown[]>(
  given: Tools,
  { session, ungoverned = [], ...options }: AdkOptions,
): Promise<GovernedTools<Tools>> {
  const expanded = await expandTools(given);
  const left = expanded.filter(({ name }) => ungoverned.includes(name));
  const taken = expanded.filter(({ name }) => !ungoverned.includes(name));
  const adopted = taken.map((tool) => {
    const read = readAdkTool(tool);
    if (read === undefined) throw refuseForeign(tool.name, 'declares no function: the provider runs it');
    const inside = ungovernedWithin(tool).filter((name) => !ungoverned.includes(name));
    if (inside.length > 0)
      throw refuseForeign(
        tool.name,
        `runs an agent with tools that are not governed (${inside.map(quote).join(', ')})`,
      );
    return read;
  });
  const driver = createDriver(adopted, options, ({ invocationContext }) => invocationContext.session.events);
  const makeCall = createCaller(driver, session);
  const own = new Map(taken.map((tool) => [tool.name, tool]));
  const made = driver
    .open({ sessionId: 'none' })
    .turn.tools()
    .map((bound) => toAdkTool(makeCall, bound, own.get(bound.name)));
  return {
    runtime: driver.runtime,
    tools: [...made, ...left] as GovernedTools<Tools>['tools'], // each made from, or taken from, the list
    plugin: createPlugin(new Set(made.map(({ name }) => name)), ungoverned, (name, args, context) =>
      makeCall.make(name, args, context),
    ),
  };
}

type Caller = {
  /** Makes the call through the runtime, with the person's answer; undefined if the run stops for an approval. */
  make(name: string, args: unknown, context: AdkToolContext): Promise<Answer | undefined>;
  /** Was a person asked about this call? */
  isHeld(name: string, context: AdkToolContext | undefined): Promise<boolean>;
};

function createCaller(driver: Driver<AdkToolContext>, session: AdkOptions['session']): Caller {
  const sessionOf = (context: AdkToolContext): string => {
    const { appName, userId, id } = context.invocationContext.session;
    return session?.(context) ?? [appName, userId, id].map(encodeURIComponent).join('/');
  };
  const runOf = (context: AdkToolContext): Run<AdkToolContext> => {
    const sessionId = sessionOf(context);
    const key = JSON.stringify([sessionId, context.invocationContext.invocationId]);
    return driver.runOf(key, () => ({ sessionId }));
  };
  const toRequest = (name: string, args: unknown, context: AdkToolContext): ToolCallInput => {
    const { functionCallId: id, invocationContext } = context;
    if (id === undefined || id === '') throw refuseOutside(name);
    // The runtime denies arguments that are not an object, with a message.
    const request = { id, name, arguments: args as ToolCallInput['arguments'] };
    return withSessionCallId(request, Math.max(0, usesOf(id, invocationContext.session.events) - 1));
  };
  const answerOther = async (
    name: string,
    functionCallId: string,
    context: AdkToolContext,
  ): Promise<Record<string, unknown> | undefined> => {
    const sessionId = sessionOf(context);
    const other = Object.assign(Object.create(context) as AdkToolContext, { functionCallId });
    const { id: callId } = toRequest(name, {}, other);
    const [call] = await driver.runtime.calls.list({ sessionId, callId });
    // The kit itself continues a held call.
    if (call?.settled === undefined || call.confirmation !== undefined) return undefined;
    return toFunctionResponse(await toAnswer(driver.ledger, sessionId, call.settled.outcome));
  };
  const caller: Caller = {
    async make(name, args, context) {
      const request = toRequest(name, args, context);
      const run = runOf(context);
      const signal = context.abortSignal;
      const given = { native: context, ...(signal !== undefined && { signal }) };
      const isLive = context.invocationContext.liveRequestQueue !== undefined;
      const { toolConfirmation: said } = context;
      if (!run.suspends || isLive) return run.call(request, given);
      if (said === undefined) {
        const answer = await run.callOrPending(request, given);
        if (answer.type !== 'pending') return answer;
        await askPerson(driver, run, answer, context);
        return undefined;
      }
      await restoreDroppedAnswers(context, (id) => answerOther(name, id, context));
      const [held] = await driver.runtime.calls.list({ sessionId: run.sessionId, callId: request.id });
      // An answer to another confirmation does not count for this one.
      const about = isJsonObject(said.payload) ? ownValue(said.payload, 'confirmationId') : undefined;
      const isMeant = about === undefined || about === held?.confirmation?.confirmationId;
      if (isMeant && said.confirmed !== true) await run.deny(request.id, undefined, { native: context });
      const answer =
        isMeant && said.confirmed === true
          ? await run.callApproved(request, given)
          : await run.callOrPending(request, given);
      // The kit asks once. An invalid answer leaves the confirmation open, and the call waits for it.
      return answer.type === 'pending' ? run.call(request, given) : answer;
    },
    async isHeld(name, context) {
      if (context?.functionCallId === undefined) return false;
      const { id } = toRequest(name, {}, context);
      const [call] = await driver.runtime.calls.list({ sessionId: sessionOf(context), callId: id });
      return call?.confirmation !== undefined;
    },
  };
  // The kit sends its model what a tool throws.
  return {
    make: (name, args, context) => driver.faults.guard(name, () => caller.make(name, args, context)),
    isHeld: (name, context) => driver.faults.guard(name, () => caller.isHeld(name, context)),
  };
}

/** Number of model messages in the session with this call id, including the current one. */
const usesOf = (id: string, events: readonly object[]): number =>
  events.filter((event) => isMessageOf(event, id)).length;

async function askPerson(
  { runtime }: Driver<AdkToolContext>,
  { sessionId }: Run<AdkToolContext>,
  { callId, confirmationId }: PendingCall,
  context: AdkToolContext,
): Promise<void> {
  const [held] = await runtime.calls.list({ sessionId, callId });
  const asked = confirmationId === undefined ? undefined : held?.confirmation?.description;
  context.requestConfirmation({
    hint: asked ?? 'The call is still running. Answer to check again.',
    payload: { confirmationId: confirmationId ?? null, callId },
  });
  context.actions.skipSummarization = true;
}

function toAdkTool(
  caller: Caller,
  bound: BoundTool,
  given: AdkTool | AnyTool | undefined,
): { readonly name: string } {
  const { name, description, schema } = bound;
  const own = given === undefined || isTool(given) ? undefined : given;
  const declaration = (): object =>
    own?._getDeclaration() ?? { name, description, parametersJsonSchema: { ...schema, type: 'object' } };
  const isLongRunning = own?.isLongRunning === true;
  const tool = {
    [adkToolMark]: true,
    [governedMark]: true,
    name,
    description: own?.description ?? description,
    isLongRunning,
    _getDeclaration: declaration,
    checkRequireConfirmation: (_: unknown, context?: AdkToolContext) => caller.isHeld(name, context),
    async processLlmRequest(request: { readonly llmRequest: LlmRequest }): Promise<void> {
      const { llmRequest } = request;
      if (own === undefined) return offer(llmRequest, tool, declaration());
      // It may add its own instructions. The tool it registers is this one.
      await own.processLlmRequest(request as never);
      for (const [key, found] of Object.entries(llmRequest.toolsDict))
        if (found === own) llmRequest.toolsDict[key] = tool;
    },
    async runAsync({ args, toolContext }: { readonly args: unknown; readonly toolContext: AdkToolContext }) {
      const answer = await caller.make(name, args, toolContext);
      if (answer === undefined) return { status: 'pending' };
      // A long-running tool without a result yet returns nothing.
      return isLongRunning && answer.content === 'null' ? undefined : toFunctionResponse(answer);
    },
  };
  return tool;
}

type LlmRequest = {
  readonly toolsDict: Record<string, unknown>;
  config?: { tools?: { functionDeclarations?: object[] }[] };
};

/** Offers a tool as the kit does. */
function offer(llmRequest: LlmRequest, tool: { readonly name: string }, declaration: object): void {
  llmRequest.toolsDict[tool.name] = tool;
  const tools = ((llmRequest.config ??= {}).tools ??= []);
  const known = tools.find((one) => one.functionDeclarations !== undefined);
  if (known?.functionDeclarations === undefined) tools.push({ functionDeclarations: [declaration] });
  else known.functionDeclarations.push(declaration);
}

/** The tabled content in the kit's format: an object unchanged, any other value under a name. */
function toFunctionResponse({ content, note }: Answer): Record<string, unknown> {
  const answer = JSON.parse(content) as unknown;
  if (note !== undefined) return { output: answer, note };
  if (isJsonObject(answer)) return answer;
  return Array.isArray(answer) ? { results: answer } : { result: answer };
}

const refuseOutside = (name: string): QuittanceError =>
  notMade(
    `The tool ${quote(name)} was called without the id of the call.`,
    `The tool ${quote(name)} was called outside an agent, where a call has no id. In a workflow or a ` +
      'program, call it through the runtime: governed.runtime.turn({ sessionId }).call({ id, name, ' +
      'arguments }).',
    { tool: name },
  );

/**
 * Restores answers that the kit drops. If one call of a message is held, the kit keeps its confirmation and drops the
 * answers of the other calls, which ran. A model that does not see an effect may request it again. When the run
 * continues, these answers are therefore added to the session, from the record.
 */

/** The answer to a call that ended and was never held; undefined for any other call. */
type AnswerOf = (id: string) => Promise<Record<string, unknown> | undefined>;

/** Adds the missing answers of the parallel calls to the session. */
async function restoreDroppedAnswers(context: AdkToolContext, answerOf: AnswerOf): Promise<void> {
  const { session, sessionService } = context.invocationContext;
  const { events } = session;
  const at = events.findLastIndex((event) => isMessageOf(event, context.functionCallId));
  const event = events[at];
  if (event === undefined || sessionService === undefined) return;
  const answered = new Set(events.slice(at).flatMap((later) => responsesIn(later).map((one) => one['id'])));
  const parts: object[] = [];
  for (const call of callsIn(ownValue(event, 'content'))) {
    const [id, name] = [ownValue(call, 'id'), ownValue(call, 'name')];
    if (typeof id !== 'string' || id === context.functionCallId || answered.has(id)) continue;
    const response = await answerOf(id);
    if (response !== undefined) parts.push({ functionResponse: { id, name, response } });
  }
  if (parts.length === 0) return;
  const missing = {
    session,
    event: {
      id: `${String(ownValue(event, 'id'))}.beside`,
      invocationId: context.invocationContext.invocationId,
      author: ownValue(event, 'author'),
      branch: ownValue(event, 'branch'),
      timestamp: ownValue(event, 'timestamp'),
      content: { role: 'user', parts },
      actions: {
        stateDelta: {},
        artifactDelta: {},
        requestedAuthConfigs: {},
        requestedToolConfirmations: {},
      },
      longRunningToolIds: [],
    },
  };
  await sessionService.appendEvent(missing as never); // an event of the kit, with its own fields
}

/** Is it a model message that contains this call? A user's message never is, whatever its content. */
const isMessageOf = (event: object, id: string | undefined): boolean =>
  ownValue(event, 'partial') !== true &&
  ownValue(event, 'author') !== 'user' &&
  callsIn(ownValue(event, 'content')).some((call) => ownValue(call, 'id') === id);

const responsesIn = (event: object): readonly Record<string, unknown>[] =>
  readList(ownValue(event, 'content'), 'parts').flatMap((part) => {
    const response =
      typeof part === 'object' && part !== null ? ownValue(part, 'functionResponse') : undefined;
    return typeof response === 'object' && response !== null ? [response as Record<string, unknown>] : [];
  });
