/**
 * For a plain loop over the Responses or the Chat Completions API of OpenAI: converts the model's calls to their
 * answers.
 */
import type { PendingCall, Turn } from 'quittance/internal/runtime/turn';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { TurnOptions } from 'quittance/internal/runtime/call-options';
import type {
  LoopAnswer,
  LoopCall,
  LoopMessage,
  LoopOptions,
  LoopRun,
  LoopTools,
} from '@quittance/adapter-kit/internal/run/govern-loop';
import { governLoop } from '@quittance/adapter-kit/internal/run/govern-loop';
import { isJsonObject, ownValue } from 'quittance/internal/base/json';
import type { ConversationStep } from '@quittance/adapter-kit/internal/run/conversation';
import { readItems } from './items.ts';

/** The model's answer: a response, or its output items. */
export type OpenAiResponse =
  | { readonly output: readonly unknown[]; readonly status?: string | null }
  | readonly unknown[];

/** The model's answer: a completion, one of its choices, or its message. */
export type OpenAiCompletion =
  | { readonly choices: readonly unknown[] }
  | { readonly message: unknown; readonly finish_reason?: string | null }
  | { readonly tool_calls?: readonly unknown[] | null };

type InputText = { type: 'input_text'; text: string };
type InputImage = { type: 'input_image'; image_url: string; detail: 'auto' };

/** The item that answers a call of the Responses API. */
export type OpenAiCallOutput = {
  type: 'function_call_output' | 'custom_tool_call_output';
  call_id: string;
  output: (InputText | InputImage)[];
};

/** The message that answers a call of the Chat Completions API. */
export type OpenAiToolMessage = {
  role: 'tool';
  tool_call_id: string;
  content: { type: 'text'; text: string }[];
};

/** A tool in the format of the Responses API. */
export type OpenAiResponseTool = {
  type: 'function';
  name: string;
  description: string;
  parameters: { [key: string]: unknown };
  strict: false;
};

/** A tool in the format of the Chat Completions API. */
export type OpenAiCompletionTool = {
  type: 'function';
  function: { name: string; description: string; parameters: { [key: string]: unknown } };
};

/** Options for an answer of the model. */
export type OpenAiAnswerOptions = {
  readonly signal?: AbortSignal;
  /**
   * Your `input` or `messages`, up to or including this answer. It distinguishes calls if the provider reuses ids,
   * also after a restart. Without it, only the answers given to this run are known.
   */
  readonly conversation?: readonly unknown[];
};
type OrPending<Result> = { readonly results: Result[]; readonly pending: readonly PendingCall[] };

/**
 * One turn of the loop. Both APIs need all answers at once: while a call is pending there is nothing to send. Repeat
 * it with the same model answer, in any process, after the decisions.
 */
export type OpenAiRun = {
  readonly turn: Turn;
  /** For `tools` of a request to the Responses API. */
  readonly responseTools: OpenAiResponseTool[];
  /** For `tools` of a request to the Chat Completions API. */
  readonly completionTools: OpenAiCompletionTool[];
  /** Makes the calls of a response and returns the items that answer them. Waits for approvals. */
  answerResponse(response: OpenAiResponse, options?: OpenAiAnswerOptions): Promise<OpenAiCallOutput[]>;
  /** The same without waiting for approvals. */
  answerResponseOrPending(
    response: OpenAiResponse,
    options?: OpenAiAnswerOptions,
  ): Promise<OrPending<OpenAiCallOutput>>;
  /** Makes the calls of a completion and returns the messages that answer them. Waits for approvals. */
  answerCompletion(completion: OpenAiCompletion, options?: OpenAiAnswerOptions): Promise<OpenAiToolMessage[]>;
  /** The same without waiting for approvals. */
  answerCompletionOrPending(
    completion: OpenAiCompletion,
    options?: OpenAiAnswerOptions,
  ): Promise<OrPending<OpenAiToolMessage>>;
};

export type GovernedOpenAiLoop = {
  readonly runtime: Runtime;
  /** Opens a turn of a session. Open one for each user message. */
  readonly run: (options: TurnOptions) => OpenAiRun;
};

