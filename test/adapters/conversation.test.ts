import { describe, expect, test } from 'vitest';
import { readMessages } from '../../packages/ai-sdk/src/messages.ts';
import type { ConversationStep } from '../../packages/adapter-kit/src/run/conversation.ts';
import { AnsweredCalls, earlierIn, earlierUses } from '../../packages/adapter-kit/src/run/conversation.ts';
import { readConversation } from '../../packages/openai/src/govern-tools.ts';

const calls = (...ids: readonly string[]): ConversationStep => ({ type: 'calls', ids });
const answer = (id: string): ConversationStep => ({ type: 'answer', id });
const other: ConversationStep = { type: 'other' };

describe('the uses of an id before the current call', () => {
  test.each<[string, readonly ConversationStep[], number]>([
    ['an empty conversation', [], 0],
    ['other calls only', [calls('y'), answer('y')], 0],
    ['its own message, not answered yet', [calls('x')], 0],
    ['its own message, with a sibling answered', [calls('x', 'y'), answer('y')], 0],
    ['one answered use', [calls('x'), answer('x')], 1],
    ['one answered use, and its own message', [calls('x'), answer('x'), calls('x')], 1],
    ['a use that never got an answer', [calls('x'), other], 1],
    ['a use that never got an answer, and its own message', [calls('x'), other, calls('x')], 1],
    ['two calls of one message, both answered', [calls('x', 'x'), answer('x'), answer('x')], 1],
    ['two calls of one message, one answered', [calls('x', 'x'), answer('x')], 0],
    ['an answer whose message was cut from the conversation', [answer('x'), other], 1],
    ['the same in front of its own message', [answer('x'), calls('x')], 1],
  ])('%s', (_, conversation, uses) => {
    expect(earlierUses(conversation, 'x')).toBe(uses);
    const counted = new AnsweredCalls();
    counted.read(conversation);
    expect(counted.earlier('x')).toBe(uses);
  });
});

test.each([
  ['x', 0],
  ['x~2', 1],
  ['x~13', 12],
  ['x~0123456789ab', undefined],
  ['xy', undefined],
  ['x~', undefined],
  ['x~two', undefined],
  ['y', undefined],
])('the id %s stands for %s earlier uses of x', (callId, uses) => {
  expect(earlierIn(callId, 'x')).toBe(uses);
});

describe('formats', () => {
  test('messages of the AI SDK', () => {
    const messages = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'x' }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'x' }] },
      { role: 'assistant', content: 'Done.' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'x' }] },
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'a' }] },
    ];
    expect(readMessages(messages)).toEqual([other, calls('x'), answer('x'), other, calls('x')]);
  });

  test('items of the Responses API', () => {
    const items = [
      { role: 'user', content: 'Go.' },
      { type: 'reasoning', id: 'r' },
      { type: 'function_call', call_id: 'x' },
      { type: 'message', role: 'assistant', content: [] },
      { type: 'custom_tool_call', call_id: 'y' },
      { type: 'function_call_output', call_id: 'x' },
      { type: 'custom_tool_call_output', call_id: 'y' },
      { type: 'function_call', call_id: 'x' },
    ];
    expect(readConversation(items)).toEqual([other, calls('x', 'y'), answer('x'), answer('y'), calls('x')]);
  });

  test('messages of Chat Completions', () => {
    const messages = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', tool_calls: [{ id: 'x' }, { id: 'y' }] },
      { role: 'tool', tool_call_id: 'x' },
      { role: 'tool', tool_call_id: 'y' },
    ];
    expect(readConversation(messages)).toEqual([other, calls('x', 'y'), answer('x'), answer('y')]);
  });
});
