/** Tools of Mastra under Quittance. */
import { checkObject } from 'quittance/internal/base/check-keys';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { PendingCall, BoundTool } from 'quittance/internal/runtime/turn';
import type { ToolCallInput } from 'quittance/internal/runtime/call-options';
import { isTool } from 'quittance/internal/tool/define-tool';
import { quote } from 'quittance/internal/base/nearest';
import { ownValue, isJsonObject } from 'quittance/internal/base/json';
import type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
import { modelOutput, toOutputOrOutcome } from '@quittance/ai-sdk/internal/output';
import type { Answer } from '@quittance/adapter-kit/internal/answer/answer';
import type { Driver, Run } from '@quittance/adapter-kit/internal/run/driver';
import { createDriver } from '@quittance/adapter-kit/internal/run/driver';
import { reportVersions } from '@quittance/adapter-kit/internal/adopt/tested-versions';
import type { MastraQuestion, MastraAnswer } from './announcements.ts';
import {
  answerShape,
  createAnnouncements,
  openMastraSchema,
  questionShape,
  readMastraAnswer,
} from './announcements.ts';
import type { GovernedMastraTool, MastraAgentContext, MastraContext, MastraTool } from './tool.ts';
import { readMastraTool, suspendsItself, mastraToolMark } from './tool.ts';
import type { SendProbe } from '@quittance/adapter-kit/internal/run/self-test';
import { probe, selfTest } from '@quittance/adapter-kit/internal/run/self-test';
import { notMade } from '@quittance/adapter-kit/internal/answer/fault-messages';
import { refuseForeign, refuseNoRecord } from '@quittance/adapter-kit/internal/adopt/refuse-foreign';
import { readMessages } from '@quittance/ai-sdk/internal/messages';
import {
  AnsweredCalls,
  earlierIn,
  withSessionCallId,
} from '@quittance/adapter-kit/internal/run/conversation';

/** Options of `governTools`. */
export type MastraOptions = AdapterOptions<MastraContext> & {
  /** Session of a call. Default: the thread of the agent's memory, or else the run. */
  readonly session?: (context: MastraContext) => string | undefined;
  /** Names of tools to pass through: the provider or the client runs them, or they suspend themselves. */
  readonly ungoverned?: readonly string[];
};

export type GovernedTools<Tools> = {
  readonly runtime: Runtime;
  /** For the `tools` of agents. Includes `read_artifact`, for large outputs. */
  readonly tools: { [Name in keyof Tools]: GovernedMastraTool<Tools[Name]> };
  /**
   * Their names, for `activeTools`: with it, a model that requests any other tool learns that it does not exist,
   * whatever tools the agent got elsewhere.
   */
  readonly activeTools: string[];
  /**
   * For the config of an agent: `new Agent({ id, model, ...governed.agent })`. Contains the tools, `activeTools`, and
   * a processor. The processor restores governed tools if a toolset, a client tool or another processor has one of
   * the same name.
   */
  readonly agent: {
    readonly tools: GovernedTools<Tools>['tools'];
    readonly inputProcessors: MastraGuard[];
    readonly defaultOptions: { readonly activeTools: string[] };
  };
  /** That processor alone, for agents with their own processors. Put it last. */
  readonly guard: MastraGuard;
};

/** An input processor of Mastra. */
export type MastraGuard = {
  readonly id: string;
  readonly name: string;
  /** Called before every round, with the tools of the round. */
  processInputStep(step: { readonly tools?: Record<string, unknown> | undefined }): {
    tools: Record<string, unknown>;
  };
};

/**
 * Puts tools of Mastra under Quittance. Refuses to start if another party runs a tool, or if a call that policy
 * blocks could run.
 */
export async function governTools<const Tools extends Readonly<Record<string, unknown>>>(
  tools: Tools,
  options: MastraOptions = {},
): Promise<GovernedTools<Tools>> {
  checkObject('@quittance/mastra: governTools', options);
  reportVersions('@quittance/mastra', options.onTrouble, import.meta.url);
  refuseNoRecord('@quittance/mastra', tools);
  await selfTest('@quittance/mastra', sendProbe(wrap));
  return wrap(tools, options);
}

type Wrap = (
  tools: Readonly<Record<string, MastraTool>>,
  options: MastraOptions,
) => Promise<{ readonly tools: Readonly<Record<string, unknown>> }>;

/** Sends the probe through a tool that `wrapTools` made. */
export const sendProbe =
  (wrapTools: Wrap): SendProbe =>
  async (probeOptions, body) => {
    const given = { [mastraToolMark]: true, id: probe.name, description: '', execute: async () => body() };
    const { tools } = await wrapTools({ [probe.name]: given }, probeOptions);
    const wrapped = tools[probe.name] as MastraTool; // like any wrapped tool
    const agent = { toolCallId: probe.callId, messages: [], threadId: probe.sessionId };
    await wrapped.execute?.({} as never, { agent } as never); // as Mastra calls it
  };

