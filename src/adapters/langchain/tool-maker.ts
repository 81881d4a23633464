/** LangChain tools that only call the runtime. */
import type { QuittanceError } from '../../base/error.ts';
import { quote } from '../../base/nearest.ts';
import type { FaultMessages } from '../answer/fault-messages.ts';
import { notMade } from '../answer/fault-messages.ts';
import type { InnerTools } from './inner-tools.ts';
import type { LangChainConfig } from './call.ts';
import type { LangChainToolClass, ToolFields, ToolInstance } from './tool.ts';

/** The properties of a tool for the framework and the model. */
export type ShownTool = {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  /** The replaced tool, if it is one of the framework. */
  readonly original: unknown;
};

/** The result of a call, as a tool message holds it. */
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

/** Makes tools of the framework whose only function is `make`. */
export function createToolMaker(
  Base: LangChainToolClass,
  make: MakeToolCall,
  faults: FaultMessages,
  inner: InnerTools,
): (shown: ShownTool) => ToolInstance {
  class GovernedTool extends Base {
    static lc_name(): string {
      return 'DynamicStructuredTool';
    }

    override async call(args: unknown, given?: unknown, tags?: unknown): Promise<unknown> {
      const config = (given ?? {}) as LangChainConfig; // as made by the framework's `invoke`
      const { toolCall } = config;
      const id = toolCall?.id;
      // A tool that passes its config on also passes its own call.
      if (typeof id !== 'string' || id === '' || toolCall?.name !== this.name)
        throw faults.forModel(this.name, refuseBareInput(this.name));
      let isError = false;
      const once = Object.create(this, {
        // The model reads the schema. Here it accepts everything: the runtime checks and coerces the arguments.
        schema: { value: {} },
        _call: {
          value: async (_: unknown, runManager: unknown, runConfig: LangChainConfig) => {
            const answer = await make({ id, name: this.name, args }, runConfig, runManager);
            isError = answer.isError;
            return [answer.content, answer.artifact];
          },
        },
      }) as this;
      const message = await inner.starting({ id, name: this.name }, 'governed tool', () =>
        super.call.call(once, args, { runName: this.name, ...config }, tags),
      );
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
  notMade(
    `The tool ${quote(name)} was called without the id of the call.`,
    `The tool ${quote(name)} was invoked without the id of a call, so the same call could run twice. ` +
      "Invoke it with the model's tool call, unchanged: tool.invoke(message.tool_calls[0], config).",
    { tool: name },
  );
