/**
 * For a loop over the Google GenAI SDK, or its automatic function calling: converts function calls to function
 * responses.
 */
import { checkObject } from 'quittance/internal/base/check-keys';
import { QuittanceError } from 'quittance/internal/base/error';
import type { PendingCall, Turn } from 'quittance/internal/runtime/turn';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { ToolCallInput, TurnOptions } from 'quittance/internal/runtime/call-options';
import { describeValue } from 'quittance/internal/tool/describe-value';
import type { AnswerFile } from '@quittance/adapter-kit/internal/answer/answer';
import type { GenAiFoundCall } from './calls.ts';
import { readGenAiCalls, callsIn, readList } from './calls.ts';
import type { GenAiCallable } from './callable.ts';
import { readCallable } from './callable.ts';
import type {
  LoopAnswer,
  LoopMessage,
  LoopOptions,
  LoopRun,
  LoopTools,
} from '@quittance/adapter-kit/internal/run/govern-loop';
import { governLoop } from '@quittance/adapter-kit/internal/run/govern-loop';
import { sessionCallId } from 'quittance/internal/call/session-call-id';
import { ownValue } from 'quittance/internal/base/json';

/**
 * The model's answer: a response, a content, its parts, its function calls, all chunks of a streamed response, or a
 * message of the Live API.
 */
export type GenAiAnswer = object | readonly object[];

/** The part that answers a function call. */
export type GenAiResponsePart = {
  functionResponse: {
    id?: string;
    name: string;
    /** The tabled content as text, under `output`, or `error` if the call failed. `note` holds additional facts. */
    response: { output?: string; error?: string; note?: string };
    parts?: { inlineData: { mimeType: string; data: string } }[];
  };
};

/** A tool in the format of the API. */
export type GenAiTool = {
  functionDeclarations: {
    name: string;
    description: string;
    parametersJsonSchema: { type: 'object'; [key: string]: unknown };
  }[];
};

/** A callable tool in the format of the SDK, for automatic function calling. */
export type GenAiCallableTool = {
  tool(): Promise<GenAiTool>;
  callTool(functionCalls: object[]): Promise<GenAiResponsePart[]>;
};

/** Options of `governTools`. */
export type GenAiOptions = LoopOptions & {
  /** Callable tools of the SDK to govern, such as `mcpToTool(client)`. Each function they declare becomes a tool. */
  readonly callableTools?: readonly GenAiCallable[];
};

export type GenAiRunOptions = TurnOptions & {
  /**
   * The contents so far: `[]` for a new conversation, `chat.getHistory()` for a chat. They are read once, here.
   * Gemini gives most calls no id, so their place in the conversation is their id, in every process.
   */
  readonly conversation: readonly unknown[];
};

/** One turn of the loop. */
export type GenAiRun = {
  readonly turn: Turn;
  /** For `config.tools` of a request, if your loop answers the calls. */
  readonly tools: GenAiTool[];
  /**
   * Makes the calls of a message and returns the parts that answer them, in order. Waits for approvals. Empty if the
   * model made no calls.
   */
  answer(message: GenAiAnswer, options?: { readonly signal?: AbortSignal }): Promise<GenAiResponsePart[]>;
  /**
   * The same without waiting for approvals. While a call is pending there is nothing to send, because the API needs
   * all answers at once. Repeat it with the same message, in any process, after the decisions.
   */
  answerOrPending(
    message: GenAiAnswer,
    options?: { readonly signal?: AbortSignal },
  ): Promise<{ readonly results: GenAiResponsePart[]; readonly pending: readonly PendingCall[] }>;
  /**
   * For `config.tools` if the SDK answers the calls itself, streaming or not. The SDK does not pass its `abortSignal`
   * to tools, so pass it here too.
   */
  callableTool(options?: { readonly signal?: AbortSignal }): GenAiCallableTool;
};

export type GovernedGenAiLoop = {
  readonly runtime: Runtime;
  /** Opens a turn of a session. Open one for each user message. */
  readonly run: (options: GenAiRunOptions) => GenAiRun;
};

/** Puts tools under Quittance for a loop over the Google GenAI SDK. */
export async function governTools(tools: LoopTools, given: GenAiOptions = {}): Promise<GovernedGenAiLoop> {
  checkObject('@quittance/google-genai: governTools', given);
  const { callableTools = [], ...options } = given;
  const adopted = (await Promise.all(callableTools.map(readCallable))).flat();
  const loop = await governLoop(
    '@quittance/google-genai',
    import.meta.url,
    tools,
    options,
    (run, { id, name }) => toGenAiRun(run, []).answer({ parts: [{ functionCall: { id, name, args: {} } }] }),
    adopted,
  );
  return {
    runtime: loop.runtime,
    run({ conversation, ...turnOptions }) {
      if (!Array.isArray(conversation)) throw refuseConversation(conversation);
      return toGenAiRun(loop.run(turnOptions), conversation);
    },
  };
}

