/** Reads recorded conversations in JSON files: messages of OpenAI (Chat Completions) or Anthropic, items of OpenAI (Responses). */
type Json = { readonly [key: string]: unknown };

export type RecordedCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: string | Json;
  /** Number of earlier assistant messages with the same id. */
  readonly earlier: number;
  /** The tool's answer. Undefined if the conversation has none. */
  readonly answer: { readonly content: unknown; readonly isError: boolean | undefined } | undefined;
};

export type Conversation = {
  readonly calls: readonly RecordedCall[];
  /** Input schemas by tool name, if the file contains them. */
  readonly schemas: ReadonlyMap<string, unknown>;
};

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isMessage = (value: unknown): value is Json => isObject(value) && typeof value['role'] === 'string';
/** An item of the Responses API other than a message: a call, an output or reasoning. */
const isItem = (value: unknown): value is Json =>
  isObject(value) && typeof value['type'] === 'string' && !isConversation(value);
const isEntry = (value: unknown): value is Json => isMessage(value) || isItem(value);

/** The keys under which conversations keep their entries; a record of the Responses API has both input and output. */
const lists = ['messages', 'input', 'items', 'output'] as const;
const isConversation = (value: Json): boolean => lists.some((key) => Array.isArray(value[key]));

/** A file contains messages or items, an object with `messages`, `input`, `items` or `output`, or a list of either. */
export function readConversations(file: unknown): readonly Conversation[] {
  if (Array.isArray(file) && file.length > 0 && file.every(isEntry)) return [toConversation(file, [])];
  if (Array.isArray(file)) return file.flatMap(readConversations);
  if (!isObject(file) || !isConversation(file)) return [];
  const entries = lists.flatMap((key) => listOf(file[key])).filter(isEntry);
  return [toConversation(entries, listOf(file['tools']))];
}

/** Converts items to messages: consecutive calls are one assistant message. */
function toMessages(entries: readonly Json[]): readonly Json[] {
  const messages: Json[] = [];
  let calls: Json[] = [];
  const endCalls = (): void => {
    if (calls.length > 0) messages.push({ role: 'assistant', tool_calls: calls });
    calls = [];
  };
  for (const entry of entries) {
    const { type, call_id: id, name } = entry;
    if (type === 'function_call' || type === 'custom_tool_call') {
      const args = type === 'function_call' ? entry['arguments'] : { input: entry['input'] };
      calls.push({ id, function: { name, arguments: args } });
      continue;
    }
    if (type === 'mcp_call') {
      // It contains its answer.
      calls.push({ id: entry['id'], function: { name, arguments: entry['arguments'] } });
      endCalls();
      const error = entry['error'] ?? undefined;
      messages.push({
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: entry['id'],
            content: error ?? entry['output'],
            is_error: error !== undefined,
          },
        ],
      });
      continue;
    }
    if (isMessage(entry) || type === 'function_call_output' || type === 'custom_tool_call_output') endCalls();
    if (type === 'function_call_output' || type === 'custom_tool_call_output')
      messages.push({ role: 'tool', tool_call_id: id, content: entry['output'] });
    else if (isMessage(entry)) messages.push(entry);
  }
  endCalls();
  return messages;
}

type Open = { -readonly [Key in keyof RecordedCall]: RecordedCall[Key] };

function toConversation(entries: readonly Json[], tools: readonly unknown[]): Conversation {
  const calls: Open[] = [];
  const uses = new Map<string, number>();
  for (const message of toMessages(entries)) {
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

/** Text that is JSON is the tool's output; text parts are joined. */
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
