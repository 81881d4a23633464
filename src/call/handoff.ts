/** A hand-off: who has it, and until when. */
import type { Call } from './call.ts';
import type { ToolReported } from './event.ts';

/** Is another process to run the call, or running it? */
export const isHandoff = ({ status, started }: Call): boolean =>
  status === 'running' && started?.handoff === true;

/** The worker that has claimed the current attempt, if any. */
export const takenBy = ({ handedTo, attempt }: Call): ToolReported | undefined =>
  handedTo?.attempt === attempt ? handedTo : undefined;

/** Did no worker ever get the arguments? Then nothing can have happened. */
export const isUntaken = ({ started, handedTo }: Call): boolean =>
  started?.handoff === true && handedTo === undefined;

/** Has the lease ended, by the ledger's clock? */
export const leaseIsOver = (call: Call, now: number): boolean => {
  const what = takenBy(call)?.what;
  return what?.type === 'claimed' && what.expiresAt !== undefined && now >= what.expiresAt;
};

/**
 * When the call is due without a report: at its deadline or at the end of a lease, whichever comes first. If
 * the tool may run again, the end of a lease only frees it for the next worker.
 */
export function dueAt(call: Call): number {
  const { started } = call;
  const deadlineMs = started?.deadlineMs ?? 0;
  const what = takenBy(call)?.what;
  const leaseEnds = what?.type === 'claimed' ? what.expiresAt : undefined;
  return started?.mayRerun === true ? deadlineMs : Math.min(deadlineMs, leaseEnds ?? deadlineMs);
}
