/**
 * The plugin for runners of the Agent Development Kit. Every tool of every agent of a runner passes it, whatever its
 * source: a toolset, a sub-agent, a callback.
 */
import { ownValue } from 'quittance/internal/base/json';
import type { Answer } from '@quittance/adapter-kit/internal/answer/answer';
import type { AdkToolContext } from './tool.ts';
import { governedMark, adkToolMark } from './tool.ts';

type Quiet = (params: object) => Promise<undefined>;

/** A plugin for runners of the kit. Callbacks without a description do nothing. */
export type AdkPlugin = {
  readonly name: string;
  /** Blocks tools that are not governed: the call is recorded as one of an unknown tool. */
  beforeToolCallback(params: {
    tool: object;
    toolArgs: Record<string, unknown>;
    toolContext: object;
  }): Promise<Record<string, unknown> | undefined>;
  /** Has calls of unknown tools answered, instead of ending the run. */
  beforeModelCallback(params: { callbackContext: object; llmRequest: object }): Promise<undefined>;
  onUserMessageCallback: Quiet;
  beforeRunCallback: Quiet;
  onEventCallback: Quiet;
  afterRunCallback: Quiet;
  beforeAgentCallback: Quiet;
  afterAgentCallback: Quiet;
  beforeNodeCallback: Quiet;
  afterNodeCallback: Quiet;
  afterModelCallback: Quiet;
  onModelErrorCallback: Quiet;
  beforeToolSelection: Quiet;
  beforeContextCompaction: Quiet;
  afterContextCompaction: Quiet;
  afterToolCallback: Quiet;
  onToolErrorCallback: Quiet;
};

/** Tools by which the kit moves between its agents. They have no outside effect. */
const ofTheKit = new Set(['transfer_to_agent', 'exit_loop', 'finish_task', 'set_model_response']);

type MakeCall = (name: string, args: unknown, context: AdkToolContext) => Promise<Answer | undefined>;

/** `governed` holds the names of all tools of the runtime. */
export function createPlugin(
  governed: ReadonlySet<string>,
  ungoverned: readonly string[],
  makeCall: MakeCall,
): AdkPlugin {
  const quiet: Quiet = async () => undefined;
  // This agent may lack the governed tool of that name, which must not run instead.
  const unknownName = (name: string): string => (governed.has(name) ? `unavailable:${name}` : name);
  const answerUnknown = async (
    name: string,
    args: unknown,
    context: AdkToolContext,
  ): Promise<Record<string, unknown>> => {
    const answer = await makeCall(name, args, context);
    return answer === undefined
      ? { status: 'pending' }
      : (JSON.parse(answer.content) as Record<string, unknown>); // a failure
  };
  return {
    name: 'quittance',
    async beforeToolCallback({ tool, toolArgs, toolContext }) {
      const name = String(Reflect.get(tool, 'name'));
      if (Reflect.get(tool, governedMark) === true || ungoverned.includes(name) || ofTheKit.has(name))
        return undefined;
      return answerUnknown(unknownName(name), toolArgs, toolContext as AdkToolContext); // the kit's context of a tool
    },
    async beforeModelCallback({ llmRequest }) {
      const tools = ownValue(llmRequest, 'toolsDict');
      if (typeof tools !== 'object' || tools === null) return undefined;
      const stub = (name: string): object => ({
        [adkToolMark]: true,
        [governedMark]: true,
        name,
        description: '',
        isLongRunning: false,
        runAsync: ({ args, toolContext }: { args: unknown; toolContext: AdkToolContext }) =>
          answerUnknown(unknownName(name), args, toolContext),
      });
      // It contains all tools by now, so any other requested tool does not exist.
      Reflect.set(
        llmRequest,
        'toolsDict',
        new Proxy(tools, {
          has: (_, key) => typeof key === 'string',
          get: (known, key) => (typeof key !== 'string' ? undefined : (ownValue(known, key) ?? stub(key))),
        }),
      );
      return undefined;
    },
    onUserMessageCallback: quiet,
    beforeRunCallback: quiet,
    onEventCallback: quiet,
    afterRunCallback: quiet,
    beforeAgentCallback: quiet,
    afterAgentCallback: quiet,
    beforeNodeCallback: quiet,
    afterNodeCallback: quiet,
    afterModelCallback: quiet,
    onModelErrorCallback: quiet,
    beforeToolSelection: quiet,
    beforeContextCompaction: quiet,
    afterContextCompaction: quiet,
    afterToolCallback: quiet,
    onToolErrorCallback: quiet,
  };
}
