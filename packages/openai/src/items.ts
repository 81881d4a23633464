/** The call ids in the items of a conversation, of the Responses API or of OpenAI Agents JS. */
import { isJsonObject } from 'quittance/internal/base/json';
import type { ConversationStep } from '@quittance/adapter-kit/internal/run/conversation';

/** Items of one model answer are consecutive: no result and no other message is between its calls. */
export function readItems(items: readonly unknown[]): readonly ConversationStep[] {
  const conversation: ConversationStep[] = [];
  let open: string[] | undefined;
  for (const item of items) {
    if (!isJsonObject(item)) continue;
    const { type, role } = item;
    const id = item['callId'] ?? item['call_id'];
    if ((type === 'function_call' || type === 'custom_tool_call') && typeof id === 'string') {
      if (open === undefined) conversation.push({ type: 'calls', ids: (open = []) });
      open.push(id);
    } else if (isResult(type) && typeof id === 'string') {
      open = undefined;
      conversation.push({ type: 'answer', id });
    } else if (role === 'user' || role === 'system' || role === 'developer') {
      open = undefined;
      conversation.push({ type: 'other' });
    }
  }
  return conversation;
}

/** The SDK names results `function_call_result`, its API `function_call_output`. */
const isResult = (type: unknown): boolean =>
  type === 'function_call_result' || type === 'function_call_output' || type === 'custom_tool_call_output';
