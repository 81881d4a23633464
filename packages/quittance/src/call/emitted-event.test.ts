import { expect, test } from 'vitest';
import { isEmittedEvent, isReservedEventType } from './emitted-event.ts';

test.each(['order.flagged', 'a.b', 'my_app.order.flagged_2', '0.1', '__proto__.x', `a.${'b'.repeat(98)}`])(
  'a host may emit %s',
  (type) => {
    expect(isReservedEventType(type)).toBe(false);
  },
);

test.each([
  'tool.flagged',
  'session.x',
  'turn.x',
  'confirmation.x',
  'grant.x',
  'workflow.x',
  'contracts.x',
  'retry.requested',
  'behavior.failed',
  'runtime.x',
  'persistence.x',
  'body.x',
  'ledger.x',
  'call.x',
  'artifact.x',
  'quittance.x.y',
  'flagged',
  '',
  '.x',
  'x.',
  'a..b',
  'Order.flagged',
  'order.flagged\n',
  'order.flagged ',
  'order-x.y',
  'ö.y',
  'a.\u0000',
  `a.${'b'.repeat(99)}`,
  `${'a.'.repeat(1_000_000)}b`,
])('a host may not emit %j', (type) => {
  expect(isReservedEventType(type)).toBe(true);
});

test('an event counts as emitted if it has an author and data, and its type is not reserved', () => {
  const event = { type: 'order.flagged', by: 'b', data: {} };
  expect(isEmittedEvent(event)).toBe(true);
  expect(isEmittedEvent({ ...event, type: 'tool.late' })).toBe(false);
  expect(isEmittedEvent({ ...event, by: undefined })).toBe(false);
  expect(isEmittedEvent({ type: 'order.flagged', by: 'b' })).toBe(false);
  expect(isEmittedEvent(Object.create(event) as object)).toBe(false);
});
