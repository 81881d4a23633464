/** Which tools ask a person, in the words of LangChain's own middleware for humans in the loop. */
import { ownValue } from '../tool/own-value.ts';
import type { AdoptedTool } from './adopted-tool.ts';
import type { LangChainCall } from './langchain-tool.ts';

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

export type ReadAsks = (toolName: string) => AdoptedTool<LangChainCall>['asks'];

export const readInterruptOn =
  (interruptOn: LangChainInterruptOn): ReadAsks =>
  (name) => {
    const said: unknown = ownValue(interruptOn, name);
    if (said === undefined || said === false) return undefined;
    if (typeof said !== 'object' || said === null) return () => true;
    const { when, description } = said as { readonly when?: unknown; readonly description?: unknown };
    return async (args, native) => {
      // Without the run there is nothing to look at. Where it was decided already, the decision stands.
      if (native === undefined) return typeof description === 'string' ? description : true;
      const { config } = native;
      const toolCall = { id: config.toolCallId, ...config.toolCall, name, args, type: 'tool_call' };
      const { state, ...runtime } = config;
      // What it gives is read as LangChain reads it: anything true asks.
      if (typeof when === 'function' && !(await when({ toolCall, tool: undefined, state, runtime })))
        return false;
      const told: unknown =
        typeof description === 'function' ? await description(toolCall, state, runtime) : description;
      return typeof told === 'string' ? told : true;
    };
  };
