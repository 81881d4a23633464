/** The tools that need approval, in the format of LangChain's human-in-the-loop middleware. */
import { ownValue } from 'quittance/internal/base/json';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import type { LangChainCall, LangChainConfig } from './call.ts';

/** As `interruptOn` of humanInTheLoopMiddleware: `when` decides whether to ask; `description` is the question. */
export type LangChainInterruptOn = Readonly<
  Record<
    string,
    | boolean
    | {
        readonly description?:
          | string
          | undefined
          | ((toolCall: never, state: never, runtime: never) => unknown);
        readonly when?: ((request: never) => unknown) | undefined;
        /** Has no effect: approvers can always approve, deny or edit. */
        readonly allowedDecisions?: readonly string[];
        readonly argsSchema?: unknown;
      }
  >
>;

export type InterruptOn = {
  /** Do calls of a tool need approval? The question must stay the same when it is evaluated again, in any process. */
  asks(toolName: string): AdoptedTool<LangChainCall>['asks'];
  /** The description from a function, for the reader of the interrupt. Undefined if there is none. */
  describe(toolName: string, args: unknown, config: LangChainConfig): Promise<string | undefined>;
};

export function readInterruptOn(interruptOn: LangChainInterruptOn): InterruptOn {
  const saidOf = (name: string): { readonly when?: unknown; readonly description?: unknown } | undefined => {
    const said: unknown = ownValue(interruptOn, name);
    if (said === undefined || said === false) return undefined;
    return typeof said === 'object' && said !== null ? said : {};
  };
  return {
    asks(name) {
      const said = saidOf(name);
      if (said === undefined) return undefined;
      const { when, description } = said;
      const question = typeof description === 'string' ? description : true;
      return async (args, native) => {
        // Without the run there is nothing to evaluate. An existing decision stays valid.
        if (native === undefined || typeof when !== 'function') return question;
        const { toolCall, state, runtime } = asGiven(name, args, native.config);
        // Read as LangChain reads it: any truthy value asks.
        return Boolean(await when({ toolCall, tool: undefined, state, runtime })) && question;
      };
    },
    async describe(name, args, config) {
      const description = saidOf(name)?.description;
      if (typeof description !== 'function') return undefined;
      const { toolCall, state, runtime } = asGiven(name, args, config);
      return String(await description(toolCall, state, runtime));
    },
  };
}

function asGiven(name: string, args: unknown, { state, ...runtime }: LangChainConfig) {
  return { toolCall: { ...runtime.toolCall, name, args, type: 'tool_call' }, state, runtime };
}