function toGenAiRun(run: LoopRun, contents: readonly unknown[]): GenAiRun {
  const conversation = new GenAiConversation(contents);
  const tools: GenAiTool[] =
    run.offered.length === 0
      ? []
      : [
          {
            functionDeclarations: run.offered.map(({ name, description, schema }) => ({
              name,
              description,
              parametersJsonSchema: { ...schema, type: 'object' },
            })),
          },
        ];
  const toMessage = (message: object, calls: readonly GenAiFoundCall[]): LoopMessage => {
    const ids = conversation.place(calls);
    return {
      calls: calls.map(({ name, args, isCutOff }, index) => ({
        id: ids[index] ?? '',
        name,
        // The runtime denies arguments that are not an object, with a message.
        arguments: args as ToolCallInput['arguments'],
        isCutOff,
      })),
      // The ids of the calls are sufficient: each belongs to one call of the conversation.
      ids: { message: undefined, items: [] },
      conversation: [],
      messages: contents,
    };
  };
  const answer: GenAiRun['answer'] = async (message, { signal } = {}) => {
    const calls = readGenAiCalls(message);
    const answers = await run.answer(toMessage(message, calls), signal);
    conversation.answered(calls);
    return calls.map((call, index) => toPart(call, answers[index]));
  };
  return {
    turn: run.turn,
    tools,
    answer,
    async answerOrPending(message, { signal } = {}) {
      const calls = readGenAiCalls(message);
      const answers = await run.answerOrPending(toMessage(message, calls), signal);
      const pending = answers.filter((one) => one.type === 'pending');
      if (pending.length > 0) return { results: [], pending };
      conversation.answered(calls);
      const ended = answers.filter((one) => one.type !== 'pending');
      return { results: calls.map((call, index) => toPart(call, ended[index])), pending };
    },
    callableTool: (options = {}) => ({
      tool: async () => tools[0] ?? { functionDeclarations: [] },
      callTool: (functionCalls) => answer(functionCalls, options),
    }),
  };
}

function toPart({ id, name }: GenAiFoundCall, answer: LoopAnswer | undefined): GenAiResponsePart {
  if (answer === undefined) throw new TypeError(`A call of ${name} has no answer.`);
  const named = { ...(id !== undefined && { id }), name };
  if (answer.type === 'cut off')
    return { functionResponse: { ...named, response: { error: answer.content } } };
  const { content, note, files, isError } = answer;
  const parts = isError ? [] : files.flatMap((file) => toInlineData(file) ?? []);
  return {
    functionResponse: {
      ...named,
      response: { [isError ? 'error' : 'output']: content, ...(note !== undefined && { note }) },
      ...(parts.length > 0 && { parts }),
    },
  };
}

/** The file types that the API accepts in a function response; other files are named in the content. */
const inlineTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'application/pdf', 'text/plain']);

function toInlineData({ mimeType, content }: AnswerFile) {
  if (!inlineTypes.has(mimeType)) return undefined;
  const data = Buffer.from(content as Uint8Array).toString('base64'); // accepts both text and bytes
  return { inlineData: { mimeType, data } };
}

const refuseConversation = (found: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    'run of @quittance/google-genai expects the conversation so far, as in run({ sessionId, ' +
      'conversation: contents }): [] for a new one. Calls of Gemini often have no id and are ' +
      `distinguished by their place in it. Found ${describeValue(found)}.`,
  );

/**
 * The call ids of a Gemini conversation. Most Gemini models give a call no id. Such a call is named by its place:
 * `refund.3` is the third call of `refund` without an id in this conversation. Every process with the conversation
 * derives the same ids, so that a repeat is recognized and a new call is distinguished.
 */

type NamedCall = { readonly id: string | undefined; readonly name: string };

class GenAiConversation {
  /** Number of messages with each id of the provider. */
  readonly #uses = new Map<string, number>();
  /** Number of calls of each tool without an id. */
  readonly #unnamed = new Map<string, number>();
  readonly #ids = new Map<string | object, string>();
  readonly #answered = new Set<string | object>();

  /** `contents` may end with the message that is answered next, and with some of its answers. */
  constructor(contents: readonly unknown[]) {
    let open: { readonly calls: NamedCall[]; answers: number } | undefined;
    for (const content of contents) {
      const calls = callsIn(content).map(toNamed);
      const answers = readList(content, 'parts').filter(isResponse).length;
      const isModel =
        typeof content === 'object' && content !== null && ownValue(content, 'role') === 'model';
      if (isModel && open?.answers === 0) open.calls.push(...calls); // the next chunk of a streamed message
      else if (answers > 0 && open !== undefined) open.answers += answers;
      else {
        if (open !== undefined) this.#count(open.calls);
        open = calls.length > 0 ? { calls, answers: 0 } : undefined;
      }
    }
    if (open !== undefined && open.answers >= open.calls.length) this.#count(open.calls);
  }

  /** The ids of the calls of one message, in order. An unanswered message keeps its place. */
  place(calls: readonly GenAiFoundCall[]): readonly string[] {
    const before = new Map(this.#unnamed);
    return calls.map((call) => {
      const known = this.#ids.get(call.source);
      const id = known ?? idOf(call, before, this.#uses);
      this.#ids.set(call.source, id);
      return id;
    });
  }

  /** The message has its answers; the next one is new. */
  answered(calls: readonly GenAiFoundCall[]): void {
    this.#count(calls.filter(({ source }) => !this.#answered.has(source)));
    for (const { source } of calls) this.#answered.add(source);
  }

  #count(calls: readonly NamedCall[]): void {
    const ids = new Set(calls.flatMap(({ id }) => id ?? []));
    for (const id of ids) this.#uses.set(id, (this.#uses.get(id) ?? 0) + 1);
    for (const { id, name } of calls) if (id === undefined) countOne(this.#unnamed, name);
  }
}

const idOf = (
  { id, name }: NamedCall,
  before: Map<string, number>,
  uses: ReadonlyMap<string, number>,
): string => (id === undefined ? `${name}.${countOne(before, name)}` : sessionCallId(id, uses.get(id) ?? 0));

function countOne(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  return count;
}

function toNamed(call: object): NamedCall {
  const id = ownValue(call, 'id');
  const isGiven = typeof id === 'string' && id !== '';
  return { id: isGiven ? id : undefined, name: String(ownValue(call, 'name')) };
}

const isResponse = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && ownValue(part, 'functionResponse') !== undefined;
