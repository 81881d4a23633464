import { expect, test } from 'vitest';
import type { CallEvent } from 'quittance/internal/call/event';
import { callTimeline } from './call-timeline.ts';

test('leaves out events of types that a newer version added', () => {
  const envelope = { id: 'evt_1', sessionId: 's', turnId: 't', callId: 'c', cause: undefined };
  const undone = {
    ...envelope,
    type: 'tool.undone',
    at: 1_000,
    undoCallId: 'u',
    by: { type: 'person', name: 'grace' },
    reason: undefined,
  } as CallEvent;
  // A type that this version does not declare.
  const unknown = { ...envelope, type: 'tool.frozen', at: 2_000 } as unknown as CallEvent;
  expect(callTimeline([undone, unknown])).toMatchObject([{ name: 'undone', from: 0, ms: 0 }]);
});
