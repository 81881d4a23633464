/** Tools of the Vercel AI SDK, versions 6 and 7, under Quittance. */
import { checkObject } from 'quittance/internal/base/check-keys';
import { QuittanceError } from 'quittance/internal/base/error';
import type { Confirmation } from 'quittance/internal/call/call';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { ToolCallInput, TurnOptions } from 'quittance/internal/runtime/call-options';
import type { BoundTool, Turn } from 'quittance/internal/runtime/turn';
import { isTool } from 'quittance/internal/tool/define-tool';
import { quote } from 'quittance/internal/base/nearest';
import { ownValue } from 'quittance/internal/base/json';
import type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
import type { ApprovalResponse } from './messages.ts';
import { approvalResponses, refuseNoMessages, timesUsed } from './messages.ts';
import type { FindOutcome } from './output.ts';
import { modelOutput, rememberOutcomes, toOutput } from './output.ts';
import type { AiSdkCallOptions, AiSdkTool, GovernedAiSdkTool } from './tool.ts';
import { openSchema, readAiSdkTool } from './tool.ts';
import { withSessionCallId } from '@quittance/adapter-kit/internal/run/conversation';
import type { Driver, Run } from '@quittance/adapter-kit/internal/run/driver';
import { createDriver } from '@quittance/adapter-kit/internal/run/driver';
import { notMade } from '@quittance/adapter-kit/internal/answer/fault-messages';
import { reportVersions } from '@quittance/adapter-kit/internal/adopt/tested-versions';
import type { SendProbe } from '@quittance/adapter-kit/internal/run/self-test';
import { probe, selfTest } from '@quittance/adapter-kit/internal/run/self-test';
import { refuseNoRecord } from '@quittance/adapter-kit/internal/adopt/refuse-foreign';

/** Options of `governTools`. */
export type AiSdkOptions = AdapterOptions<AiSdkCallOptions> & {
  /** Tools to pass through that the provider or the client runs. Any other such tool is refused. */
  readonly ungoverned?: readonly string[];
};

/** The tools of one run, for `generateText`, `streamText` or an agent. */
export type AiSdkRun<Tools> = {
  readonly turn: Turn;
  readonly tools: { [Name in keyof Tools]: GovernedAiSdkTool<Tools[Name]> };
  /** For version 7: stops the run if a call needs approval, and says what for. Version 6 asks the tools. */
  readonly toolApproval: (call: AiSdkApprovalCall) => Promise<AiSdkApprovalStatus>;
  /**
   * Processes the answers that people gave through the SDK, from model messages or from the UI messages of a page.
   * Denials are recorded here, before the run continues, because the SDK never asks a tool about them. Approvals are
   * processed when the tool runs. Throws for any other value, and if a denial cannot be recorded.
   */
  readonly takeApprovals: (messages: readonly unknown[]) => Promise<void>;
};

/** The call that version 7 passes to `toolApproval`. */
export type AiSdkApprovalCall = {
  readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input?: unknown };
  readonly messages?: readonly unknown[];
};
export type AiSdkApprovalStatus = undefined | { type: 'user-approval' | 'denied'; reason: string };

export type GovernedTools<Tools> = {
  readonly runtime: Runtime;
  /**
   * Opens a run: a turn of the session, whose tools go through the runtime. Open one for each `generateText`.
   * `approver` names the person who makes this request and answers its approvals.
   */
  readonly run: (options: TurnOptions & { readonly approver?: string }) => AiSdkRun<Tools>;
};

/**
 * Puts tools of the AI SDK under Quittance. Refuses to start if another party runs a tool, or if a call that policy
 * blocks could run.
 */
export async function governTools<const Tools extends Readonly<Record<string, unknown>>>(
  tools: Tools,
  options: AiSdkOptions = {},
): Promise<GovernedTools<Tools>> {
  checkObject('@quittance/ai-sdk: governTools', options);
  reportVersions('@quittance/ai-sdk', options.onTrouble, import.meta.url);
  refuseNoRecord('@quittance/ai-sdk', tools);
  await selfTest('@quittance/ai-sdk', sendProbe(wrap));
  return wrap(tools, options);
}

type Wrap = (
  tools: Readonly<Record<string, AiSdkTool>>,
  options: AiSdkOptions,
) => Promise<{
  readonly run: (options: TurnOptions) => { readonly tools: Readonly<Record<string, unknown>> };
}>;

