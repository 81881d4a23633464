/** Tools of LangChain that do nothing but ask the runtime. */
import type { QuittanceError } from '../../base/error.ts';
import { quote } from '../../base/nearest.ts';
import type { FaultMessages } from '../answer/fault-messages.ts';
import { notMade } from '../answer/fault-messages.ts';
import type { InnerTools } from './inner-tools.ts';
import type { LangChainConfig } from './call.ts';
import type { LangChainToolClass, ToolFields, ToolInstance } from './tool.ts';

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
      const config = (given ?? {}) as LangChainConfig; // what `invoke` of the framework makes
      const { toolCall } = config;
      const id = toolCall?.id;
      // A body that hands its config on hands on its own call with it.
      if (typeof id !== 'string' || id === '' || toolCall?.name !== this.name)
        throw faults.forModel(this.name, refuseBareInput(this.name));
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
    `The tool ${quote(name)} was invoked without the id of a call, so the same call could run twice. Invoke it with ` +
      'the tool call of the model, as it is: tool.invoke(message.tool_calls[0], config).',
    { tool: name },
  );