async function wrap<const Tools extends Readonly<Record<string, unknown>>>(
  given: Tools,
  { session, ungoverned = [], ...options }: MastraOptions,
): Promise<GovernedTools<Tools>> {
  const governed = Object.entries(given).filter(([name]) => !ungoverned.includes(name));
  const adopted = await Promise.all(
    governed.map(async ([name, tool]) => {
      const read = await readMastraTool(name, tool);
      if (read === undefined)
        throw refuseForeign(name, 'has no execute here: the provider or the client runs it');
      if (suspendsItself(tool)) throw refuseForeign(name, 'suspends itself during a call');
      return read;
    }),
  );
  const driver = createDriver(adopted, options, ({ agent }) => agent?.messages);
  let ticks = 0;
  const clock = (): number => ++ticks;
  const makeCall = createCaller(driver, session, clock);
  // Without a prototype, so that inherited names are not tools.
  const tools = Object.create(null) as Record<string, unknown>;
  for (const [name, tool] of Object.entries(given)) tools[name] = tool;
  const own = new Map<string, unknown>();
  for (const bound of driver.open({ sessionId: 'none' }).turn.tools())
    own.set(bound.name, toMastraTool(driver, makeCall, clock, bound, ownValue(given, bound.name)));
  for (const [name, tool] of own) tools[name] = tool;
  const guard = createGuard(own);
  const governedTools = tools as GovernedTools<Tools>['tools']; // made above, name by name
  const activeTools = Object.keys(tools);
  return {
    runtime: driver.runtime,
    tools: governedTools,
    activeTools,
    guard,
    agent: { tools: governedTools, inputProcessors: [guard], defaultOptions: { activeTools } },
  };
}

/** Mastra merges tools of several sources by name, and the last one wins. This makes the governed one win. */
const createGuard = (governed: ReadonlyMap<string, unknown>): MastraGuard => ({
  id: 'quittance',
  name: 'Quittance',
  processInputStep({ tools = {} }) {
    const own = Object.keys(tools).flatMap((name) =>
      governed.has(name) ? [[name, governed.get(name)]] : [],
    );
    return { tools: { ...tools, ...(Object.fromEntries(own) as Record<string, unknown>) } };
  },
});

function toMastraTool(
  driver: Driver<MastraContext>,
  makeCall: MakeCall,
  clock: () => number,
  { name, description, schema }: BoundTool,
  given: unknown,
): object {
  const own: MastraTool = isTool(given) || given === undefined ? {} : (given as MastraTool); // it was read as one
  const announcements = createAnnouncements(clock);
  const view = own.toModelOutput?.bind(own);
  const toView = view && ((options: { readonly output: never }) => view(options.output));
  const wrapped: MastraTool & { readonly [mastraToolMark]: true; readonly needsApproval: undefined } = {
    [mastraToolMark]: true,
    // Mastra also finds a tool by its id, and then ignores its output format.
    id: name,
    description: own.description ?? description,
    inputSchema: schema === undefined ? own.inputSchema : openMastraSchema(schema),
    parameters: undefined,
    outputSchema: undefined,
    suspendSchema: driver.suspends ? openMastraSchema(questionShape) : undefined,
    resumeSchema: driver.suspends ? openMastraSchema(answerShape) : undefined,
    requireApproval: false,
    needsApprovalFn: undefined,
    needsApproval: undefined,
    onInputAvailable: (options: { readonly toolCallId: string; readonly input: unknown }) => {
      announcements.add(options.toolCallId, options.input);
      return own.onInputAvailable?.(options as never); // the value that Mastra passes
    },
    execute: async (input: unknown, context: MastraContext) => {
      const made = await driver.faults.guard(name, async () => {
        const agent = requireAgent(name, context);
        const { isOfPerson, at } = announcements.take(agent.toolCallId);
        const { sessionId, answer } = await makeCall(
          // The runtime denies arguments that are not an object, with a message.
          { id: agent.toolCallId, name, arguments: input as ToolCallInput['arguments'] },
          context,
          isOfPerson ? readMastraAnswer(agent.resumeData, agent.suspendPayload) : undefined,
          at,
        );
        return answer.type === 'pending'
          ? { question: await toQuestion(driver, sessionId, answer) }
          : { result: toResult(answer, sessionId) };
      });
      // An error by which Mastra stops a run must stay unchanged.
      return 'question' in made ? context.agent?.suspend?.(made.question as never) : made.result;
    },
    toModelOutput: (output: unknown) =>
      modelOutput(
        driver.ledger,
        sessionOf(output),
        () => Promise.resolve(undefined),
        toView,
      )({ toolCallId: '', input: undefined, output }),
  };
  // An instance of the original class, with its other properties.
  return Object.assign(Object.create(Object.getPrototypeOf(own) as object) as object, own, wrapped);
}

/** Mastra treats a missing output as an unfinished call, so there must be one. */
function toResult({ outcome }: Answer, sessionId: string): unknown {
  const output = toOutputOrOutcome(outcome);
  if (output !== outcome) return output ?? outcome;
  // Files are found by their session, and the code that shows the output has only the output.
  return 'files' in outcome && outcome.files?.length ? { ...outcome, sessionId } : outcome;
}

