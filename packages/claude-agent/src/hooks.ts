/**
 * The hooks that the Claude Agent SDK calls before and after a tool runs. For our tools the runtime decides when they
 * are called; the hook only stops the run if a call needs approval. Tools that the program runs are denied, unless
 * the host names them. Tools in `programTools` are judged and recorded here; tools in `ungoverned` pass.
 */
import { isJsonObject } from 'quittance/internal/base/json';
import { quote } from 'quittance/internal/base/nearest';
import type { PendingCall } from 'quittance/internal/runtime/turn';
import type { Answer } from '@quittance/adapter-kit/internal/answer/answer';
import type { Begun, ProgramReport } from './program-tools.ts';
import type { ClaudeAgentHookInput } from './tool.ts';
import type { FaultMessages } from '@quittance/adapter-kit/internal/answer/fault-messages';

/** The answer of a hook. An empty one leaves the decision to the rules of the SDK. */
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
  /** Stores the hook's input for a call of ours, and checks whether it needs approval. */
  readonly ask: (
    toolUseId: string,
    name: string,
    input: ClaudeAgentHookInput,
  ) => Promise<PendingCall | undefined>;
  /**
   * May this call stop the run? Of several calls in one message the SDK keeps only the last deferred one, so one call
   * may, and the others wait in place. A tool of the program never may: after a resume, the program runs it without
   * calling a hook.
   */
  readonly mayDefer: (toolUseId: string, name: string, question: PendingCall, isOurs: boolean) => boolean;
  /** Makes the call of a program tool up to the point where the program may start. */
  readonly begin: (toolUseId: string, name: string, input: ClaudeAgentHookInput) => Promise<Begun>;
  readonly report: (toolUseId: string, report: ProgramReport) => Promise<Answer | undefined>;
};

/** In seconds. If a hook times out, the program continues without its answer, and people take their time. */
const patience = 7 * 24 * 60 * 60;

/** The tool by which the program takes a final answer in `outputFormat`. It has no effect outside the query. */
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
    // Without a confirmation, another process makes the call, and the tool waits for it.
    if (question?.confirmationId !== undefined && mayDefer(toolUseId, name, question, isOurs))
      return decide('defer', `Approval requested: ${question.confirmationId}.`);
    if (isOurs) return {};
    const begun = await begin(toolUseId, name, input);
    if (begun.type === 'ended') return decide('deny', tellOf(begun.answer));
    return decide('allow', 'The call is allowed and recorded.', begun.args);
  };
  const after =
    (hookEventName: 'PostToolUse' | 'PostToolUseFailure', read: (input: object) => ProgramReport): Hook =>
    async (input, toolUseId) => {
      if (toolUseId === undefined || !programTools.has(input.tool_name ?? '')) return {};
      const answer = await report(toolUseId, read(input));
      // The program sends its model the result. It does not know the verdict on it, or the note.
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
        // The SDK may ignore a hook that throws.
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

/** A tool by its name, or every tool of another server by the server's name, as in `allowedTools`. */
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
