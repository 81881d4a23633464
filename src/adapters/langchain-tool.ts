/**
 * The tools of LangChain, as far as this adapter touches them. Declared here, so that the package needs none of it;
 * test/frameworks holds them against the real ones.
 */
import { QuittanceError } from '../base/error.ts';
import { isJsonObject } from '../base/json.ts';
import { ToolError } from '../call/tool-error.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { isTool } from '../tool/define-tool.ts';
import type { ToolContext } from '../tool/tool-context.ts';
import type { AdoptedTool } from './adopted-tool.ts';
import type { ReadAsks } from './langchain-interrupt-on.ts';
import { readOutput } from './langchain-output.ts';

/** What LangChain gives a tool beside its input: the config of the run, and what a node of tools adds to it. */
export type LangChainConfig = {
  readonly configurable?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly context?: unknown;
  readonly state?: unknown;
  readonly store?: unknown;
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly id?: string; readonly name: string; readonly args: unknown };
  readonly toolCallId?: string;
  /** Stops the run, and gives what it was resumed with when it is run again. */
  readonly interrupt?: (question: never) => unknown;
  /** Of LangGraph 1.4: the handle on this run. */
  readonly control?: object;
};

/** A tool made by `tool`, of a class of its own, or a runnable as a tool. */
export type LangChainTool = {
  readonly name: string;
  readonly description?: string | undefined;
  readonly schema?: unknown;
  invoke(input: never, config?: never): Promise<unknown>;
};

/** What a call of the framework comes with. */
export type LangChainCall = {
  readonly config: LangChainConfig;
  readonly runManager: unknown;
  /** Runs code where the framework made the call, so that it finds the config of the run there. */
  readonly inPlace: <Result>(code: () => Result) => Result;
  /** What the body gives its application beside the output. */
  artifact: unknown;
};

type ToolFields = Readonly<Record<string, unknown>>;
export type ToolInstance = ToolFields & {
  readonly name: string;
  invoke(input: unknown, config?: unknown): Promise<unknown>;
  call(arg: unknown, config?: unknown, tags?: unknown): Promise<unknown>;
};
/** The class of the framework that all its tools come from. */
export type ToolClass = new (fields: object) => ToolInstance;

/**
 * Finds that class in a tool. The package cannot import it: the copy it would get need not be the one that made the
 * tools.
 */
export function findToolClass(tools: readonly unknown[]): ToolClass {
  for (const tool of tools) {
    let found: ToolClass | undefined;
    for (let at = prototypeOf(tool); at !== null; at = prototypeOf(at))
      // Classes of users may have both too: the one furthest back counts.
      if (Object.hasOwn(at, 'invoke') && Object.hasOwn(at, 'call')) found = at.constructor as ToolClass;
    if (found !== undefined) return found;
  }
  throw new QuittanceError(
    'config.invalid',
    'governTools takes the tools of LangChain, and found none in the list. At least one must be made by tool(…) of ' +
      'langchain or @langchain/core/tools, or of a class that extends StructuredTool.',
  );
}

const prototypeOf = (value: unknown): object | null =>
  typeof value === 'object' && value !== null ? (Object.getPrototypeOf(value) as object | null) : null;