/** Puts tools under Quittance for a loop over the Responses or the Chat Completions API. */
export async function governTools(tools: LoopTools, options: LoopOptions = {}): Promise<GovernedOpenAiLoop> {
  const loop = await governLoop('@quittance/openai', import.meta.url, tools, options, (run, { id, name }) =>
    toOpenAiRun(run).answerResponse([{ type: 'function_call', call_id: id, name, arguments: '{}' }]),
  );
  return { runtime: loop.runtime, run: (turnOptions) => toOpenAiRun(loop.run(turnOptions)) };
}

function toOpenAiRun(run: LoopRun): OpenAiRun {
  const answer = async <Result>(
    source: object,
    calls: readonly CallItem[],
    options: OpenAiAnswerOptions,
    toResult: (call: CallItem, answer: LoopAnswer) => Result,
  ): Promise<Result[]> => {
    const answers = await run.answer(toLoopMessage(source, calls, options), options.signal);
    return calls.map((call, index) => toResult(call, answerAt(answers, index, call)));
  };
  const answerOrPending = async <Result>(
    source: object,
    calls: readonly CallItem[],
    options: OpenAiAnswerOptions,
    toResult: (call: CallItem, answer: LoopAnswer) => Result,
  ): Promise<OrPending<Result>> => {
    const answers = await run.answerOrPending(toLoopMessage(source, calls, options), options.signal);
    const pending = answers.filter((one) => one.type === 'pending');
    const ended = answers.filter((one) => one.type !== 'pending');
    if (pending.length > 0) return { results: [], pending };
    return { results: calls.map((call, index) => toResult(call, answerAt(ended, index, call))), pending };
  };
  const parametersOf = (schema: object | undefined) => ({ ...schema, type: 'object' });
  return {
    turn: run.turn,
    responseTools: run.offered.map(({ name, description, schema }) => ({
      type: 'function',
      name,
      description,
      parameters: parametersOf(schema),
      // Strict schemas support fewer keywords than ours; the runtime rejects invalid arguments anyway.
      strict: false,
    })),
    completionTools: run.offered.map(({ name, description, schema }) => ({
      type: 'function',
      function: { name, description, parameters: parametersOf(schema) },
    })),
    answerResponse: (response, options = {}) =>
      answer(response, readResponse(response), options, toCallOutput),
    answerResponseOrPending: (response, options = {}) =>
      answerOrPending(response, readResponse(response), options, toCallOutput),
    answerCompletion: (completion, options = {}) =>
      answer(completion, readCompletion(completion), options, toToolMessage),
    answerCompletionOrPending: (completion, options = {}) =>
      answerOrPending(completion, readCompletion(completion), options, toToolMessage),
  };
}

const toLoopMessage = (
  source: object,
  calls: readonly CallItem[],
  { conversation }: OpenAiAnswerOptions,
): LoopMessage => ({
  calls,
  ids: readMessageIds(source),
  conversation: conversation && readConversation(conversation),
  messages: conversation,
});

function answerAt(answers: readonly LoopAnswer[], index: number, { id }: LoopCall): LoopAnswer {
  const found = answers[index];
  if (found === undefined) throw new TypeError(`The call ${id} has no answer.`);
  return found;
}

/** The tabled content and additional facts, as separate parts. */
const textsOf = (answer: LoopAnswer): readonly string[] =>
  answer.type === 'answer' && answer.note !== undefined ? [answer.content, answer.note] : [answer.content];

const toCallOutput = ({ id, isCustom }: CallItem, answer: LoopAnswer): OpenAiCallOutput => ({
  type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
  call_id: id,
  output: [
    ...textsOf(answer).map((text) => ({ type: 'input_text', text }) as const),
    ...(answer.type === 'answer' ? answer.files : [])
      .filter(({ mimeType }) => mimeType.startsWith('image/'))
      .map(({ mimeType, content }) => {
        const data = Buffer.from(content as Uint8Array).toString('base64'); // accepts both text and bytes
        return { type: 'input_image', image_url: `data:${mimeType};base64,${data}`, detail: 'auto' } as const;
      }),
  ],
});

