import type { DeadlineWatch } from '../../base/deadlines.ts';
import type { Call } from '../../call/call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { AcceptedCall } from './accepted-call.ts';
import type { Asker } from './call-services.ts';

/** Pauses between two looks become longer: hundreds of calls may wait, and each look asks the ledger. */
const firstPauseMs = 1_000;
const longestPauseMs = 8_000;

type OrphanWatch = { readonly promise: Promise<void>; stop(): void };

/**
 * Resolves when the owner of a call is gone. An owner that is gone at the start left a call that this runtime cannot
 * end now. Then it resolves after the longest pause.
 */
export function untilOrphan(
  { engine: { deadlines }, services }: Pick<AcceptedCall, 'engine' | 'services'>,
  stored: StoredCall,
  call: Call,
  asker: Asker,
): OrphanWatch {
  const { promise, resolve } = Promise.withResolvers<void>();
  let watch: DeadlineWatch | undefined;
  let isStopped = false;
  // While the ledger fails, no owner is proven dead.
  const isOrphan = (): Promise<boolean> => services.isOrphan(stored, call, asker).catch(() => false);
  const comeBack = (pauseMs: number): void => {
    if (!isStopped) watch = deadlines.watch(pauseMs, () => void look(pauseMs));
  };
  const look = async (pausedMs: number): Promise<void> => {
    if (await isOrphan()) resolve();
    else comeBack(Math.min(2 * pausedMs, longestPauseMs));
  };
  void isOrphan().then((isAlready) => comeBack(isAlready ? longestPauseMs : firstPauseMs));
  return {
    promise,
    stop() {
      isStopped = true;
      watch?.stop();
    },
  };
}
