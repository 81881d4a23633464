import type { ToolOutcome } from '../call/outcome.ts';
import type { CallInHand } from './call-in-hand.ts';
import { LedgerTrouble } from './ledger-trouble.ts';

/** Said where the ledger could not take the call. Nothing ran and nothing is kept: the same id may ask again. */
export const unavailable = ({ request }: CallInHand, why: string): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: request.name,
    code: 'ledger.unavailable',
    error: `The ledger could not be used, so the call was not accepted and nothing ran: ${why}`,
    retryable: true,
    elapsedMs: 0,
  });

/** Said where a body ran and its end could not be kept. */
export const unkept = ({ request }: CallInHand, why: string, elapsedMs: number): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: request.name,
    code: 'tool.indeterminate',
    error: `The tool ran, but what it gave could not be kept, so nobody can say later how it ended: ${why}`,
    retryable: false,
    elapsedMs,
  });

/** What to answer where the ledger failed before anything ran. Anything else is a mistake of ours and stays one. */
export function notAccepted(hand: CallInHand, error: unknown): ToolOutcome {
  if (error instanceof LedgerTrouble) return unavailable(hand, error.message);
  throw error;
}
