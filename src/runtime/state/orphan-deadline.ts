import type { Call } from '../../call/call.ts';

/** Longer than any roll-out of a new version: a process with the tool has had time to start by then. */
const leftForMs = 3_600_000;

/**
 * Until when a call between two attempts with a dead owner is left to processes that have its tool: an hour
 * after its next attempt was due. After that no process may have the tool, and the caller should get the
 * failure. Undefined for any other call.
 */
export const orphanDeadline = ({ status, failed, retry }: Call): number | undefined =>
  status === 'running' && failed !== undefined
    ? Math.max(failed.at, retry?.notBefore ?? 0) + leftForMs
    : undefined;
