import { decide } from '../../call/decide.ts';
import type { Call } from '../../call/call.ts';
import type { Engine } from '../state/engine.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { readUndoAttrs } from '../host/undo-attrs.ts';

/**
 * Records that another call has undone this one, and drops the sealed input that was stored for the undo.
 * Repeated requests change nothing.
 */
export async function noteUndone(engine: Engine, callId: string, undoing: Call): Promise<void> {
  const { sessionId, attrs, askedBy: identity } = undoing;
  const { by, reason } = readUndoAttrs(attrs);
  for (;;) {
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined) return;
    const made = decide(
      call,
      {
        type: 'undo',
        undoCallId: undoing.callId,
        by: { type: 'person', name: by, ...(identity && { identity }) },
        reason,
      },
      { sessionId, turnId: undoing.turnId, callId, at: engine.ledger.now(), nextId: engine.nextEventId },
    );
    if (!made.ok) return;
    const result = await engine.ledger.journal.append({
      entryId: engine.ids.next('ent'),
      sessionId,
      callId,
      expectedVersion: stored.version,
      events: [Object.freeze(made.event)],
      dropSealed: true,
      depth: stored.depth,
    });
    if (result.status === 'appended') return;
  }
}
