/**
 * The parts of Agent Development Kit tools that this adapter uses. Declared here, so that the package does not depend
 * on it. test/frameworks checks them against the real types.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject } from 'quittance/internal/base/json';
import { ToolError } from 'quittance/internal/call/tool-error';
import { isTool } from 'quittance/internal/tool/define-tool';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { describeValue } from 'quittance/internal/tool/describe-value';
import { quote } from 'quittance/internal/base/nearest';
import { isStandardSchema } from 'quittance/internal/tool/standard-schema';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import { fromGoogleSchema } from '@quittance/google-genai/internal/schema';
import { readHints } from 'quittance/internal/tool/tool-hints';

/** The kit's context of a tool call. */
export type AdkToolContext = {
  readonly functionCallId?: string | undefined;
  readonly invocationContext: AdkInvocation;
  readonly toolConfirmation?: AdkConfirmation | undefined;
  readonly actions: { skipSummarization?: boolean };
  readonly abortSignal?: AbortSignal | undefined;
  requestConfirmation(question: { hint?: string; payload?: unknown }): void;
};

export type AdkInvocation = {
  readonly invocationId: string;
  readonly session: {
    readonly id: string;
    readonly appName: string;
    readonly userId: string;
    readonly events: readonly object[];
  };
  readonly sessionService?:
    | { appendEvent(request: { session: never; event: never }): Promise<unknown> }
    | undefined;
  /** Present in a live run, which cannot stop for an approval. */
  readonly liveRequestQueue?: unknown;
};

/** A person's answer in the kit's own approval. */
export type AdkConfirmation = { readonly confirmed: boolean; readonly payload?: unknown };

/** A tool of the kit. */
export type AdkTool = {
  readonly name: string;
  readonly description: string;
  readonly isLongRunning: boolean;
  _getDeclaration(): object | undefined;
  runAsync(request: { args: Record<string, unknown>; toolContext: never }): Promise<unknown>;
  processLlmRequest(request: never): Promise<void>;
};

/** A toolset of the kit, such as that of an MCP server. */
export type AdkToolset = { getTools(context?: never): Promise<readonly AdkTool[]> };

/** The kit recognizes its tools by these, from any copy of the package. */
export const adkToolMark: unique symbol = Symbol.for('google.adk.baseTool');
const toolsetMark: unique symbol = Symbol.for('google.adk.baseToolset');
/** Marks a governed tool, from any copy of this package. */
export const governedMark: unique symbol = Symbol.for('quittance.governed');

/** The tools of the list, including those of its toolsets. */
export async function expandTools(given: readonly unknown[]): Promise<readonly (AdkTool | AnyTool)[]> {
  const expanded = await Promise.all(
    given.map(async (one): Promise<readonly unknown[]> => {
      if (!isMarked(one, toolsetMark)) return [one];
      return (one as AdkToolset).getTools(); // by its mark
    }),
  );
  return expanded.flat().map((tool) => {
    if (isTool(tool)) return tool;
    if (isMarked(tool, adkToolMark)) return tool as AdkTool; // by its mark
    throw new QuittanceError(
      'config.invalid',
      'governTools of @quittance/google-adk expects tools and toolsets of @google/adk, or tools made by ' +
        `defineTool. Found ${describeValue(tool)}.`,
    );
  });
}

const isMarked = (value: unknown, mark: symbol): boolean =>
  typeof value === 'object' && value !== null && Reflect.get(value, mark) === true;

/** Reads a tool that can be governed; undefined if the kit or the provider runs it without a function. */
export function readAdkTool(tool: AdkTool | AnyTool): AdoptedTool<AdkToolContext> | AnyTool | undefined {
  if (isTool(tool)) return tool;
  const declared = tool._getDeclaration();
  if (!isJsonObject(declared)) return undefined;
  const { parameters, description } = declared;
  const own = Reflect.get(tool, 'parameters') as unknown;
  return {
    name: tool.name,
    description: typeof description === 'string' ? description : tool.description,
    input: isStandardSchema(own) ? own : (declared['parametersJsonSchema'] ?? fromGoogleSchema(parameters)),
    hints: readHints(Reflect.get(tool, 'mcpTool')),
    asks: (args, native) => asksItself(tool, args, native),
    run: (args, native, context) => runBody(tool, args, native, context),
  };
}

