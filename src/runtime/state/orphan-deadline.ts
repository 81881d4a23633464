import type { Call } from '../../call/call.ts';

/** Longer than any roll-out of a new version: by then whoever has the tool has had the time to come. */
const leftForMs = 3_600_000;

/**
 * Until when a call between two attempts, whose owner is gone, is left to those that have its tool: an hour after its
 * next attempt was due. It may be that nobody has it any more, and its caller is to hear of the failure then. Undefined
 * for any other call.
 */
export const orphanDeadline = ({ status, failed, retry }: Call): number | undefined =>
  status === 'running' && failed !== undefined
    ? Math.max(failed.at, retry?.notBefore ?? 0) + leftForMs
    : undefined;
