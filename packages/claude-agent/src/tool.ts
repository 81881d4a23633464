/**
 * The parts of Claude Agent SDK tools that this adapter uses. Declared here, so that the package does not depend on
 * it. test/frameworks checks them against the real types.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, ownValue } from 'quittance/internal/base/json';
import { isTool } from 'quittance/internal/tool/define-tool';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { ToolOverrides } from 'quittance/internal/tool/govern';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import { readResult } from './result.ts';
import { readShape } from './shape.ts';

/** A tool as `tool()` of the SDK makes it. */
export type ClaudeAgentTool = {
  readonly name: string;
  readonly description?: string | undefined;
  /** An object with one schema per argument; a single schema or a JSON Schema also works. */
  readonly inputSchema: unknown;
  readonly annotations?: ClaudeAgentAnnotations | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  readonly handler: (args: never, extra: unknown) => unknown;
};

/** Annotations by the author of a tool. */
export type ClaudeAgentAnnotations = {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
};

/** The context of a call, for the tool and for `principal`, `attrs` and `approver`. */
export type ClaudeAgentCall = {
  readonly toolUseId: string;
  /** The SDK's second argument of a handler. Absent if the call is not made for the SDK. */
  readonly extra?: ClaudeAgentExtra;
  /** The input of the hook: the SDK's session, the subagent. Present if `hooks` were passed. */
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

/** The input of a hook before a tool runs. */
export type ClaudeAgentHookInput = {
  readonly hook_event_name: string;
  readonly session_id: string;
  /** The file with the program's conversation. */
  readonly transcript_path?: string;
  readonly cwd?: string;
  readonly permission_mode?: string;
  /** Present if a subagent makes the call. */
  readonly agent_id?: string;
  readonly agent_type?: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
};

/** The key under which the SDK sends the model's call id. */
export const toolUseIdKey = 'claudecode/toolUseId';

/** Reads a tool of the SDK, or uses one of ours unchanged. */
export function readClaudeAgentTool(tool: unknown): AdoptedTool<ClaudeAgentCall> | AnyTool {
  if (isTool(tool)) return tool;
  if (!isClaudeAgentTool(tool))
    throw new QuittanceError(
      'config.invalid',
      'governTools expects a list of tools made by tool() of the SDK or by defineTool. A server made by ' +
        'createSdkMcpServer has already wrapped its tools: pass the tools themselves.',
    );
  const { name, description, inputSchema } = tool;
  const handler = tool.handler as (args: unknown, extra: ClaudeAgentExtra) => unknown; // its schema checks the arguments
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
        // It also ends at the deadline of the call, not only with the run.
        signal,
      });
      return readResult(result, context.attach);
    },
  };
}

const isClaudeAgentTool = (tool: unknown): tool is ClaudeAgentTool =>
  isJsonObject(tool) && typeof tool['name'] === 'string' && typeof tool['handler'] === 'function';

/** The meaning of a tool's annotations. */
export function readAnnotations(tool: unknown): ToolOverrides | undefined {
  const hints = isTool(tool) || !isJsonObject(tool) ? undefined : ownValue(tool, 'annotations');
  if (!isJsonObject(hints)) return undefined;
  const { title, readOnlyHint, destructiveHint, idempotentHint } = hints;
  return {
    ...(typeof title === 'string' && title !== '' && { displayName: title }),
    // If two hints disagree, the one that raises the risk counts.
    ...(destructiveHint === true
      ? { mode: 'destructive' as const }
      : readOnlyHint === true && { mode: 'read' as const }),
    ...(idempotentHint === true && { idempotent: true }),
  };
}
