/**
 * The parts of Mastra tools that this adapter uses. Declared here, so that the package does not depend on it.
 * test/frameworks checks them against the real types.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject } from 'quittance/internal/base/json';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { isTool } from 'quittance/internal/tool/define-tool';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { quote } from 'quittance/internal/base/nearest';
import { isStandardSchema } from 'quittance/internal/tool/standard-schema';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import type { AiSdkCallOptions } from '@quittance/ai-sdk/internal/tool';
import { readAiSdkTool } from '@quittance/ai-sdk/internal/tool';
import { keepMcpFiles } from '@quittance/adapter-kit/internal/adopt/keep-mcp-files';
import { readHints } from 'quittance/internal/tool/tool-hints';

/** Mastra's context of a tool call. */
export type MastraContext = {
  readonly runId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly requestContext?:
    | { get(key: string): unknown; entries?(): Iterable<readonly [string, unknown]> }
    | undefined;
  readonly workspace?: unknown;
  /** Present if an agent makes the call. */
  readonly agent?: MastraAgentContext | undefined;
};

export type MastraAgentContext = {
  readonly agentId?: string | undefined;
  readonly toolCallId: string;
  readonly messages?: readonly unknown[] | undefined;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly suspend?: ((payload: never) => Promise<unknown>) | undefined;
  readonly resumeData?: unknown;
  readonly suspendPayload?: unknown;
};

/** A tool of Mastra, or of the AI SDK, which Mastra also accepts. */
export type MastraTool = {
  readonly id?: string | undefined;
  readonly type?: string | undefined;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly parameters?: unknown;
  readonly outputSchema?: unknown;
  readonly suspendSchema?: unknown;
  readonly resumeSchema?: unknown;
  readonly requireApproval?: unknown;
  readonly needsApprovalFn?: unknown;
  readonly execute?: ((input: never, context: never) => unknown) | undefined;
  readonly toModelOutput?: ((output: never) => unknown) | undefined;
  readonly onInputAvailable?: ((options: never) => unknown) | undefined;
};

/** The same tool under Quittance: it returns its output or the outcome of the call. */
export type GovernedMastraTool<Tool> = Tool extends AnyTool
  ? NewMastraTool<unknown, unknown>
  : Tool extends { execute?: ((input: infer Input, context: infer Context) => infer Result) | undefined }
    ? Tool extends { id: string }
      ? Omit<Tool, Replaced> & { execute: (input: Input, context: Context) => Promise<Governed<Result>> }
      : NewMastraTool<Input, Governed<Result>> // of the AI SDK
    : Tool;

type Governed<Result> = Awaited<Result> | ToolOutcome;
type Replaced =
  | 'execute'
  | 'outputSchema'
  | 'suspendSchema'
  | 'resumeSchema'
  | 'requireApproval'
  | 'toModelOutput';
type NewMastraTool<Input, Output> = {
  id: string;
  description: string;
  execute: (input: Input, context: MastraContext) => Promise<Output>;
};

/** Mastra recognizes its tools by this mark, from any copy of the package. */
export const mastraToolMark: unique symbol = Symbol.for('mastra.core.tool.Tool');

/** Reads a tool that can be governed; undefined if another party runs it. */
export async function readMastraTool(
  name: string,
  tool: unknown,
): Promise<AdoptedTool<MastraContext> | AnyTool | undefined> {
  if (isTool(tool)) return tool;
  if (typeof tool !== 'object' || tool === null)
    throw new QuittanceError('config.invalid', `The tool ${quote(name)} is not a tool of Mastra.`, {
      tool: name,
    });
  const given: MastraTool = tool;
  // As Mastra distinguishes them.
  if (!(mastraToolMark in given) && ('inputSchema' in given || 'parameters' in given))
    return readOfAiSdk(name, given);
  if (typeof given.execute !== 'function' || isOfProvider(given)) return undefined;
  const execute = given.execute as (input: unknown, context: object) => unknown; // its schema checks the arguments
  return {
    name,
    description: typeof given.description === 'string' ? given.description : undefined,
    input: readSchema(given.inputSchema),
    // The tool checks its own output, and the result may no longer match the schema.
    output: undefined,
    asks: readAsks(given),
    hints: readHints(given),
    run: async (args, native, context) => {
      const output = await runOf(() => execute.call(given, args, toPassed(native, context)));
      throwWhereInvalid(output);
      // A tool of Mastra's MCP client returns the whole result, unless it has structured content.
      return given.outputSchema === undefined ? keepMcpFiles(output, context.attach) : output;
    },
  };
}

