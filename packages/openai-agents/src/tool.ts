/**
 * The parts of OpenAI Agents JS function tools that this adapter uses. Declared here, so that the package does not
 * depend on it. test/frameworks checks them against the real types.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { ToolError } from 'quittance/internal/call/tool-error';
import { isTool } from 'quittance/internal/tool/define-tool';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { describeValue } from 'quittance/internal/tool/describe-value';
import { quote } from 'quittance/internal/base/nearest';
import { toRefusedInput } from '@quittance/adapter-kit/internal/adopt/refused-input';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import type { AnsweredCalls } from '@quittance/adapter-kit/internal/run/conversation';
import type { Run } from '@quittance/adapter-kit/internal/run/driver';
import { refuseMcpError } from './mcp-error.ts';
import { keepFiles } from './output.ts';
import { readHints } from 'quittance/internal/tool/tool-hints';

/** The run context of the SDK. `context` is the host's value from `run`. */
export type OpenAiAgentsRunContext<Context = unknown> = {
  readonly context: Context;
  isToolApproved(call: {
    readonly toolName: string;
    readonly callId: string;
    readonly agent?: never;
  }): boolean | undefined;
  getRejectionMessage(toolName: string, callId: string): string | undefined;
};

/** The SDK's details of a call, for `invoke`. */
export type OpenAiAgentsCallDetails = {
  readonly toolCall?:
    | { readonly callId: string; readonly arguments: string; readonly id?: string | undefined }
    | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For an agent as a tool, whose run stopped inside. */
  readonly resumeState?: string | undefined;
};

/** The SDK's context of a tool call. There are no details while it only checks for approval. */
export type OpenAiAgentsCall<Context = unknown> = {
  readonly callId: string;
  readonly runContext: OpenAiAgentsRunContext<Context>;
  readonly details?: OpenAiAgentsCallDetails | undefined;
};

/** Our run for a run of the SDK. All tools of a run get the same context. */
export type FollowedRun = {
  readonly run: Run<OpenAiAgentsCall>;
  /** The calls it has answered. */
  readonly answered: AnsweredCalls;
  /**
   * Our ids of calls that the SDK asks people about. It stores approvals by the provider's id, so an earlier call's
   * approval looks like one of a later call with the same id.
   */
  readonly asked: Set<string>;
};
export type RunOf = (runContext: OpenAiAgentsRunContext) => FollowedRun;

/** A function tool of the SDK. */
export type OpenAiAgentsTool = {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: {
    type: 'object';
    properties: Record<string, unknown>;
    required: string[];
    additionalProperties: boolean;
  };
  readonly strict: boolean;
  readonly invoke: (
    runContext: OpenAiAgentsRunContext,
    input: string,
    details?: OpenAiAgentsCallDetails,
  ) => Promise<unknown>;
  readonly needsApproval: (
    runContext: OpenAiAgentsRunContext,
    args: unknown,
    callId?: string,
  ) => Promise<boolean>;
  readonly isEnabled: (runContext: OpenAiAgentsRunContext, agent: unknown) => Promise<boolean>;
};

/** A tool of the SDK, before any check. */
type GivenTool = {
  readonly [
    key in
      | 'type'
      | 'name'
      | 'description'
      | 'parameters'
      | 'outputSchema'
      | 'timeoutMs'
      | 'invoke'
      | 'needsApproval'
  ]?: unknown;
};

/** Reads a tool that can be governed; undefined if it is not a function that the SDK calls. */
export function readOpenAiAgentsTool(given: unknown): AdoptedTool<OpenAiAgentsCall> | AnyTool | undefined {
  if (isTool(given)) return given;
  if (typeof given !== 'object' || given === null || !('name' in given) || typeof given.name !== 'string')
    throw new QuittanceError(
      'config.invalid',
      `Found ${describeValue(given)} among the tools. Expected tools of an agent, as made by tool().`,
    );
  const { name } = given;
  const tool: GivenTool = given;
  const { invoke, description } = tool;
  if (tool.type !== 'function' || typeof invoke !== 'function') return undefined;
  return {
    name,
    description: typeof description === 'string' ? description : undefined,
    input: tool.parameters,
    output: tool.outputSchema,
    asks: readAsks(tool),
    hints: readHints(tool),
    async run(args, native, context) {
      const text = JSON.stringify(args);
      const details = toDetails(native?.details, text, context.signal);
      const { result, rejection } = observeRejection(
        (): unknown => invoke.call(given, native?.runContext, text, details) as unknown,
      );
      const output = await result;
      if (isHiddenFailure(name, tool.timeoutMs, output)) throw await findCause(name, output, rejection);
      refuseMcpError(output);
      return keepFiles(output, context);
    },
  };
}

