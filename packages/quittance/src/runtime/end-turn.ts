/** The end of a turn: its record, and the withdrawal of its open questions. */
import type { TurnEndReason, TurnEnded } from '../call/events/session-event.ts';
import type { CallContext } from './active-call.ts';
import type { Engine } from './engine.ts';
import type { RuntimeState } from './runtime-state.ts';
import type { TurnState } from './turn-state.ts';

export const finalResult = 'The turn has ended with the final result of another tool.';

/** Records the end of the turn, if the turn has a record. */
export async function recordEnd(engine: Engine, state: TurnState, why: TurnEndReason): Promise<void> {
  if (!state.opened) return;
  const event: TurnEnded = {
    id: engine.nextEventId(),
    type: 'turn.ended',
    sessionId: state.sessionId,
    turnId: state.turnId,
    at: engine.ledger.now(),
    cause: undefined,
    why,
  };
  await engine.ledger.append({
    entryId: engine.ids.next('ent'),
    sessionId: state.sessionId,
    callId: undefined,
    expectedVersion: 0,
    events: [event],
    ...(state.depth > 0 && { depth: state.depth }),
  });
}

/** Withdraws the questions of these calls. Waits until those with an open question have ended. */
export async function withdrawAll(
  { callsInProgress }: RuntimeState,
  isMeant: (active: CallContext) => boolean,
  reason: string,
): Promise<void> {
  const meant = [...callsInProgress.values()].filter(({ active }) => isMeant(active));
  const held = meant.filter(({ active }) => active.signals.held !== undefined);
  for (const { active } of meant) active.signals.withdraw(reason);
  await Promise.allSettled(
    held.map(async (made) => {
      const reply = await made.reply;
      return reply.type === 'held' ? reply.rest : reply;
    }),
  );
}

/** Ends the other calls of the turn when a tool returns its final result. */
export function watchResult(runtime: RuntimeState, state: TurnState): void {
  state.onEnd = (why) => {
    if (why === 'terminal_result') endWithResult(runtime, state);
  };
}

/** A tool returned the final result of the turn. Its other calls may have been taken over one by one. */
function endWithResult(runtime: RuntimeState, state: TurnState): void {
  const { engine, room } = runtime;
  const { sessionId, turnId } = state;
  state.withdraw(finalResult);
  const isSibling = ({ turn, signals }: CallContext): boolean =>
    turn === state || (turn.sessionId === sessionId && signals.takenFrom === turnId);
  // The outcome that ended the turn is stored. The end of the turn itself is recorded if the ledger takes it.
  const ending = recordEnd(engine, state, 'terminal_result')
    .catch(() => undefined)
    .then(() => Promise.all([withdrawAll(runtime, isSibling, finalResult), room.wakeSession(sessionId)]))
    .catch(() => undefined)
    .finally(() => engine.stragglers.delete(ending));
  engine.stragglers.add(ending);
}

/** How the turn of a recorded call has ended. Undefined for an open turn. */
export async function readEnd(
  { ledger }: Engine,
  { sessionId, turnId }: { readonly sessionId: string; readonly turnId: string },
): Promise<TurnEndReason | undefined> {
  const events = await ledger.readSession(sessionId, 'without_call');
  const ended = events.find((event) => event.type === 'turn.ended' && event.turnId === turnId);
  return ended?.type === 'turn.ended' ? ended.why : undefined;
}
