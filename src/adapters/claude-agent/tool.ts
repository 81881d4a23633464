/**
 * The in-process tools of the Claude Agent SDK, as far as this adapter touches them. Declared here, so that the package
 * needs none of it; test/frameworks holds them against the real ones.
 */
import { QuittanceError } from '../../base/error.ts';
import { isJsonObject } from '../../base/json.ts';
import { isTool } from '../../tool/define-tool.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { ToolOverrides } from '../../tool/govern.ts';
import { ownValue } from '../../tool/own-value.ts';
import type { AdoptedTool } from '../adopt/adopted-tool.ts';
import { readResult } from './result.ts';
import { readShape } from './shape.ts';

/** A tool as `tool()` of the SDK makes it. */
export type ClaudeAgentTool = {
  readonly name: string;
  readonly description?: string | undefined;
  /** An object of schemas, one for each argument; one schema or a JSON Schema will do as well. */
  readonly inputSchema: unknown;
  readonly annotations?: ClaudeAgentAnnotations | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  readonly handler: (args: never, extra: unknown) => unknown;
};

/** What the author of a tool says about it. */
export type ClaudeAgentAnnotations = {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
};

/** What is passed with a call: to the tool, and to `principal`, `attrs` and `approver`. */
export type ClaudeAgentCall = {
  readonly toolUseId: string;
  /** What the SDK gives a tool beside its arguments. Not there where the call is not made for the SDK. */
  readonly extra?: ClaudeAgentExtra;
  /** What the hook was told before: the session of the SDK, the subagent that asks. There where `hooks` were passed. */
  readonly hook?: ClaudeAgentHookInput;
};

/** The second argument of a handler. */
export type ClaudeAgentExtra = {
  readonly signal: AbortSignal;
  readonly requestId: string | number;
  readonly _meta: Readonly<Record<string, unknown>>;
  readonly sendNotification: (notification: {
    readonly method: string;
    readonly params?: unknown;
  }) => Promise<void>;
};

/** What the SDK tells a hook that is asked before a tool runs. */
export type ClaudeAgentHookInput = {
  readonly hook_event_name: string;
  readonly session_id: string;
  /** The file that the program keeps the conversation in. */
  readonly transcript_path?: string;
  readonly cwd?: string;
  readonly permission_mode?: string;
  /** There where a subagent makes the call. */
  readonly agent_id?: string;
  readonly agent_type?: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
};

/** Where the SDK says which call of the model a request is. */
export const toolUseIdKey = 'claudecode/toolUseId';

/** Reads a tool of the SDK, or takes one of ours as it is. */
export function readClaudeAgentTool(tool: unknown): AdoptedTool<ClaudeAgentCall> | AnyTool {
  if (isTool(tool)) return tool;
  if (!isClaudeAgentTool(tool))
    throw new QuittanceError(
      'config.invalid',
      'governTools takes a list of what tool() of the SDK gives, or of tools made by defineTool. A server that ' +
        'createSdkMcpServer made already has its tools wrapped: pass the tools it was made of.',
    );
  const { name, description, inputSchema } = tool;
  const handler = tool.handler as (args: unknown, extra: ClaudeAgentExtra) => unknown; // arguments are checked by its schema
  return {
    name,
    description,
    input: readShape(inputSchema),
    run: async (args, native, context) => {
      const { callId, signal } = context;
      const result = await handler.call(tool, args, {
        requestId: callId,
        _meta: { [toolUseIdKey]: callId },
        sendNotification: async () => undefined,
        ...native?.extra,
        // It ends with the deadline of the call too, not only with the run.
        signal,
      });
      return readResult(result, context.attach);
    },
  };
}

const isClaudeAgentTool = (tool: unknown): tool is ClaudeAgentTool =>
  isJsonObject(tool) && typeof tool['name'] === 'string' && typeof tool['handler'] === 'function';

/** What the annotations of a tool declare, in our words. */
export function readAnnotations(tool: unknown): ToolOverrides | undefined {
  const hints = isTool(tool) || !isJsonObject(tool) ? undefined : ownValue(tool, 'annotations');
  if (!isJsonObject(hints)) return undefined;
  const { title, readOnlyHint, destructiveHint, idempotentHint } = hints;
  return {
    ...(typeof title === 'string' && title !== '' && { displayName: title }),
    // Of two hints that disagree, the one that raises the risk counts.
    ...(destructiveHint === true
      ? { mode: 'destructive' as const }
      : readOnlyHint === true && { mode: 'read' as const }),
    ...(idempotentHint === true && { idempotent: true }),
  };
}
