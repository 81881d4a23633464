import { QuittanceError } from '../../base/error.ts';
import { quote } from '../../base/nearest.ts';
import { ownValue } from '../../tool/own-value.ts';
import { withSessionCallId } from '../run/conversation.ts';
import type { Driver } from '../run/driver.ts';
import { governedMark } from './find-ungoverned.ts';
import { toToolOutput } from './output.ts';
import type { OpenAiAgentsCall, OpenAiAgentsCallDetails, OpenAiAgentsRunContext, RunOf } from './tool.ts';

/** State shared by all tools. */
type Place = {
  readonly driver: Driver<OpenAiAgentsCall>;
  readonly runOf: RunOf;
  readonly neverAsks: () => Promise<boolean>;
  readonly checkAgent: (agent: unknown) => void;
  readonly followRejections: (runContext: OpenAiAgentsRunContext) => void;
};

export function toSdkTool(
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
