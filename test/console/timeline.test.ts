import { expect, test } from 'vitest';
import { linksBetween } from '../../packages/console/src/pages/sessions/links-between.ts';
import { measureCall } from '../../packages/console/src/pages/sessions/measure-call.ts';
import type { RelatedCall } from '../../packages/server/src/http/api/call.ts';
import type { TimelineCall } from '../../packages/server/src/http/api/session.ts';

const row = (callId: string, ...related: readonly RelatedCall[]): TimelineCall => ({
  call: { sessionId: 's', callId } as TimelineCall['call'], // only the name of a call matters here
  lane: 0,
  spans: [],
  related,
});
const to = (how: RelatedCall['how'], callId: string, sessionId = 's'): RelatedCall => ({
  how,
  callId,
  sessionId,
});

test('mutual references of two calls are one link, and calls elsewhere have none', () => {
  const links = linksBetween([
    row('again', to('duplicate_of', 'first')),
    row('first', to('copied_from', 'older'), to('caused_by', 'first'), to('duplicate_of', 'again', 'other')),
    row('done', to('undone_by', 'undo')),
    row('undo', to('undoes', 'done')),
  ]);
  expect(links.map(({ from, how, to: { call } }) => `${from.call.callId} ${how} ${call.callId}`)).toEqual([
    'again duplicate_of first',
    'undo undoes done',
  ]);
});

test('a call is measured up to its end or to now, by its phases', () => {
  const spans = [
    { kind: 'deciding', attempt: 0, from: 0, to: 5 },
    { kind: 'held', attempt: 0, from: 5, to: 105 },
    { kind: 'running', attempt: 1, from: 105, to: 115 },
    { kind: 'waiting', attempt: 1, from: 115, to: 120 },
    { kind: 'running', attempt: 2, from: 120, to: undefined },
  ] as const;
  expect(measureCall(spans, 150)).toEqual({ totalMs: 150, heldMs: 100, ranMs: 40 });
  // With a clock behind the ledger's nothing has a negative duration.
  expect(measureCall(spans, 100)).toEqual({ totalMs: 120, heldMs: 100, ranMs: 10 });
});
