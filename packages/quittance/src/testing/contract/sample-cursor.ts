/** A cursor and its moves, for the checks of cursors. */
import type { EmittedEvent } from '../../call/emitted-event.ts';
import type { CursorMove } from '../../ledger/cursors.ts';
import type { Entry } from '../../ledger/journal.ts';
import type { OpenLedger } from '../../ledger/ledger.ts';
import { takeCursor } from '../../ledger/reads.ts';

/** The name of the cursor. */
export const name = 'flag_orders';
export const takeSampleCursor = (
  ledger: OpenLedger,
  holder: string,
  instead?: string,
): ReturnType<typeof takeCursor> => takeCursor(ledger, { name, holder, instead, startAfter: 0 });
export const moveSampleCursor = (from: number, to: number, holder = 'h'): CursorMove => ({
  name,
  holder,
  from,
  to,
});

export const flagged = (id: string, more: Partial<EmittedEvent> = {}): EmittedEvent => ({
  id,
  type: 'order.flagged',
  sessionId: 'session',
  turnId: 't',
  callId: undefined,
  at: 7,
  cause: 'evt',
  by: 'flag_orders',
  data: { text: '\u0000"\ud800' },
  ...more,
});

/** An event that a behavior emits, with its reader's position. */
export const emitting = (id: string, cursor?: CursorMove, more: Partial<EmittedEvent> = {}): Entry => ({
  entryId: `entry-${id}`,
  sessionId: 'session',
  callId: more.callId,
  expectedVersion: 'any',
  events: [flagged(id, more)],
  cursor,
  depth: 1,
});