const sessionOf = (output: unknown): string => {
  const found = typeof output === 'object' && output !== null ? ownValue(output, 'sessionId') : undefined;
  return typeof found === 'string' ? found : '';
};

async function toQuestion(
  driver: Driver<MastraContext>,
  sessionId: string,
  { callId, confirmationId }: PendingCall,
): Promise<MastraQuestion> {
  const [held] = await driver.runtime.calls.list({ sessionId, callId });
  return {
    confirmationId: confirmationId ?? null,
    callId,
    toolName: held?.toolName ?? '',
    description:
      (confirmationId === undefined ? undefined : held?.confirmation?.description) ??
      'The call is still running. Resume the run to check again.',
  };
}

function requireAgent(name: string, context: MastraContext | undefined): MastraAgentContext {
  if (context?.agent?.toolCallId) return context.agent;
  throw notMade(
    `The tool ${quote(name)} was called without the id of the call.`,
    `The tool ${quote(name)} was called outside an agent, where a call has no id. In a workflow or a ` +
      'program, call it through the runtime: governed.runtime.turn({ sessionId }).call({ id, name, ' +
      'arguments }).',
    { tool: name },
  );
}

type MakeCall = (
  request: ToolCallInput,
  context: MastraContext,
  answer: MastraAnswer | undefined,
  announcedAt: number | undefined,
) => Promise<Made>;
type Made = { readonly sessionId: string; readonly answer: Answer | PendingCall };

/** The calls that a run has answered, and the time of the last answer for each id. */
type FollowedRun = {
  readonly answered: AnsweredCalls;
  readonly last: Map<string, { readonly at: number; readonly earlier: number }>;
};

/** Makes the call through the runtime, with the person's answer. */
function createCaller(
  driver: Driver<MastraContext>,
  session: ((context: MastraContext) => string | undefined) | undefined,
  clock: () => number,
): MakeCall {
  const runOf = (context: MastraContext): Run<MastraContext> => {
    const sessionId = session?.(context) ?? context.agent?.threadId ?? context.runId;
    if (sessionId === undefined || sessionId === '')
      throw notMade(
        'The run has no session, so the call was not made.',
        "A call has no session. Pass memory: { thread, resource } to the agent's generate or stream, or " +
          'name the session: governTools(tools, { session: (context) => … }).',
      );
    const { runId } = context;
    if (runId === undefined) return driver.open({ sessionId });
    return driver.runOf(JSON.stringify([sessionId, runId]), () => ({ sessionId }));
  };
  const followed = new WeakMap<Run<MastraContext>, FollowedRun>();
  /** Mastra shows a tool the messages from the start of the run, and none of its own. */
  const follow = (run: Run<MastraContext>, messages: unknown): FollowedRun => {
    const known = followed.get(run);
    if (known !== undefined) return known;
    const begun = { answered: new AnsweredCalls(), last: new Map() };
    begun.answered.read(readMessages(messages));
    followed.set(run, begun);
    return begun;
  };
  return async (call, context, answer, announcedAt) => {
    const run = runOf(context);
    const { answered, last } = follow(run, context.agent?.messages);
    const before = last.get(call.id);
    // Mastra announces all calls of a message before it makes them, possibly one by one.
    const isSibling = announcedAt !== undefined && before !== undefined && announcedAt < before.at;
    const earlier =
      suspendedUse(context, call.id) ?? (isSibling ? before.earlier : answered.earlier(call.id));
    const request = withSessionCallId(call, earlier);
    const signal = context.abortSignal;
    const given = { native: context, ...(signal !== undefined && { signal }) };
    const made = async (telling: Promise<Answer | PendingCall>): Promise<Made> => {
      const answer = await telling;
      if (answer.type !== 'pending') {
        answered.answered(call.id, earlier);
        last.set(call.id, { at: clock(), earlier });
      }
      return { sessionId: run.sessionId, answer: answer };
    };
    if (!driver.suspends || context.agent?.suspend === undefined) return made(run.call(request, given));
    if (answer === undefined) return made(run.callOrPending(request, given));
    const [held] = await driver.runtime.calls.list({ sessionId: run.sessionId, callId: request.id });
    const asked = held?.confirmation?.confirmationId;
    // An answer to another confirmation does not count for this one.
    const isMeant = answer.confirmationId === undefined || answer.confirmationId === asked;
    if (isMeant && answer.approved) return made(run.callApproved(request, given));
    if (isMeant) await run.deny(request.id, answer.reason, { native: context });
    return made(run.callOrPending(request, given));
  };
}

/** A resumed run has the id of the call in its suspend payload. */
function suspendedUse({ agent }: MastraContext, id: string): number | undefined {
  const asked = isJsonObject(agent?.suspendPayload) ? ownValue(agent.suspendPayload, 'callId') : undefined;
  return typeof asked === 'string' ? earlierIn(asked, id) : undefined;
}
