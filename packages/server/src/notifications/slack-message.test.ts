import { expect, it } from 'vitest';
import type { Notification } from './notification.ts';
import { toSlackMessage } from './target-sender.ts';

const notification: Notification = {
  id: 'e.ops',
  kind: 'held',
  at: 0,
  sessionId: 's',
  callId: 'c',
  toolName: 'pay',
  displayName: 'Pay',
  text: 'Pay?',
  rules: [],
  risk: [],
  owner: undefined,
  confirmationId: undefined,
  expiresAt: undefined,
  url: 'https://quittance.test/calls/s/c',
  arguments: undefined,
};
const write = (more: Partial<Notification>): string =>
  JSON.stringify(toSlackMessage({ ...notification, ...more }, 1));

it('has no half characters, wherever a text is cut', () => {
  for (let length = 120; length < 140; length++)
    expect(write({ displayName: 'x'.repeat(length) + '🧾'.repeat(20) })).not.toMatch(/\\ud[89a-f]/i);
  expect(write({ displayName: 'half \ud83e', text: 'half \udd95' })).not.toMatch(/\\ud[89a-f]/i);
});

it('leaves a link out that Slack would refuse together with the message', () => {
  expect(write({})).toContain('"button"');
  expect(write({ url: `https://quittance.test/calls/${'s'.repeat(3_000)}/c` })).not.toContain('"button"');
});
