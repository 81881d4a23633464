/**
 * The parts of LangChain tools that this adapter uses. Declared here, so that the package does not depend on it.
 * test/frameworks checks them against the real types.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject } from 'quittance/internal/base/json';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { isTool } from 'quittance/internal/tool/define-tool';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import { toRefusedInput } from '@quittance/adapter-kit/internal/adopt/refused-input';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import type { LangChainCall } from './call.ts';
import type { InterruptOn } from './interrupt-on.ts';
import { readToolOutput } from './output.ts';
import { readHints } from 'quittance/internal/tool/tool-hints';

/** A tool made by `tool`, an instance of a custom class, or a runnable as a tool. */
export type LangChainTool = {
  readonly name: string;
  readonly description?: string | undefined;
  readonly schema?: unknown;
  readonly invoke: (...args: never) => unknown;
};

export type ToolFields = Readonly<Record<string, unknown>>;
export type ToolInstance = ToolFields & {
  readonly name: string;
  invoke(input: unknown, config?: unknown): Promise<unknown>;
  call(arg: unknown, config?: unknown, tags?: unknown): Promise<unknown>;
};
/** The framework's base class of all tools. */
export type LangChainToolClass = new (fields: object) => ToolInstance;

/**
 * Finds that class through a tool. The package cannot import it, because its copy may differ from the one that made
 * the tools.
 */
export function findToolClass(tools: readonly unknown[]): LangChainToolClass {
  for (const tool of tools) {
    let found: LangChainToolClass | undefined;
    for (let at = prototypeOf(tool); at !== null; at = prototypeOf(at))
      // User classes may have both too: the most basic one counts.
      if (Object.hasOwn(at, 'invoke') && Object.hasOwn(at, 'call'))
        found = at.constructor as LangChainToolClass;
    if (found !== undefined) return found;
  }
  throw new QuittanceError(
    'config.invalid',
    'governTools expects LangChain tools, but found none in the list. At least one must be made by ' +
      'tool(…) of langchain or @langchain/core/tools, or be an instance of a class that extends ' +
      'StructuredTool. If all are made by defineTool or governMcp, pass that class: ' +
      'governTools(tools, { toolClass: StructuredTool }).',
  );
}

const prototypeOf = (value: unknown): object | null =>
  typeof value === 'object' && value !== null ? (Object.getPrototypeOf(value) as object | null) : null;

/** Reads a tool that can be governed; undefined if the provider or the client runs it. */
export function readLangChainTool(
  given: unknown,
  Base: LangChainToolClass,
  interruptOn: InterruptOn,
): AdoptedTool<LangChainCall> | AnyTool | undefined {
  if (isTool(given)) return given;
  if (!isInvokable(given) || (isJsonObject(given['metadata']) && given['metadata']['headlessTool'] === true))
    return undefined;
  const { name, description, schema } = given;
  return {
    name,
    description: typeof description === 'string' ? description : undefined,
    input: takesText(schema) ? textInput : schema,
    asks: interruptOn.asks(name),
    hints: readHints(given),
    run: async (args, native, context) => {
      const body = (): unknown => runBody(given, Base, args, native, context);
      const { output, artifact } = await readToolOutput(
        native === undefined ? body() : native.inPlace(body),
        given,
        context,
      );
      if (native !== undefined) native.artifact = artifact;
      return output;
    },
  };
}

function isInvokable(given: unknown): given is ToolInstance {
  return (
    typeof given === 'object' &&
    given !== null &&
    'invoke' in given &&
    typeof given.invoke === 'function' &&
    'name' in given &&
    typeof given.name === 'string'
  );
}

/** Calls the author's function directly, bypassing the framework code that would show its output. */
function runBody(
  tool: ToolInstance,
  Base: LangChainToolClass,
  given: unknown,
  native: LangChainCall | undefined,
  { callId, sessionId, signal }: ToolContext,
): unknown {
  const args = takesText(tool['schema']) ? (given as { input?: string }).input : given;
  const toolCall = {
    id: callId,
    name: tool.name,
    ...native?.config.toolCall,
    // The function may read its arguments here too: it finds the allowed ones, not the requested ones.
    args: given,
    type: 'tool_call',
  };
  const known = { configurable: { thread_id: sessionId }, toolCallId: callId, ...native?.config };
  // The signal of the call also ends at its deadline, not only with the run.
  const config = { ...known, toolCall, signal };
  const { _call: own } = tool;
  const { prototype } = Base as { readonly prototype: object };
  if (typeof own === 'function' && Reflect.get(tool, 'invoke') === Reflect.get(prototype, 'invoke'))
    return own.call(tool, args, native?.runManager, config);
  if (isJsonObject(given) && given['type'] === 'tool_call')
    // The framework would mistake this for the call itself and run its content.
    throw new ToolError('tool.invalid_input', 'Arguments may not look like a tool call.', { effect: 'none' });
  return tool.invoke(toolCall, config).catch((error: unknown) => {
    throw toRefusedInput(error, 'ToolInputParsingException');
  });
}

const textInput = { type: 'object', properties: { input: { type: 'string' } } };

/** Tools with a single text have a schema that extracts the text from an object. */
function takesText(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null || !('safeParse' in schema)) return false;
  const { safeParse } = schema;
  if (typeof safeParse !== 'function') return false;
  try {
    const probe: unknown = safeParse.call(schema, { input: 'text' });
    return isJsonObject(probe) && probe['data'] === 'text';
  } catch {
    return false; // a schema that answers asynchronously accepts objects
  }
}
