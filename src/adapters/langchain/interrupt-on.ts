/** Which tools ask a person, in the words of LangChain's own middleware for humans in the loop. */
import { ownValue } from '../../tool/own-value.ts';
import type { AdoptedTool } from '../adopt/adopted-tool.ts';
import type { LangChainCall, LangChainConfig } from './call.ts';

/** As `interruptOn` of humanInTheLoopMiddleware: `when` decides whether to ask, `description` what. */
export type LangChainInterruptOn = Readonly<
  Record<
    string,
    | boolean
    | {
        readonly description?:
          string | undefined | ((toolCall: never, state: never, runtime: never) => unknown);
        readonly when?: ((request: never) => unknown) | undefined;
        /** Of no effect: people approve, deny or edit, whoever of them may. */
        readonly allowedDecisions?: readonly string[];
        readonly argsSchema?: unknown;
      }
  >
>;

export type InterruptOn = {
  /** Whether calls of a tool ask. What they ask must stay the same when they are looked at again, anywhere. */
  asks(toolName: string): AdoptedTool<LangChainCall>['asks'];
  /** What a function says about a call, for whoever sees the run stop. Undefined where there is none. */
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
        // Without the run there is nothing to look at. Where it was decided already, the decision stands.
        if (native === undefined || typeof when !== 'function') return question;
        const { toolCall, state, runtime } = asGiven(name, args, native.config);
        // What it gives is read as LangChain reads it: anything true asks.
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
