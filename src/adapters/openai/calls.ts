/**
 * Reads the calls from the answer of an OpenAI model. Calls that the provider runs itself are in items of other
 * types.
 */
import { isJsonObject } from '../../base/json.ts';
import { ownValue } from '../../tool/own-value.ts';
import type { ConversationStep } from '../run/conversation.ts';
import { readItems } from './items.ts';
import type { LoopCall, LoopMessage } from '../run/govern-loop.ts';

/** A call, and whether its tool takes free text: such a tool receives it as `{input}`. */
export type CallItem = LoopCall & { readonly isCustom: boolean };

type Found = {
  readonly id: unknown;
  readonly name: unknown;
  readonly args: unknown;
  readonly isCustom: boolean;
};

export function readResponse(response: unknown): readonly CallItem[] {
  const items = Array.isArray(response) ? response : listAt(response, 'output');
  const found = items.filter(isJsonObject).flatMap((item): Found[] => {
    const { type, call_id: id, name } = item;
    if (type === 'function_call') return [{ id, name, args: item['arguments'], isCustom: false }];
    if (type === 'custom_tool_call') return [{ id, name, args: item['input'], isCustom: true }];
    return [];
  });
  return toItems(found, !Array.isArray(response) && at(response, 'status') === 'incomplete');
}

export function readCompletion(completion: unknown): readonly CallItem[] {
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
export function readMessageIds(message: object): LoopMessage['ids'] {
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
