import type { Call } from '../../call/call.ts';
import { isHandoff } from '../../call/handoff.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { inDoubt } from '../gates/doubt.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';

/** Said where the ledger could not take the call. Nothing ran and nothing is kept: the same id may ask again. */
export const unavailable = ({ request }: AcceptedCall, why: string): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: request.name,
    code: 'ledger.unavailable',
    error: `The ledger could not be used, so the call was not accepted and nothing ran: ${why}`,
    retryable: true,
    elapsedMs: 0,
  });

/**
 * Said where a body ran, neither the ledger nor the spill could store its end, and the tool may be run again. No ledger
 * holds an outcome, so none is told: the same id may ask again.
 */
export const notStored = ({ request }: AcceptedCall, why: string): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: request.name,
    code: 'ledger.unavailable',
    error: `The result of the call could not be stored, so the call was not accepted. Ask again with the same id: ${why}`,
    retryable: true,
    elapsedMs: 0,
  });

/**
 * True of a process that ended and of one that could not store the end. Both are told in the same words, so that what
 * was told stays what is recorded, whichever of them records it.
 */
export const endNotRecorded = 'The tool was started and its end was not recorded';

/** How a call ends whose body began and whose owner was gone before its end, where nobody can find out more. */
export const unknownEnd = (
  { request }: AcceptedCall,
  note: { readonly modelNote?: string } = {},
  why: string = endNotRecorded,
): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: request.name,
    code: 'tool.indeterminate',
    error: `${why}.`,
    ...inDoubt(false),
    elapsedMs: 0,
    ...note,
  });

/** Said to whoever waited for a call that ended and was removed with its session before they could look at its end. */
export const removedEnd = (live: AcceptedCall): ToolOutcome =>
  unknownEnd(live, {}, 'The call ended and its session was removed from the ledger meanwhile');

/**
 * What to answer about a call whose owner is gone where nothing can be written. It must hold whatever is recorded
 * later: where recovery can only ever say that nobody knows, that is said now, in the same words; where the tool may
 * be run again or be asked what happened, nothing is said about how the call ended, and the same id may ask again.
 */
export function notEnded(live: AcceptedCall, call: Call, error: unknown): ToolOutcome {
  if (!(error instanceof LedgerTrouble)) throw error;
  const { started } = call;
  if (started === undefined) return unavailable(live, error.message);
  // A call that was handed over may still end by a report, by its lease or by its deadline.
  if (!started.mayRerun && live.tool?.reconcile === undefined && !isHandoff(call)) return unknownEnd(live);
  return Object.freeze({
    type: 'ToolFailure',
    callId: live.request.id,
    toolName: live.request.name,
    code: 'ledger.unavailable',
    error:
      'The ledger could not be used, so it cannot be said yet how the call ended, which was begun by another process. ' +
      `Ask again with the same id: ${error.message}`,
    ...(started.mayRerun ? { retryable: true } : inDoubt(true)),
    elapsedMs: 0,
  });
}

/** What to answer where the ledger failed before anything ran. Anything else is a mistake of ours and stays one. */
export function notAccepted(live: AcceptedCall, error: unknown): ToolOutcome {
  if (error instanceof LedgerTrouble) return unavailable(live, error.message);
  throw error;
}
