/**
 * Code of a tool or of its host may end the process that runs it, and recovery would then end one process
 * after the other. So the record of a call counts, across processes, the attempts and takeovers without a
 * result.
 *
 * 1. A takeover is recorded before recovery runs any such code: `tool.taken_over`, or the intent of the next
 *    attempt.
 * 2. A call that a recovery has already died with is a suspect. It is recovered alone: if it ends the process
 *    again, no other call loses an attempt.
 * 3. After three such processes the call is given up: no more code runs for it.
 */
import type { Call } from '../../call/call.ts';
import { isHandoff } from '../../call/handoff.ts';

const mostLostRuns = 3;

/**
 * How many processes ended while they worked on the call since its last progress, according to its record.
 */
export const lostRuns = (call: Call): number => call.takeovers + lostAttempts(call);

/** A hand-off is not lost with this process, and a failed attempt is not a lost one. */
const lostAttempts = (call: Call): number =>
  call.status === 'running' && call.failed === undefined && !isHandoff(call) ? call.attemptsWithoutEnd : 0;

/** Did a process end while it recovered the call? */
export const isSuspect = (call: Call): boolean =>
  !isGivenUp(call) && (call.takeovers > 0 || lostAttempts(call) > 1);

export const isGivenUp = (call: Call): boolean => lostRuns(call) >= mostLostRuns;
