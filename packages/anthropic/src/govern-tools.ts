/** For a plain loop over the Messages API of Anthropic: converts tool-use blocks to result blocks. */
import { isJsonObject } from 'quittance/internal/base/json';
import type { PendingCall, Turn } from 'quittance/internal/runtime/turn';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { ToolCallInput, TurnOptions } from 'quittance/internal/runtime/call-options';
import type { AnswerFile } from '@quittance/adapter-kit/internal/answer/answer';
import type { ConversationStep } from '@quittance/adapter-kit/internal/run/conversation';
import type {
  LoopAnswer,
  LoopCall,
  LoopMessage,
  LoopOptions,
  LoopRun,
  LoopTools,
} from '@quittance/adapter-kit/internal/run/govern-loop';
import { governLoop } from '@quittance/adapter-kit/internal/run/govern-loop';

/** The model's answer: a message of the API, or its blocks. */
export type AnthropicAnswer =
  | { readonly content: readonly unknown[]; readonly stop_reason?: string | null }
  | readonly unknown[];

type TextBlock = { type: 'text'; text: string };
type ImageBlock = {
  type: 'image';
  source: {
    type: 'base64';
    media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
    data: string;
  };
};

/** The block that answers a tool-use block. */
export type AnthropicToolResult = {
  type: 'tool_result';
  tool_use_id: string;
  content: (TextBlock | ImageBlock)[];
  is_error?: boolean;
};

/** A tool in the format of the API. */
export type AnthropicTool = {
  name: string;
  description: string;
  input_schema: { type: 'object'; [key: string]: unknown };
};

/** Options for an answer of the model. */
export type AnthropicAnswerOptions = {
  readonly signal?: AbortSignal;
  /**
   * Your `messages`, up to or including this answer. It distinguishes calls if the provider reuses ids, also after a
   * restart. Without it, only the answers given to this run are known.
   */
  readonly conversation?: readonly unknown[];
};

/** One turn of the loop. */
export type AnthropicRun = {
  readonly turn: Turn;
  /** For `tools` of a request. */
  readonly tools: AnthropicTool[];
  /**
   * Makes the calls of a message and returns the blocks of the user message that answers it, in order. Waits for
   * approvals. Empty if the model made no calls.
   */
  answer(message: AnthropicAnswer, options?: AnthropicAnswerOptions): Promise<AnthropicToolResult[]>;
  /**
   * The same without waiting for approvals. While a call is pending there is nothing to send, because the API needs
   * all answers at once. Repeat it with the same message, in any process, after the decisions.
   */
  answerOrPending(
    message: AnthropicAnswer,
    options?: AnthropicAnswerOptions,
  ): Promise<{ readonly results: AnthropicToolResult[]; readonly pending: readonly PendingCall[] }>;
};

export type GovernedLoop<Run> = {
  readonly runtime: Runtime;
  /** Opens a turn of a session. Open one for each user message. */
  readonly run: (options: TurnOptions) => Run;
};

/** Puts tools under Quittance for a loop over the Messages API. */
export async function governTools(
  tools: LoopTools,
  options: LoopOptions = {},
): Promise<GovernedLoop<AnthropicRun>> {
  const loop = await governLoop(
    '@quittance/anthropic',
    import.meta.url,
    tools,
    options,
    (run, { id, name }) => toAnthropicRun(run).answer([{ type: 'tool_use', id, name, input: {} }]),
  );
  return { runtime: loop.runtime, run: (turnOptions) => toAnthropicRun(loop.run(turnOptions)) };
}

const toAnthropicRun = (run: LoopRun): AnthropicRun => ({
  turn: run.turn,
  tools: run.offered.map(({ name, description, schema }) => ({
    name,
    description,
    input_schema: { ...schema, type: 'object' },
  })),
  async answer(message, { signal, conversation } = {}) {
    const calls = readCalls(message);
    const answers = await run.answer(toLoopMessage(message, calls, conversation), signal);
    return calls.map(({ id }, index) => toResult(id, answers[index]));
  },
  async answerOrPending(message, { signal, conversation } = {}) {
    const calls = readCalls(message);
    const answers = await run.answerOrPending(toLoopMessage(message, calls, conversation), signal);
    const pending = answers.filter((answer) => answer.type === 'pending');
    if (pending.length > 0) return { results: [], pending };
    const ended = answers.filter((answer) => answer.type !== 'pending');
    return { results: calls.map(({ id }, index) => toResult(id, ended[index])), pending };
  },
});

const toLoopMessage = (
  message: AnthropicAnswer,
  calls: readonly LoopCall[],
  conversation: readonly unknown[] | undefined,
): LoopMessage => ({
  calls,
  ids: { message: 'id' in message && typeof message.id === 'string' ? message.id : undefined, items: [] },
  conversation: conversation && readConversation(conversation),
  messages: conversation,
});

/** The call ids in the messages of a conversation. */
function readConversation(messages: readonly unknown[]): readonly ConversationStep[] {
  return messages.filter(isJsonObject).flatMap(({ role, content }): readonly ConversationStep[] => {
    const blocks = Array.isArray(content) ? content.filter(isJsonObject) : [];
    const idsOf = (wanted: string, key: string): string[] =>
      blocks.flatMap((block) => {
        const id = block['type'] === wanted ? block[key] : undefined;
        return typeof id === 'string' ? [id] : [];
      });
    const ids = role === 'assistant' ? idsOf('tool_use', 'id') : [];
    if (ids.length > 0) return [{ type: 'calls', ids }];
    const answers = idsOf('tool_result', 'tool_use_id').map((id) => ({ type: 'answer', id }) as const);
    return answers.length > 0 ? answers : [{ type: 'other' }];
  });
}

/** The calls of a message. Calls that the provider runs itself are in other blocks. */
function readCalls(message: AnthropicAnswer): readonly LoopCall[] {
  const blocks = 'content' in message ? message.content : message;
  const uses = blocks.filter(isJsonObject).filter((block) => block['type'] === 'tool_use');
  const isShort = 'stop_reason' in message && message.stop_reason === 'max_tokens';
  return uses.map((block, index) => ({
    // The code that reads calls rejects wrong types, with a message.
    id: block['id'] as string,
    name: block['name'] as string,
    arguments: (block['input'] ?? {}) as ToolCallInput['arguments'],
    isCutOff: isShort && index === uses.length - 1,
  }));
}

function toResult(id: string, answer: LoopAnswer | undefined): AnthropicToolResult {
  const result = { type: 'tool_result', tool_use_id: id } as const;
  if (answer === undefined) throw new TypeError(`The call ${id} has no answer.`);
  if (answer.type === 'cut off')
    return { ...result, content: [{ type: 'text', text: answer.content }], is_error: true };
  const { content, note, files, isError } = answer;
  return {
    ...result,
    content: [
      { type: 'text', text: content },
      ...(note === undefined ? [] : [{ type: 'text', text: note } as const]),
      // The API accepts only images, and only text for an error; other files are named in the content.
      ...(isError ? [] : files.flatMap((file) => toImage(file) ?? [])),
    ],
    ...(isError && { is_error: true }),
  };
}

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;

function toImage({ mimeType, content }: AnswerFile): ImageBlock | undefined {
  const type = imageTypes.find((known) => known === mimeType);
  if (type === undefined) return undefined;
  const data = Buffer.from(content as Uint8Array).toString('base64'); // accepts both text and bytes
  return { type: 'image', source: { type: 'base64', media_type: type, data } };
}