/** Sends the probe through a tool that `wrapTools` made. */
export const sendProbe =
  (wrapTools: Wrap): SendProbe =>
  async (probeOptions, body) => {
    const given = { inputSchema: { type: 'object' }, execute: async () => body() };
    const { run } = await wrapTools({ [probe.name]: given }, probeOptions);
    const wrapped = run({ sessionId: probe.sessionId }).tools[probe.name] as AiSdkTool; // like any wrapped tool
    await wrapped.execute?.({} as never, { toolCallId: probe.callId } as never); // as the SDK calls it
  };

async function wrap<const Tools extends Readonly<Record<string, unknown>>>(
  given: Tools,
  { ungoverned = [], ...options }: AiSdkOptions,
): Promise<GovernedTools<Tools>> {
  const read = await Promise.all(
    Object.entries(given).map(async ([name, tool]) => [name, await readAiSdkTool(name, tool)] as const),
  );
  for (const [name, tool] of read)
    if (tool === undefined && !ungoverned.includes(name)) throw refuseUngoverned(name);
  const driver = createDriver(
    read.flatMap(([, tool]) => tool ?? []),
    options,
    ({ messages }) => messages,
  );
  return {
    runtime: driver.runtime,
    run: ({ approver, ...turnOptions }) => toAiSdkRun(driver, given, driver.open(turnOptions, approver)),
  };
}

function toAiSdkRun<Tools extends Readonly<Record<string, unknown>>>(
  driver: Driver<AiSdkCallOptions>,
  given: Tools,
  run: Run<AiSdkCallOptions>,
): AiSdkRun<Tools> {
  const bound = new Map(run.turn.tools().map((tool) => [tool.name, tool]));
  // Without a prototype: otherwise version 6 would find a tool named "constructor".
  const tools = Object.create(null) as Record<string, unknown>;
  for (const [name, tool] of Object.entries(given)) tools[name] = bound.has(name) ? undefined : tool;
  const outcomes = rememberOutcomes(driver.runtime, run.sessionId);
  const takeDenials = denialsOf(driver, run);
  const place: Place = { driver, run, takeDenials, ...outcomes };
  for (const [name, tool] of bound) tools[name] = toAiSdkTool(place, tool, ownValue(given, name));
  return {
    turn: run.turn,
    tools: tools as AiSdkRun<Tools>['tools'], // made above, name by name
    async toolApproval({ toolCall: { toolCallId, toolName, input }, messages }) {
      if (!run.suspends || !bound.has(toolName)) return undefined;
      const native: AiSdkCallOptions = { toolCallId, ...(messages !== undefined && { messages }) };
      const request = toRequest(toolName, input, native);
      await takeDenials(messages);
      const question = await findQuestion(driver, run, request, native);
      if (responseTo(request, native) !== undefined)
        return question === undefined
          ? { type: 'denied', reason: 'No person was asked about this call.' }
          : undefined;
      return question && { type: 'user-approval', reason: question.description };
    },
    async takeApprovals(messages) {
      refuseNoMessages(messages);
      await takeDenials(messages);
      await refuseLateDenials(driver, run, messages);
    },
  };
}

/** State shared by the tools of one run. */
type Place = {
  readonly driver: Driver<AiSdkCallOptions>;
  readonly run: Run<AiSdkCallOptions>;
  readonly takeDenials: TakeDenials;
  readonly find: FindOutcome;
  readonly add: (toolCallId: string, outcome: ToolOutcome) => void;
};

type TakeDenials = (messages: readonly unknown[] | undefined) => Promise<void>;

/**
 * Records the denials in the messages, once each. The SDK treats a denial as final, so this throws if the call still
 * waits afterwards. It also runs whenever the SDK passes its messages, in case the host forgot.
 */
function denialsOf({ runtime }: Driver<AiSdkCallOptions>, run: Run<AiSdkCallOptions>): TakeDenials {
  const taken = new Set<string>();
  return async (messages) => {
    for (const { toolCallId, callId, approved, reason } of approvalResponses(messages)) {
      if (approved || taken.has(callId)) continue;
      await run.deny(callId, reason, { native: { toolCallId, ...(messages && { messages }) } });
      const [call] = await runtime.calls.list({ sessionId: run.sessionId, callId });
      if (call?.confirmation?.status === 'pending') throw refuseUnnamed(callId);
      taken.add(callId);
    }
  };
}

const toRequest = (name: string, input: unknown, { toolCallId, messages }: AiSdkCallOptions): ToolCallInput =>
  withSessionCallId(
    // The runtime denies arguments that are not an object, with a message.
    { id: toolCallId, name, arguments: input as ToolCallInput['arguments'] },
    timesUsed(messages, toolCallId),
  );

