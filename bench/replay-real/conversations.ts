/** Reads recorded conversations: messages of OpenAI (Chat Completions) or of Anthropic, in JSON files. */
type Json = { readonly [key: string]: unknown };

export type RecordedCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: string | Json;
  /** How many assistant messages before hold the same id. */
  readonly earlier: number;
  /** What the tool gave. Undefined where the conversation has no answer. */
  readonly answer: { readonly content: unknown; readonly isError: boolean | undefined } | undefined;
};

export type Conversation = {
  readonly calls: readonly RecordedCall[];
  /** Input schemas by tool name, where the file has them. */
  readonly schemas: ReadonlyMap<string, unknown>;
};

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isMessage = (value: unknown): value is Json => isObject(value) && typeof value['role'] === 'string';

/** A file holds messages, an object with `messages`, or a list of either. Anything else holds none. */
export function readConversations(file: unknown): readonly Conversation[] {
  if (Array.isArray(file) && file.length > 0 && file.every(isMessage)) return [toConversation(file, [])];
  if (Array.isArray(file)) return file.flatMap(readConversations);
  if (!isObject(file) || !Array.isArray(file['messages'])) return [];
  return [toConversation(file['messages'].filter(isMessage), listOf(file['tools']))];
}

type Open = { -readonly [Key in keyof RecordedCall]: RecordedCall[Key] };

function toConversation(messages: readonly Json[], tools: readonly unknown[]): Conversation {
  const calls: Open[] = [];
  const uses = new Map<string, number>();
  for (const message of messages) {
    const made = message['role'] === 'assistant' ? callsOf(message) : [];
    for (const { id, name, args } of made)
      calls.push({ id, name, arguments: args, earlier: uses.get(id) ?? 0, answer: undefined });
    for (const id of new Set(made.map((call) => call.id))) uses.set(id, (uses.get(id) ?? 0) + 1);
    for (const { id, content, isError } of answersOf(message)) {
      const open = calls.find((call) => call.id === id && call.answer === undefined);
      if (open !== undefined) open.answer = { content, isError };
    }
  }
  return { calls, schemas: new Map(tools.flatMap(schemaOf)) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

type Made = { readonly id: string; readonly name: string; readonly args: string | Json };

function callsOf(message: Json): readonly Made[] {
  const openAi = listOf(message['tool_calls'])
    .filter(isObject)
    .map((call): Made => {
      const said = isObject(call['function']) ? call['function'] : {};
      return {
        id: textOf(call['id']),
        name: textOf(said['name']),
        args: toArguments(said['arguments']),
      };
    });
  const anthropic = listOf(message['content'])
    .filter(isObject)
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }): Made => ({
      id: textOf(id),
      name: textOf(name),
      args: toArguments(input),
    }));
  return [...openAi, ...anthropic].filter(({ id, name }) => id !== '' && name !== '');
}

const toArguments = (given: unknown): string | Json =>
  isObject(given)
    ? given
    : given === undefined || given === ''
      ? {}
      : typeof given === 'string'
        ? given
        : JSON.stringify(given);

function answersOf(
  message: Json,
): readonly { id: unknown; content: unknown; isError: boolean | undefined }[] {
  if (message['role'] === 'tool')
    return [{ id: message['tool_call_id'], content: toContent(message['content']), isError: undefined }];
  return listOf(message['content'])
    .filter(isObject)
    .filter(({ type }) => type === 'tool_result')
    .map(({ tool_use_id: id, content, is_error: isError }) => ({
      id,
      content: toContent(content),
      isError: isError === true,
    }));
}

/** Text that is JSON is what the tool gave; parts of text are put together. */
function toContent(content: unknown): unknown {
  const text = Array.isArray(content)
    ? content
        .map((part: unknown) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
        .join('')
    : content;
  if (typeof text !== 'string') return text ?? null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function schemaOf(tool: unknown): readonly (readonly [string, unknown])[] {
  if (!isObject(tool)) return [];
  const said = isObject(tool['function']) ? tool['function'] : tool;
  const schema = said['parameters'] ?? said['input_schema'];
  return typeof said['name'] === 'string' && isObject(schema) ? [[said['name'], schema]] : [];
}
