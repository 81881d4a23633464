import { expect, it } from 'vitest';
import { readStatus } from './target-sender.ts';

const teams = (status: number): string =>
  `Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error ${status} with ContextId tcid=1.`;

it.each([
  ['slack', 'ok', 200],
  ['slack', '{"ok":true}', 200],
  ['slack', '{"ok":false,"error":"ratelimited"}', 503],
  ['slack', '{"ok":false,"error":"channel_not_found"}', 400],
  ['slack', '{"ok":false', 200],
  ['teams', '1', 200],
  ['teams', teams(429), 429],
  ['teams', teams(413), 413],
  ['teams', 'Webhook message delivery failed with error: unknown', 503],
  ['webhook', '{"ok":false,"error":"x"}', 200],
] as const)('%s with status 200 and the text %s stands for status %i', (type, text, expected) => {
  expect(readStatus(type, 200, text)).toBe(expected);
});

it('keeps the status of a failure, whatever the text says', () => {
  expect(readStatus('slack', 500, '{"ok":false,"error":"channel_not_found"}')).toBe(500);
});