/** This API accepts only text here: files are named in the content and can be requested. */
const toToolMessage = ({ id }: CallItem, answer: LoopAnswer): OpenAiToolMessage => ({
  role: 'tool',
  tool_call_id: id,
  content: textsOf(answer).map((text) => ({ type: 'text', text })),
});

/**
 * Reads the calls from the answer of an OpenAI model. Calls that the provider runs itself are in items of other
 * types.
 */

/** A call, and whether its tool takes free text: such a tool receives it as `{input}`. */
type CallItem = LoopCall & { readonly isCustom: boolean };

type Found = {
  readonly id: unknown;
  readonly name: unknown;
  readonly args: unknown;
  readonly isCustom: boolean;
};

function readResponse(response: unknown): readonly CallItem[] {
  const items = Array.isArray(response) ? response : listAt(response, 'output');
  const found = items.filter(isJsonObject).flatMap((item): Found[] => {
    const { type, call_id: id, name } = item;
    if (type === 'function_call') return [{ id, name, args: item['arguments'], isCustom: false }];
    if (type === 'custom_tool_call') return [{ id, name, args: item['input'], isCustom: true }];
    return [];
  });
  return toItems(found, !Array.isArray(response) && at(response, 'status') === 'incomplete');
}

function readCompletion(completion: unknown): readonly CallItem[] {
  const choice = at(completion, 'choices') === undefined ? completion : listAt(completion, 'choices')[0];
  const message = at(choice, 'message') ?? choice;
  const found = listAt(message, 'tool_calls').map((call): Found => {
    const custom = at(call, 'type') === 'custom';
    const said = at(call, custom ? 'custom' : 'function');
    return {
      id: at(call, 'id'),
      name: at(said, 'name'),
      args: at(said, custom ? 'input' : 'arguments'),
      isCustom: custom,
    };
  });
  return toItems(found, at(choice, 'finish_reason') === 'length');
}

/** The id of a response or a completion, and the ids of the items of a response. */
function readMessageIds(message: object): LoopMessage['ids'] {
  const items = Array.isArray(message) ? message : listAt(message, 'output');
  const id = at(message, 'id');
  return {
    message: typeof id === 'string' ? id : undefined,
    items: items.map((item) => at(item, 'id')).filter((each) => typeof each === 'string'),
  };
}

/** The call ids of a conversation of either API. */
export function readConversation(items: readonly unknown[]): readonly ConversationStep[] {
  if (!items.some((item) => listAt(item, 'tool_calls').length > 0 || at(item, 'role') === 'tool'))
    return readItems(items);
  return items.map((message): ConversationStep => {
    const answered = at(message, 'role') === 'tool' ? at(message, 'tool_call_id') : undefined;
    if (typeof answered === 'string') return { type: 'answer', id: answered };
    const ids = listAt(message, 'tool_calls').flatMap((call) => {
      const id = at(call, 'id');
      return typeof id === 'string' ? [id] : [];
    });
    return ids.length > 0 ? { type: 'calls', ids } : { type: 'other' };
  });
}

/** An answer that reached its length limit is cut off in its last call. */
const toItems = (found: readonly Found[], isShort: boolean): readonly CallItem[] =>
  found.map(({ id, name, args, isCustom }, index) => ({
    // The code that reads calls rejects wrong types, with a message.
    id: id as string,
    name: name as string,
    // A tool without parameters is often called with no arguments at all.
    arguments: isCustom ? { input: args } : args === '' || args === undefined ? {} : (args as string),
    isCustom,
    isCutOff: isShort && index === found.length - 1,
  }));

const at = (holder: unknown, key: string): unknown =>
  isJsonObject(holder) ? ownValue(holder, key) : undefined;

function listAt(holder: unknown, key: string): readonly unknown[] {
  const list = at(holder, key);
  return Array.isArray(list) ? list : [];
}
