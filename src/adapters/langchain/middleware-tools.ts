/**
 * Tools that an agent of LangChain gets from middleware, such as the file tools of deepagents, judged and recorded by
 * `wrapToolCall`. The call is made as any other; its body is the handler of the framework.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { isJsonObject } from '../../base/json.ts';
import { ToolError } from '../../call/tool-error.ts';
import { quote } from '../../base/nearest.ts';
import type { AdoptedTool } from '../adopt/adopted-tool.ts';
import type { LangChainCall } from './call.ts';
import { isMarked, readToolOutput } from './output.ts';

/** One call of the framework: runs the tool with the arguments that were let through. */
type Handling = { readonly handle: (args: unknown) => unknown; result: unknown };

export class MiddlewareTools {
  readonly #handling = new AsyncLocalStorage<Handling>();

  /** The tool as the runtime has it. */
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
   * Makes the call, and gives what the framework goes on with: the message of the governed tool. Where the tool gave a
   * Command and succeeded, that, with the message in it.
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

/** What the model would be told: the message itself, or the one in a Command. */
function messageIn(result: unknown, callId: string): unknown {
  if (!isCommand(result)) return result;
  const messages = messagesOf(result);
  // The id in our record may be one that tells repeated ids apart: then the only message is meant.
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
    `The tool ${quote(name)} is run by middleware of the agent, and no run of the agent has asked for this call. Run the ` +
      'agent again in its thread.',
    { retryable: true, problem: 'The agent that runs this tool was not there. Nothing ran.' },
  );