/** The runtime already checked and changed the arguments, so the tool's schema must not check them again. */
const withoutSchema = (tool: AdkTool, more: PropertyDescriptorMap = {}): AdkTool =>
  Object.create(tool, { parameters: { value: undefined }, ...more }) as AdkTool; // the same tool except for these

/** Does the author of the tool require approval? */
async function asksItself(
  tool: AdkTool,
  args: unknown,
  native: AdkToolContext | undefined,
): Promise<boolean> {
  const check = Reflect.get(tool, 'checkRequireConfirmation') as unknown;
  if (typeof check === 'function') return Boolean(await check.call(withoutSchema(tool), args, native));
  const flag = Reflect.get(tool, 'requireConfirmation') as unknown;
  return typeof flag === 'function' ? Boolean(await flag(args, native)) : flag === true;
}

async function runBody(
  tool: AdkTool,
  args: unknown,
  native: AdkToolContext | undefined,
  context: ToolContext,
): Promise<unknown> {
  const execute = Reflect.get(tool, 'execute') as unknown;
  let thrown: { readonly error: unknown } | undefined;
  // A function tool throws its own error, which lacks the code and the cause of the first.
  const noting = async (...given: unknown[]): Promise<unknown> => {
    try {
      return await (execute as (...given: unknown[]) => unknown).call(tool, ...given); // called below
    } catch (error) {
      thrown = { error };
      throw error;
    }
  };
  const self = withoutSchema(tool, typeof execute === 'function' ? { execute: { value: noting } } : {});
  try {
    const request = { args: args as Record<string, unknown>, toolContext: toGiven(native, context) as never };
    return await self.runAsync(request); // checked by its schema; the context is the kit's or a stand-in
  } catch (error) {
    throw thrown === undefined ? error : thrown.error;
  }
}

/** The kit's context for the tool's function, without the ways to stop during a call. */
function toGiven(native: AdkToolContext | undefined, { callId, signal, toolName }: ToolContext): object {
  const refuse = (): never => {
    throw new ToolError(
      'tool.execution_error',
      `The tool ${quote(toolName)} asked for a confirmation or a credential while it was running. A ` +
        'governed tool cannot do that: its call must end. Ask before it runs: with requireConfirmation, a ' +
        'policy, or the mode of the tool.',
      {
        retryable: false,
        problem: `The tool ${quote(toolName)} tried to wait for an answer while it was running, which is not possible.`,
      },
    );
  };
  const actions = {
    stateDelta: {},
    artifactDelta: {},
    requestedAuthConfigs: {},
    requestedToolConfirmations: {},
  };
  // Without the kit's context, as after a restart, a tool has its arguments, its id and its signal.
  const base = native ?? { functionCallId: callId, actions, eventActions: actions };
  return Object.create(base, {
    // It also ends at the deadline of the call, not only with the run.
    abortSignal: { value: signal },
    // Every needed approval has been given.
    toolConfirmation: { value: { hint: '', confirmed: true } },
    requestConfirmation: { value: refuse },
    requestCredential: { value: refuse },
  }) as object;
}

/** Ungoverned tools of an agent inside this tool. */
export function ungovernedWithin(tool: object, seen: Set<unknown> = new Set()): readonly string[] {
  return agentsIn(tool).flatMap((agent) => ungovernedOf(agent, seen));
}

function ungovernedOf(agent: object, seen: Set<unknown>): readonly string[] {
  if (seen.has(agent)) return [];
  seen.add(agent);
  const listOf = (key: string): readonly unknown[] => {
    const list = Reflect.get(agent, key) as unknown;
    return Array.isArray(list) ? list : [];
  };
  const tools = listOf('tools').filter((tool) => typeof tool === 'object' && tool !== null);
  return [
    ...tools.flatMap((tool) => (isMarked(tool, governedMark) ? [] : [nameOf(tool)])),
    ...listOf('subAgents').flatMap((one) =>
      typeof one === 'object' && one !== null ? ungovernedOf(one, seen) : [],
    ),
  ];
}

function agentsIn(tool: object): readonly object[] {
  const agent = Reflect.get(tool, 'agent') as unknown;
  return typeof agent === 'object' && agent !== null ? [agent] : [];
}

const nameOf = (tool: object): string => {
  const name = Reflect.get(tool, 'name') as unknown;
  return typeof name === 'string' ? name : (tool.constructor?.name ?? 'a toolset');
};
