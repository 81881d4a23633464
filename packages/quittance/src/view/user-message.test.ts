import { defineTool, toolResult } from 'quittance';
import type { CallEvent } from 'quittance/events';
import { expect, it } from 'vitest';
import { envelope, setStage } from '../../../../test/stage.ts';
import { statusSentence } from './status-words.ts';
import { viewToolCall } from './view-tool-call.ts';

it.each<[string, unknown, string | undefined]>([
  ['a success', toolResult({ success: true, message: 'Event created.' }), 'Event created.'],
  [
    'a long success',
    toolResult({ success: true, data: { long: 'x'.repeat(20_000) }, message: 'Event created.' }),
    'Event created.',
  ],
  ['a plain object shaped like one', { success: true, message: 'Event created.' }, 'Event created.'],
  [
    'a failure',
    toolResult({ success: false, needsFollowup: true, error: 'E_DATE', message: 'Which day?' }),
    'Which day?',
  ],
  ['a plain failure', { success: false, error: 'E_DATE', message: 'Which day?' }, 'Which day?'],
  [
    'a failure without a message',
    toolResult({ success: false, needsFollowup: true, error: 'E_DATE' }),
    'E_DATE',
  ],
  ['an output that only has a message', { message: 'a mail' }, undefined],
])('the card shows the message of a ToolResult: %s', async (_, value, sentence) => {
  const { runtime, turn } = setStage({ tools: [defineTool({ name: 'get_it', run: () => value })] });
  await turn.call(envelope('c', 'get_it'));
  const [first, ...rest] = (await runtime.events.list({ sessionId: 's', callId: 'c' })) as CallEvent[];
  if (first === undefined) throw new Error('The call has no events.');
  expect(statusSentence(viewToolCall([first, ...rest]))).toBe(sentence);
});
