/**
 * A body may end the process that runs it. Where the tool may be run again, recovery would then end one process after
 * the other. So attempts that began and never ended are counted, across processes, in the record of the call.
 *
 * 1. After one lost attempt the call is run again, with others.
 * 2. After two it is a suspect, and runs alone: if it ends the process again, no other call lost an attempt to it.
 * 3. After three it is not run again.
 */
import type { Call } from '../call/call.ts';

const mostLostAttempts = 3;

type Counted = Pick<Call, 'status' | 'started' | 'failed' | 'attemptsWithoutEnd'>;

const lostAttempts = ({ status, started, failed, attemptsWithoutEnd }: Counted): number =>
  status === 'running' && started?.mayRerun === true && failed === undefined ? attemptsWithoutEnd : 0;

export const isSuspect = (call: Counted): boolean => lostAttempts(call) === mostLostAttempts - 1;

export const isGivenUp = (call: Counted): boolean => lostAttempts(call) >= mostLostAttempts;
