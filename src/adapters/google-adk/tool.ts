/**
 * The tools of the Agent Development Kit, as far as this adapter touches them. Declared here, so that the package needs
 * none of it; test/frameworks holds them against the real ones.
 */
import { QuittanceError } from '../../base/error.ts';
import { isJsonObject } from '../../base/json.ts';
import { ToolError } from '../../call/tool-error.ts';
import { isTool } from '../../tool/define-tool.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { describeValue } from '../../tool/describe-value.ts';
import { quote } from '../../base/nearest.ts';
import { isStandardSchema } from '../../tool/standard-schema.ts';
import type { ToolContext } from '../../tool/tool-context.ts';
import type { AdoptedTool } from '../adopt/adopted-tool.ts';
import { fromGoogleSchema } from '../google-genai/schema.ts';
import { readHints } from '../adopt/tool-hints.ts';

/** What the kit gives a tool beside its arguments. */
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
    { appendEvent(request: { session: never; event: never }): Promise<unknown> } | undefined;
  /** There in a live run, which cannot stop for an approval. */
  readonly liveRequestQueue?: unknown;
};

/** What a person answered in the kit's own approval. */
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

/** By these the kit knows its tools, whichever copy of the package made them. */
export const adkToolMark: unique symbol = Symbol.for('google.adk.baseTool');
const toolsetMark: unique symbol = Symbol.for('google.adk.baseToolset');
/** By this a governed tool is known, whichever copy of this package made it. */
export const governedMark: unique symbol = Symbol.for('quittance.governed');

/** The tools in the list, with those of its toolsets. */
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
      'governTools of quittance/google-adk takes tools and toolsets of @google/adk, or tools of defineTool. Found ' +
        `${describeValue(tool)}.`,
    );
  });
}

const isMarked = (value: unknown, mark: symbol): boolean =>
  typeof value === 'object' && value !== null && Reflect.get(value, mark) === true;

/** Reads a tool that can be governed; undefined where the kit or the provider runs it without calling a function. */
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

/** Arguments were judged, and changed, by the schema of the tool. It must not judge them once more. */
const withoutSchema = (tool: AdkTool, more: PropertyDescriptorMap = {}): AdkTool =>
  Object.create(tool, { parameters: { value: undefined }, ...more }) as AdkTool; // the same tool, but for those

/** Does the author of the tool say that a person must be asked? */
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
  // A function tool throws an error of its own, which says nothing of the code or the cause of the first.
  const noting = async (...given: unknown[]): Promise<unknown> => {
    try {
      return await (execute as (...given: unknown[]) => unknown).call(tool, ...given); // asked for below
    } catch (error) {
      thrown = { error };
      throw error;
    }
  };
  const self = withoutSchema(tool, typeof execute === 'function' ? { execute: { value: noting } } : {});
  try {
    const request = { args: args as Record<string, unknown>, toolContext: toGiven(native, context) as never };
    return await self.runAsync(request); // checked by its schema; the context is the kit's, or stands in for it
  } catch (error) {
    throw thrown === undefined ? error : thrown.error;
  }
}

/** What the body is given: the context of the kit, without the ways to stop in the middle of a call. */
function toGiven(native: AdkToolContext | undefined, { callId, signal, toolName }: ToolContext): object {
  const refuse = (): never => {
    throw new ToolError(
      'tool.execution_error',
      `The tool ${quote(toolName)} asked for a confirmation or a credential after it had begun, which a governed tool ` +
        'cannot: its call must end. Ask before it runs: by requireConfirmation, a policy, or the mode of the tool.',
      {
        retryable: false,
        problem: `The tool ${quote(toolName)} tried to stop for an answer after it had begun, which it cannot.`,
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
    // It ends with the deadline of the call too, not only with the run.
    abortSignal: { value: signal },
    // Whoever had to be asked was asked.
    toolConfirmation: { value: { hint: '', confirmed: true } },
    requestConfirmation: { value: refuse },
    requestCredential: { value: refuse },
  }) as object;
}

/** Tools that an agent inside of this tool has, and that are not governed. */
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