/** The tool's own timeout, which the SDK would otherwise apply to the wrapped function. */
export function readToolTimeout(given: unknown): number | undefined {
  const { timeoutMs } = given as GivenTool;
  return typeof timeoutMs === 'number' ? timeoutMs : undefined;
}

function readAsks({ needsApproval }: GivenTool): AdoptedTool<OpenAiAgentsCall>['asks'] {
  if (typeof needsApproval !== 'function') return undefined;
  return async (args, native) => {
    try {
      return Boolean(await needsApproval(native?.runContext, args, native?.callId));
    } catch (error) {
      // Without the SDK there is no run context, which the tool may need for its answer. It is then safer to ask.
      if (native === undefined) return true;
      throw error;
    }
  };
}

/**
 * The SDK's details, complete, because it stores its own data in them, partly hidden. Two parts change: the signal
 * also ends at the call's deadline, and the arguments are the allowed ones.
 */
function toDetails(details: OpenAiAgentsCallDetails = {}, text: string, signal: AbortSignal): object {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(details));
  const { toolCall } = details;
  const isSame = toolCall === undefined || sameJson(toolCall.arguments, text);
  // An agent as a tool is identified by this object.
  return Object.assign(copy, { signal, ...(!isSame && { toolCall: { ...toolCall, arguments: text } }) });
}

function sameJson(left: string, right: string): boolean {
  try {
    return JSON.stringify(JSON.parse(left)) === right;
  } catch {
    return false;
  }
}

const hiding = 'An error occurred while running the tool. Please try again.';

/** tool() converts a thrown error to a text. Its default texts are known. */
function isHiddenFailure(name: string, timeoutMs: unknown, output: unknown): output is string {
  if (output === `Tool '${name}' timed out after ${String(timeoutMs)}ms.`) return true;
  return typeof output === 'string' && output.startsWith(hiding);
}

async function findCause(
  name: string,
  output: string,
  rejection: Observed<unknown>['rejection'],
): Promise<unknown> {
  const observed = await rejection();
  if (observed !== undefined) return toRefusedInput(observed.error, 'InvalidToolInputError');
  // Earlier versions append the error to the text.
  const written = output.startsWith(hiding) ? output.slice(hiding.length).replace(/^ Error: /, '') : output;
  if (written !== '') return new Error(written);
  return new ToolError(
    'tool.execution_error',
    `The tool ${quote(name)} threw, and the SDK hides the error. Create the tool with errorFunction: null to record it.`,
    { problem: 'The tool failed. The cause is unknown.' },
  );
}

/**
 * Finds the error of a tool if the framework answers with a text and hides the error.
 *
 * `tool()` of OpenAI Agents JS starts the tool's function and attaches a handler to its promise, both before it
 * returns. During that time only, this watches which promise gets the last handler. No other code can run in between:
 * the span is synchronous, and the method is restored on every path.
 *
 * There is no other way. The function and the error function of a tool are closures of `tool()`, and no argument,
 * result or hook receives the error. Tracing receives only a text, and only if it is on.
 */

type Observed<Result> = {
  readonly result: Result;
  /** The rejection of the watched promise. Undefined if it was not rejected, or if there was none. */
  readonly rejection: () => Promise<{ readonly error: unknown } | undefined>;
};

export function observeRejection<Result>(start: () => Result): Observed<Result> {
  const { prototype } = Promise;
  const own = Object.getOwnPropertyDescriptor(prototype, 'catch');
  const original: unknown = own?.value;
  let watched: Promise<unknown> | undefined;
  const isWatching =
    typeof original === 'function' &&
    Reflect.defineProperty(prototype, 'catch', {
      ...own,
      value: new Proxy(original, {
        apply(attach, promise, handlers) {
          watched = promise as Promise<unknown>; // the receiver of the method
          return Reflect.apply(attach, promise, handlers) as unknown;
        },
      }),
    });
  try {
    return { result: start(), rejection: () => rejectionOf(watched) };
  } finally {
    if (isWatching && own !== undefined) Reflect.defineProperty(prototype, 'catch', own);
  }
}

async function rejectionOf(promise: Promise<unknown> | undefined): Promise<{ error: unknown } | undefined> {
  if (promise === undefined) return undefined;
  // The framework has answered, so its promise is settled. An unsettled promise is another one.
  return Promise.race([
    promise.then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
    new Promise<undefined>((resolve) => setImmediate(resolve, undefined)),
  ]);
}