/** Reads a tool that can be governed; undefined where somebody else runs it: the provider, or the client. */
export function readLangChainTool(
  given: unknown,
  Base: ToolClass,
  asksAs: ReadAsks,
): AdoptedTool<LangChainCall> | AnyTool | undefined {
  if (isTool(given)) return given;
  if (!isInvokable(given) || (isJsonObject(given['metadata']) && given['metadata']['headlessTool'] === true))
    return undefined;
  const { name, description, schema } = given;
  return {
    name,
    description: typeof description === 'string' ? description : undefined,
    input: takesText(schema) ? textInput : schema,
    asks: asksAs(name),
    run: async (args, native, context) => {
      const body = (): unknown => runBody(given, Base, args, native, context);
      const { output, artifact } = await readOutput(
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

/** Calls what the author wrote, past everything of the framework that would show its output to anybody. */
function runBody(
  tool: ToolInstance,
  Base: ToolClass,
  given: unknown,
  native: LangChainCall | undefined,
  { callId, sessionId, signal }: ToolContext,
): unknown {
  const args = takesText(tool['schema']) ? (given as { input?: string }).input : given;
  const toolCall = {
    id: callId,
    name: tool.name,
    ...native?.config.toolCall,
    // A body may look here too: it finds what was allowed, not what was asked.
    args: given,
    type: 'tool_call',
  };
  const known = { configurable: { thread_id: sessionId }, toolCallId: callId, ...native?.config };
  // The signal of the call ends with its deadline too, not only with the run.
  const config = { ...known, toolCall, signal };
  const { _call: own } = tool;
  const { prototype } = Base as { readonly prototype: object };
  if (typeof own === 'function' && Reflect.get(tool, 'invoke') === Reflect.get(prototype, 'invoke'))
    return own.call(tool, args, native?.runManager, config);
  if (isJsonObject(given) && given['type'] === 'tool_call')
    // The framework would take this for the call itself, and run what is inside.
    throw new ToolError('tool.invalid_input', 'Arguments may not look like a tool call.');
  return tool.invoke(toolCall, config);
}

const textInput = { type: 'object', properties: { input: { type: 'string' } } };

/** Tools of one text have a schema that makes the text of an object. */
function takesText(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null || !('safeParse' in schema)) return false;
  const { safeParse } = schema;
  if (typeof safeParse !== 'function') return false;
  try {
    const probe: unknown = safeParse.call(schema, { input: 'text' });
    return isJsonObject(probe) && probe['data'] === 'text';
  } catch {
    return false; // a schema that only answers later takes objects
  }
}

/** What a tool shows the framework and the model. */
export type ShownTool = {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  /** The tool it stands for, if that is one of the framework. */
  readonly original: unknown;
};

/** What a call comes to, as a message of a tool holds it. */
export type ToolAnswer = {
  readonly content: unknown;
  readonly artifact: unknown;
  readonly isError: boolean;
};

export type MakeToolCall = (
  call: { readonly id: string; readonly name: string; readonly args: unknown },
  config: LangChainConfig,
  runManager: unknown,
) => Promise<ToolAnswer>;

/** Makes tools of the framework whose body is `make`, and nothing else. */
export function createToolMaker(Base: ToolClass, make: MakeToolCall): (shown: ShownTool) => ToolInstance {
  class GovernedTool extends Base {
    static lc_name(): string {
      return 'DynamicStructuredTool';
    }

    override async call(args: unknown, given?: unknown, tags?: unknown): Promise<unknown> {
      const config = (given ?? {}) as LangChainConfig; // what `invoke` of the framework makes
      const id = config.toolCall?.id ?? config.toolCallId;
      if (typeof id !== 'string' || id === '') throw refuseBareInput(this.name);
      let isError = false;
      const once = Object.create(this, {
        // The model reads the schema. Here it lets everything through: arguments are judged, and mended, by the runtime.
        schema: { value: {} },
        _call: {
          value: async (_: unknown, runManager: unknown, runConfig: LangChainConfig) => {
            const answer = await make({ id, name: this.name, args }, runConfig, runManager);
            isError = answer.isError;
            return [answer.content, answer.artifact];
          },
        },
      }) as this;
      const message = await super.call.call(once, args, { runName: this.name, ...config }, tags);
      return Object.assign(message as object, { tool_call_id: id, status: isError ? 'error' : 'success' });
    }
  }
  return ({ name, description, schema, original }) => {
    const own: ToolFields = typeof original === 'object' && original !== null ? { ...original } : {};
    const fields = Object.fromEntries(
      ['callbacks', 'defaultConfig', 'extras', 'metadata', 'tags', 'verbose'].map((key) => [key, own[key]]),
    );
    return Object.assign(new GovernedTool({ ...fields, responseFormat: 'content_and_artifact' }), {
      name,
      description,
      schema,
      returnDirect: own['returnDirect'] === true,
    });
  };
}

const refuseBareInput = (name: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The tool "${name}" was invoked without the id of a call, and cannot be: the same call could run twice. Invoke it ` +
      'with the tool call of the model, as it is: tool.invoke(message.tool_calls[0], config).',
    { tool: name },
  );
