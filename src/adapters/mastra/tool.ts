/**
 * The tools of Mastra, as far as this adapter touches them. Declared here, so that the package needs none of it;
 * test/frameworks holds them against the real ones.
 */
import { QuittanceError } from '../../base/error.ts';
import { isJsonObject } from '../../base/json.ts';
import { ToolError } from '../../call/tool-error.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { isTool } from '../../tool/define-tool.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { quote } from '../../base/nearest.ts';
import { isStandardSchema } from '../../tool/standard-schema.ts';
import type { ToolContext } from '../../tool/tool-context.ts';
import type { AdoptedTool } from '../adopt/adopted-tool.ts';
import type { AiSdkCallOptions } from '../ai-sdk/tool.ts';
import { readAiSdkTool } from '../ai-sdk/tool.ts';
import { readHints } from '../adopt/tool-hints.ts';

/** What Mastra gives a tool beside its input. */
export type MastraContext = {
  readonly runId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly requestContext?:
    { get(key: string): unknown; entries?(): Iterable<readonly [string, unknown]> } | undefined;
  readonly workspace?: unknown;
  /** There where an agent makes the call. */
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

/** A tool of Mastra, or one of the AI SDK, which Mastra takes as well. */
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

/** The same tool under Quittance: what comes back is its output, or how the call ended instead. */
export type GovernedMastraTool<Tool> = Tool extends AnyTool
  ? NewMastraTool<unknown, unknown>
  : Tool extends { execute?: ((input: infer Input, context: infer Context) => infer Result) | undefined }
    ? Tool extends { id: string }
      ? Omit<Tool, Replaced> & { execute: (input: Input, context: Context) => Promise<Governed<Result>> }
      : NewMastraTool<Input, Governed<Result>> // of the AI SDK
    : Tool;

type Governed<Result> = Awaited<Result> | ToolOutcome;
type Replaced =
  'execute' | 'outputSchema' | 'suspendSchema' | 'resumeSchema' | 'requireApproval' | 'toModelOutput';
type NewMastraTool<Input, Output> = {
  id: string;
  description: string;
  execute: (input: Input, context: MastraContext) => Promise<Output>;
};

/** By this Mastra knows its tools, whichever copy of the package made them. */
export const mastraToolMark: unique symbol = Symbol.for('mastra.core.tool.Tool');

/** Reads a tool that can be governed; undefined where somebody else runs it. */
export async function readMastraTool(
  name: string,
  tool: unknown,
): Promise<AdoptedTool<MastraContext> | AnyTool | undefined> {
  if (isTool(tool)) return tool;
  if (typeof tool !== 'object' || tool === null)
    throw new QuittanceError('config.invalid', `The tool ${quote(name)} is no tool of Mastra.`, {
      tool: name,
    });
  const given: MastraTool = tool;
  // As Mastra tells them apart.
  if (!(mastraToolMark in given) && ('inputSchema' in given || 'parameters' in given))
    return readOfAiSdk(name, given);
  if (typeof given.execute !== 'function' || isOfProvider(given)) return undefined;
  const execute = given.execute as (input: unknown, context: object) => unknown; // arguments are checked by its schema
  return {
    name,
    description: typeof given.description === 'string' ? given.description : undefined,
    input: readSchema(given.inputSchema),
    // It checks what it gives itself, and what it gives is then no longer what the schema takes.
    output: undefined,
    asks: readAsks(given),
    hints: readHints(given),
    run: async (args, native, context) => {
      const output = await execute.call(given, args, toPassed(native, context));
      throwWhereInvalid(output);
      return output;
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

/** Whether the tool stops in the middle to be resumed: then no single attempt is the call. */
export const suspendsItself = (tool: unknown): boolean =>
  isJsonObject(tool) && !isTool(tool) && Boolean(tool['suspendSchema'] ?? tool['resumeSchema']);

/** What the body is given of what Mastra passed: everything but the approval, which is not its affair. */
function toPassed(native: MastraContext | undefined, { callId, sessionId, signal, toolName }: ToolContext) {
  return {
    ...native,
    // It ends with the deadline of the call too, not only with the run.
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
          `The tool ${quote(toolName)} suspended itself, which a governed tool cannot: its call has begun and must ` +
            'end. Ask before it runs: by requireApproval, a policy, or the mode of the tool.',
          {
            retryable: false,
            problem: `The tool ${quote(toolName)} tried to stop for an answer after it had begun, which it cannot.`,
          },
        );
      },
    },
  };
}

/** Mastra returns what a schema of the tool refused, as if it were an output. */
function throwWhereInvalid(output: unknown): void {
  if (!isJsonObject(output) || output['error'] !== true || !('validationErrors' in output)) return;
  const message = typeof output['message'] === 'string' ? output['message'] : 'Mastra refused it.';
  const code = message.startsWith('Tool output') ? 'tool.invalid_output' : 'tool.invalid_input';
  throw new ToolError(code, message);
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