const isOfProvider = ({ type }: MastraTool): boolean => type === 'provider' || type === 'provider-defined';

async function readOfAiSdk(
  name: string,
  tool: MastraTool,
): Promise<AdoptedTool<MastraContext> | AnyTool | undefined> {
  if (isOfProvider(tool)) return undefined;
  const read = await readAiSdkTool(name, { ...tool, inputSchema: tool.inputSchema ?? tool.parameters });
  if (read === undefined || isTool(read)) return read;
  const { asks } = read;
  const toOptions = (native: MastraContext | undefined): AiSdkCallOptions | undefined =>
    native?.agent && { toolCallId: native.agent.toolCallId, messages: native.agent.messages ?? [] };
  return {
    ...read,
    asks: asks && ((args, native) => asks(args, toOptions(native))),
    run: (args, native, context) => read.run(args, toOptions(native), context),
  };
}

/** The framework's MCP client throws if a server reports an error. The tool then knows what it did. */
async function runOf(execute: () => unknown): Promise<unknown> {
  try {
    return await execute();
  } catch (error) {
    if (!(error instanceof Error) || !('id' in error) || error.id !== 'MCP_CLIENT_TOOL_EXECUTION_FAILED')
      throw error;
    const said = error.message || 'The MCP server reported an error without a text.';
    throw new ToolError('tool.reported_error', said, { cause: error });
  }
}

/** Does the tool suspend itself in the middle of a call? Then no single attempt is the call. */
export const suspendsItself = (tool: unknown): boolean =>
  isJsonObject(tool) && !isTool(tool) && Boolean(tool['suspendSchema'] ?? tool['resumeSchema']);

/** Mastra's context for the tool's function, without the approval. */
function toPassed(native: MastraContext | undefined, { callId, sessionId, signal, toolName }: ToolContext) {
  return {
    ...native,
    // It also ends at the deadline of the call, not only with the run.
    abortSignal: signal,
    agent: {
      agentId: '',
      messages: [],
      threadId: sessionId,
      toolCallId: callId,
      ...native?.agent,
      resumeData: undefined,
      suspendPayload: undefined,
      suspend: () => {
        throw new ToolError(
          'tool.execution_error',
          `The tool ${quote(toolName)} suspended itself. A governed tool cannot do that: its call is ` +
            'running and must end. Ask before it runs: with requireApproval, a policy, or the mode of the ' +
            'tool.',
          {
            retryable: false,
            problem: `The tool ${quote(toolName)} tried to wait for an answer while it was running, which is not possible.`,
          },
        );
      },
    },
  };
}

/** Mastra returns schema errors of the tool as if they were outputs. */
function throwWhereInvalid(output: unknown): void {
  if (!isJsonObject(output) || output['error'] !== true || !('validationErrors' in output)) return;
  const message = typeof output['message'] === 'string' ? output['message'] : 'Mastra refused it.';
  if (message.startsWith('Tool output')) throw new ToolError('tool.invalid_output', message);
  throw new ToolError('tool.invalid_input', message, { effect: 'none' });
}

function readAsks(given: MastraTool): AdoptedTool<MastraContext>['asks'] {
  const asks = [given.requireApproval, given.needsApprovalFn].filter(Boolean);
  if (asks.length === 0) return undefined;
  return async (args, native) => {
    const { requestContext, workspace } = native ?? {};
    const facts = { requestContext: Object.fromEntries(requestContext?.entries?.() ?? []), workspace, args };
    try {
      for (const ask of asks) if (typeof ask !== 'function' || Boolean(await ask(args, facts))) return true;
      return false;
    } catch {
      // As Mastra reads it.
      return true;
    }
  };
}

/** A schema may come from a function, and may be one. */
const readSchema = (given: unknown): unknown =>
  typeof given === 'function' && !isStandardSchema(given) ? (given() as unknown) : given;