const responseTo = ({ id }: ToolCallInput, { messages }: AiSdkCallOptions): ApprovalResponse | undefined =>
  approvalResponses(messages).find(({ callId }) => callId === id);

/**
 * The confirmation of the call, which is then held. The SDK asks again before it continues with the answers. In that
 * case nothing is held again and the existing confirmation is looked up. An answer in the messages may be forged by a
 * client, so it must not create the confirmation that it answers.
 */
async function findQuestion(
  { runtime }: Driver<AiSdkCallOptions>,
  run: Run<AiSdkCallOptions>,
  request: ToolCallInput,
  native: AiSdkCallOptions,
): Promise<Confirmation | undefined> {
  if (responseTo(request, native) === undefined && (await run.ask(request, { native })) === undefined)
    return undefined;
  const [call] = await runtime.calls.list({ sessionId: run.sessionId, callId: request.id });
  return call?.confirmation;
}

function toAiSdkTool(
  { driver, run, takeDenials, find, add }: Place,
  bound: BoundTool,
  given: unknown,
): object {
  const { name, description, schema } = bound;
  const own: AiSdkTool = isTool(given) || given === undefined ? { description } : (given as AiSdkTool); // it was read as one
  return {
    ...own,
    inputSchema: schema === undefined ? own.inputSchema : openSchema(schema),
    outputSchema: undefined,
    needsApproval: run.suspends
      ? async (input: unknown, native: AiSdkCallOptions) => {
          await takeDenials(native.messages);
          return (await findQuestion(driver, run, toRequest(name, input, native), native)) !== undefined;
        }
      : undefined,
    execute: (input: unknown, native: AiSdkCallOptions) =>
      driver.faults.guard(name, async () => {
        const request = toRequest(name, input, native);
        const signal = native.abortSignal;
        const callGiven = { native, ...(signal !== undefined && { signal }) };
        const response = run.suspends ? responseTo(request, native) : undefined;
        // The SDK runs whatever its messages call approved. A call without a confirmation was never approved. It must
        // not create one now, or the same messages sent again would answer it.
        if (response !== undefined && (await findQuestion(driver, run, request, native)) === undefined)
          throw refuseMadeUp(request);
        const answer =
          response?.approved === true
            ? await run.callApproved(request, callGiven)
            : await run.call(request, callGiven);
        // An invalid approval leaves the confirmation open, so the call waits as it would without it.
        const { outcome } = answer.type === 'pending' ? await run.call(request, callGiven) : answer;
        add(native.toolCallId, outcome);
        return toOutput(outcome);
      }),
    toModelOutput: modelOutput(driver.ledger, run.sessionId, find, own.toModelOutput?.bind(own)),
  };
}

/**
 * A denial after another person's approval changes nothing: the call may have run. The SDK would report it as denied,
 * so the host must know.
 */
async function refuseLateDenials(
  { runtime }: Driver<AiSdkCallOptions>,
  { sessionId }: Run<AiSdkCallOptions>,
  messages: readonly unknown[],
): Promise<void> {
  for (const { callId, approved } of approvalResponses(messages)) {
    if (approved) continue;
    const [call] = await runtime.calls.list({ sessionId, callId });
    const decided = call?.confirmation;
    if (decided?.decision === undefined || decided.decision === 'deny') continue;
    throw new QuittanceError(
      'confirmation.decided',
      `The messages say that the call ${quote(callId)} was denied, but ` +
        `${decided.by?.name ?? 'another person'} had already approved it, so it may have run. Tell the ` +
        'user, and set approved to true in its approval response: then the page and the model receive the ' +
        'recorded outcome.',
      { callId, confirmationId: decided.confirmationId },
    );
  }
}

const refuseMadeUp = ({ id, name }: ToolCallInput): QuittanceError =>
  notMade(
    `No person was asked about the call ${quote(id)} of the tool ${quote(name)}, so it was not approved.`,
    `The messages contain an approval of the call ${quote(id)}, but no person was asked about it.`,
    { tool: name },
    'confirmation.unknown',
  );

const refuseUnnamed = (callId: string): QuittanceError =>
  new QuittanceError(
    'confirmation.forbidden',
    `The messages say that the call ${quote(callId)} was denied, but \`approver\` names no person for ` +
      'this run, so the denial cannot be recorded. The call could still be approved. Name the person ' +
      'who makes the request: governed.run({ sessionId, approver }).',
  );

const refuseUngoverned = (name: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The tool ${quote(name)} has no execute: the provider or the client runs it, so Quittance cannot ` +
      `run it. To pass it through ungoverned: governTools(tools, { ungoverned: [${JSON.stringify(name)}] ` +
      '}).',
    { tool: name },
  );
