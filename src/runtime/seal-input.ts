import type { CallInHand } from './call-in-hand.ts';

/**
 * Where the kept form hides something, the executed form is sealed beside it until the call is settled, so that the
 * call can still be run with what was really asked.
 */
export function sealInput(hand: CallInHand): { readonly sealed?: string } {
  if (hand.sealed || hand.input.effective.hidden.length === 0) return {};
  hand.sealed = true;
  const context = sealContext(hand.turn.sessionId, hand.request.id);
  return { sealed: hand.engine.seal.seal(JSON.stringify(hand.input.effectiveInput), context) };
}

/** What a seal belongs to: one moved to another call does not open. */
export const sealContext = (sessionId: string, callId: string): string => JSON.stringify([sessionId, callId]);
