/** A call that another process runs: until when it is somebody's, and whether anybody has it at all. */
import type { Call } from './call.ts';
import type { ToolReported } from './event.ts';

/** Whether another process is to run the call, or is running it. */
export const isHandoff = ({ status, started }: Call): boolean =>
  status === 'running' && started?.handoff === true;

/** Who has the current attempt in hand; undefined where nobody took it. */
export const takenBy = ({ handedTo, attempt }: Call): ToolReported | undefined =>
  handedTo?.attempt === attempt ? handedTo : undefined;

/** Whether no worker was ever given the arguments, so that nothing can have happened. */
export const isUntaken = ({ started, handedTo }: Call): boolean =>
  started?.handoff === true && handedTo === undefined;

/** Whether the worker's time is up, by the ledger's clock. */
export const leaseIsOver = (call: Call, now: number): boolean => {
  const what = takenBy(call)?.what;
  return what?.type === 'claimed' && what.expiresAt !== undefined && now >= what.expiresAt;
};

/**
 * When somebody must see to the call if nobody has reported: its deadline, or the end of a lease, whichever comes
 * first. Where the tool may run again, the end of a lease only makes it free for the next worker.
 */
export function dueAt(call: Call): number {
  const { started } = call;
  const deadlineMs = started?.deadlineMs ?? 0;
  const what = takenBy(call)?.what;
  const leaseEnds = what?.type === 'claimed' ? what.expiresAt : undefined;
  return started?.mayRerun === true ? deadlineMs : Math.min(deadlineMs, leaseEnds ?? deadlineMs);
}
