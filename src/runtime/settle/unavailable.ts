import type { Call } from '../../call/call.ts';
import { isHandoff } from '../../call/handoff.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { inDoubt } from '../gates/doubt.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';

/**
 * The outcome if the ledger could not store the call. Nothing ran and nothing is stored, so the same id may
 * be used again.
 */
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
 * The outcome if a body ran, neither the ledger nor the spill file could store its end, and the tool may run
 * again. No ledger holds an outcome, so the same id may be used again.
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
 * True for a process that ended and for one that could not store the end. Both use the same words, so that
 * the answer matches the record, whichever process writes it.
 */
export const endNotRecorded = 'The tool was started and its end was not recorded';

/** The outcome of a call whose owner was gone before its body ended, if its effect cannot be determined. */
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

/** The outcome for a caller whose call ended and was removed with its session before it could be read. */
export const removedEnd = (live: AcceptedCall): ToolOutcome =>
  unknownEnd(live, {}, 'The call ended and its session was removed from the ledger meanwhile');

/**
 * The answer about a call whose owner is gone while nothing can be written. It must agree with what is
 * recorded later. If recovery can only ever say that the effect is unknown, the answer says so now, in the
 * same words. If the tool may run again or can be asked, the answer leaves the end open and the same id may
 * be used again.
 */
export function notEnded(live: AcceptedCall, call: Call, error: unknown): ToolOutcome {
  if (!(error instanceof LedgerTrouble)) throw error;
  const { started } = call;
  if (started === undefined) return unavailable(live, error.message);
  // A hand-off may still end by a report, by its lease or by its deadline.
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

/** The answer if the ledger failed before anything ran. Any other error is a bug and is rethrown. */
export function notAccepted(live: AcceptedCall, error: unknown): ToolOutcome {
  if (error instanceof LedgerTrouble) return unavailable(live, error.message);
  throw error;
}
