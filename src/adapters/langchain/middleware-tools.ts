/**
 * Tools that a LangChain agent gets from middleware, such as the file tools of deepagents, judged and recorded by
 * `wrapToolCall`. The call is made like any other; the framework's handler is its function.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { isJsonObject } from '../../base/json.ts';
import { ToolError } from '../../call/tool-error.ts';
import { quote } from '../../base/nearest.ts';
import type { AdoptedTool } from '../adopt/adopted-tool.ts';
import type { LangChainCall } from './call.ts';
import { isMarked, readToolOutput } from './output.ts';

/** One call of the framework: runs the tool with the allowed arguments. */
type Handling = { readonly handle: (args: unknown) => unknown; result: unknown };

export class MiddlewareTools {
  readonly #handling = new AsyncLocalStorage<Handling>();

  /** The tool for the runtime. */
  adopt(name: string): AdoptedTool<LangChainCall> {
    return {
      name,
      run: async (args, native, context) => {
        const handling = native?.inPlace(() => this.#handling.getStore());
        if (native === undefined || handling === undefined) throw refuseAlone(name);
        const result = await native.inPlace(() => handling.handle(args));
        const { output } = await readToolOutput(messageIn(result, context.callId), {}, context);
        handling.result = result;
        return output;
      },
    };
  }

  /**
   * Makes the call and returns the framework's result: the message of the governed tool. If the tool returned a
   * Command and succeeded, it returns that, with the message in it.
   */
  async call(
    handle: (args: unknown) => unknown,
    make: () => Promise<unknown>,
    toolCallId: string | undefined,
  ): Promise<unknown> {
    const handling: Handling = { handle, result: undefined };
    const message = await this.#handling.run(handling, make);
    const { result } = handling;
    const isError = isJsonObject(message) && message['status'] === 'error';
    return isError || !isCommand(result) ? message : withMessage(result, message, toolCallId);
  }
}

type Command = { readonly [key: string]: unknown; readonly update?: unknown };

const isCommand = (value: unknown): value is Command => isMarked(value, 'lg_name', 'Command');

const messagesOf = ({ update }: Command): readonly unknown[] =>
  isJsonObject(update) && Array.isArray(update['messages']) ? (update['messages'] as unknown[]) : [];

const isAnswerTo = (message: unknown, toolCallId: string | undefined): boolean =>
  isMarked(message, 'tool_call_id', toolCallId);

/** The text for the model: the message itself, or the one in a Command. */
function messageIn(result: unknown, callId: string): unknown {
  if (!isCommand(result)) return result;
  const messages = messagesOf(result);
  // The recorded id may distinguish repeated ids; then the only message is the right one.
  return messages.find((message) => isAnswerTo(message, callId)) ?? messages.at(-1) ?? null;
}

function withMessage(command: Command, message: unknown, toolCallId: string | undefined): unknown {
  const others = messagesOf(command).filter((one) => !isAnswerTo(one, toolCallId));
  const update = { ...(isJsonObject(command.update) ? command.update : {}), messages: [...others, message] };
  const copy = Object.create(
    Object.getPrototypeOf(command) as object,
    Object.getOwnPropertyDescriptors(command),
  );
  return Object.assign(copy as object, { update });
}

const refuseAlone = (name: string): ToolError =>
  new ToolError(
    'tool.execution_error',
    `Middleware of the agent runs the tool ${quote(name)}, and no run of the agent has requested this ` +
      'call. Run the agent again in its thread.',
    { retryable: true, problem: 'The agent that runs this tool was not available. Nothing ran.' },
  );
