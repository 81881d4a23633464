/**
 * Code of a tool or of its host may end the process that runs it. Recovery would then end one process after the other.
 * So the record of a call counts, across processes, the attempts and takeovers that nothing came of.
 *
 * 1. A takeover is recorded before recovery runs any such code: `tool.taken_over`, or the intent of the next attempt.
 * 2. A call that one recovery has already died with is a suspect. It is recovered alone: if it ends the process again,
 *    no other call lost an attempt to it.
 * 3. After three such processes the call is given up: no code is run for it any more.
 */
import type { Call } from '../../call/call.ts';
import { isHandoff } from '../../call/handoff.ts';

const mostLostRuns = 3;

/** How many processes ended with the call in their hands since it last got anywhere, as far as its record tells. */
export const lostRuns = (call: Call): number => call.takeovers + lostAttempts(call);

/** What another process runs is not lost with this one, and an attempt that failed is not lost at all. */
const lostAttempts = (call: Call): number =>
  call.status === 'running' && call.failed === undefined && !isHandoff(call) ? call.attemptsWithoutEnd : 0;

/** Did a process end while it recovered the call? */
export const isSuspect = (call: Call): boolean =>
  !isGivenUp(call) && (call.takeovers > 0 || lostAttempts(call) > 1);

export const isGivenUp = (call: Call): boolean => lostRuns(call) >= mostLostRuns;
