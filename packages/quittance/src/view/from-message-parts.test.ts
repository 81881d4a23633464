import { expect, test } from 'vitest';
import { fromMessageParts } from './from-message-parts.ts';
import { listToolCalls } from './tool-calls.ts';

const part = { type: 'tool-send_email', toolCallId: 'c', input: { to: 'kim' } };
const view = (...parts: unknown[]) => listToolCalls(fromMessageParts(parts));

test.each([
  ['input-streaming', {}, 'requested'],
  ['input-available', {}, 'running'],
  ['approval-requested', { approval: { id: 'a' } }, 'held'],
  ['approval-responded', { approval: { id: 'a', approved: true } }, 'requested'],
  ['approval-responded', { approval: { id: 'a', approved: false, reason: 'no' } }, 'held'],
  ['output-available', { output: 1, preliminary: true }, 'running'],
  ['output-available', { output: 1 }, 'succeeded'],
  ['output-error', { errorText: 'broken' }, 'failed'],
  ['output-denied', { approval: { id: 'a', approved: false, reason: 'no' } }, 'denied'],
])('a part that is %s %o is a call that is %s', (state, more, status) => {
  expect(view({ ...part, state, ...more })).toMatchObject([
    {
      callId: 'c',
      toolName: 'send_email',
      status,
      input: { to: 'kim' },
      mode: 'external',
      modeOrigin: 'default',
    },
  ]);
});

test('an outcome of ours in the output is shown', () => {
  const outcome = {
    type: 'ToolDenied',
    callId: 'c',
    toolName: 'send_email',
    code: 'policy.contract',
    reason: 'contract',
    details: 'Not to them.',
  };
  expect(view({ ...part, state: 'output-available', output: outcome })).toMatchObject([
    { status: 'denied', outcome },
  ]);
  const ofAnother = { ...outcome, callId: 'other' };
  expect(view({ ...part, state: 'output-available', output: ofAnother })).toMatchObject([
    { status: 'succeeded', outcome: { output: ofAnother } },
  ]);
});

test('an approval shows its description and accepts approve and deny', () => {
  const [call] = view({
    ...part,
    state: 'approval-requested',
    approval: { id: 'a', requestReason: 'Why not?' },
  });
  expect(call?.confirmation).toMatchObject({
    confirmationId: 'a',
    description: 'Why not?',
    isOpen: true,
    isComplete: true,
    answers: ['approve', 'deny'],
  });
});

test('parts that share an id are separate calls, because some providers restart their ids', () => {
  const done = { ...part, state: 'output-available', output: 1 };
  expect(
    view(done, { ...part, state: 'input-available' }).map(({ callId, status }) => [callId, status]),
  ).toEqual([
    ['c', 'succeeded'],
    ['c~2', 'running'],
  ]);
});

test('parts that are not tool calls are skipped', () => {
  expect(
    view(
      null,
      'tool-x',
      { type: 'text', text: 'hi' },
      { type: 'dynamic-tool', toolCallId: 'c', state: 'input-available' },
      { type: 'tool-x', state: 'input-available' },
      { ...part, state: 'imagined' },
      Object.create({ ...part, state: 'input-available' }),
    ),
  ).toEqual([]);
});
