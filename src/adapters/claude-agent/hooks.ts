/**
 * The hooks that the Claude Agent SDK asks before a tool runs, and tells after. For tools of ours the runtime decides
 * when they are called, and the hook only stops the run where a person has to be asked. Tools that the program runs are
 * denied, unless the host named them: in `programTools`, then they are judged and recorded here, or in `ungoverned`.
 */
import { isJsonObject } from '../../base/json.ts';
import { quote } from '../../base/nearest.ts';
import type { PendingCall } from '../../runtime/turn/await-told.ts';
import type { Answer } from '../answer/answer.ts';
import type { Begun, ProgramReport } from './program-tools.ts';
import type { ClaudeAgentHookInput } from './tool.ts';
import type { FaultMessages } from '../answer/fault-messages.ts';

/** What a hook answers. Nothing means that the rules of the SDK decide. */
export type ClaudeAgentHookOutput = {
  hookSpecificOutput?:
    | {
        hookEventName: 'PreToolUse';
        permissionDecision: 'allow' | 'deny' | 'defer';
        permissionDecisionReason: string;
        updatedInput?: Record<string, unknown>;
      }
    | { hookEventName: 'PostToolUse' | 'PostToolUseFailure'; additionalContext: string };
};

type Hook = (input: ClaudeAgentHookInput, toolUseId: string | undefined) => Promise<ClaudeAgentHookOutput>;
type Matcher = { hooks: Hook[]; timeout?: number };

/** For `hooks` of a query. */
export type ClaudeAgentHooks = {
  PreToolUse: Matcher[];
  PostToolUse: Matcher[];
  PostToolUseFailure: Matcher[];
};

export type HookFacts = {
  readonly server: string;
  readonly ungoverned: readonly string[];
  readonly programTools: ReadonlySet<string>;
  readonly faults: FaultMessages;
  /** Takes down what was told about a call of ours, and asks whether it waits for a person. */
  readonly ask: (
    toolUseId: string,
    name: string,
    input: ClaudeAgentHookInput,
  ) => Promise<PendingCall | undefined>;
  /**
   * Whether this call may stop the run. Of several calls in one message the SDK keeps only the last that was deferred,
   * so one may, and the others wait where they are. A tool of the program never may: when the query is resumed, the
   * program runs it and asks no hook.
   */
  readonly mayDefer: (toolUseId: string, name: string, question: PendingCall, isOurs: boolean) => boolean;
  /** Makes the call of a tool that the program runs, until the program may begin. */
  readonly begin: (toolUseId: string, name: string, input: ClaudeAgentHookInput) => Promise<Begun>;
  readonly report: (toolUseId: string, report: ProgramReport) => Promise<Answer | undefined>;
};

/** In seconds. A hook that runs out of time has nothing to say, and the program would go on: people take their time. */
const patience = 7 * 24 * 60 * 60;

/** The tool by which the program takes a final answer in `outputFormat`. It has no effect outside of the query. */
const finalAnswer = 'StructuredOutput';

export function createHooks(facts: HookFacts): ClaudeAgentHooks {
  const { server, ungoverned, programTools, faults, ask, mayDefer, begin, report } = facts;
  const prefix = `mcp__${server}__`;
  const before: Hook = async (input, toolUseId) => {
    const { tool_name: toolName = '' } = input;
    const isOurs = toolName.startsWith(prefix);
    if (!isOurs && !programTools.has(toolName))
      return toolName === finalAnswer || isNamed(toolName, ungoverned)
        ? {}
        : decide('deny', refuse(toolName));
    const name = isOurs ? toolName.slice(prefix.length) : toolName;
    if (toolUseId === undefined)
      return isOurs ? {} : decide('deny', 'The call has no id, so it cannot be judged.');
    const question = await ask(toolUseId, name, input);
    // Where nobody is asked, another process is making the call, and the tool waits for that.
    if (question?.confirmationId !== undefined && mayDefer(toolUseId, name, question, isOurs))
      return decide('defer', `A person is asked: ${question.confirmationId}.`);
    if (isOurs) return {};
    const begun = await begin(toolUseId, name, input);
    if (begun.type === 'ended') return decide('deny', tellOf(begun.answer));
    return decide('allow', 'The call is let through and recorded.', begun.args);
  };
  const after =
    (hookEventName: 'PostToolUse' | 'PostToolUseFailure', read: (input: object) => ProgramReport): Hook =>
    async (input, toolUseId) => {
      if (toolUseId === undefined || !programTools.has(input.tool_name ?? '')) return {};
      const answer = await report(toolUseId, read(input));
      // The program tells its model the result. What it does not know is how that was judged, and the note.
      const said =
        answer === undefined ? [] : [...(answer.isError ? [answer.content] : []), answer.note ?? []];
      const texts = said.flat();
      return texts.length === 0
        ? {}
        : { hookSpecificOutput: { hookEventName, additionalContext: texts.join('\n') } };
    };
  const matcher = (hook: Hook): Matcher[] => [{ hooks: [hook], timeout: patience }];
  return {
    PreToolUse: matcher(async (input, toolUseId) => {
      try {
        return await before(input, toolUseId);
      } catch (error) {
        // The SDK may take a hook that throws for one that has nothing to say.
        const { tool_name: toolName = '' } = input;
        if (toolName.startsWith(prefix)) throw error;
        return decide('deny', `The call could not be judged. ${faults.forModel(toolName, error).message}`);
      }
    }),
    PostToolUse: matcher(after('PostToolUse', (input) => ({ output: memberOf(input, 'tool_response') }))),
    PostToolUseFailure: matcher(
      after('PostToolUseFailure', (input) => ({ error: textOf(memberOf(input, 'error')) })),
    ),
  };
}

const memberOf = (input: object, key: string): unknown => (isJsonObject(input) ? input[key] : undefined);

const textOf = (error: unknown): string =>
  typeof error === 'string' && error !== '' ? error : 'The program reported an error without a text.';

const tellOf = ({ content, note }: Answer): string => (note === undefined ? content : `${content}\n${note}`);

/** A tool by its name, or every tool of another server by the name of that, as in `allowedTools`. */
const isNamed = (toolName: string, ungoverned: readonly string[]): boolean =>
  ungoverned.some(
    (name) => name === toolName || (name.startsWith('mcp__') && toolName.startsWith(`${name}__`)),
  );

const refuse = (toolName: string): string =>
  `The program that runs this agent does not offer the tool ${quote(toolName)}. Nothing ran.`;

const decide = (
  permissionDecision: 'allow' | 'deny' | 'defer',
  permissionDecisionReason: string,
  args?: unknown,
): ClaudeAgentHookOutput => ({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision,
    permissionDecisionReason,
    ...(isJsonObject(args) && { updatedInput: { ...args } }),
  },
});
