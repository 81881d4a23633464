/**
 * Calls the ledger knows of and whose end it could not take. Only this process knows how far they came, so it keeps
 * them. One whose body ran is settled as soon as the ledger takes writes again, before the next call is made. Any other
 * goes on from where it stopped when it is asked for again.
 */
import type { RuntimeState } from '../state/runtime-state.ts';

/** Tries once more to settle what ran. One such round at a time. */
export function settlePending(state: RuntimeState): Promise<void> {
  state.settling ??= settleAll(state).finally(() => {
    state.settling = undefined;
  });
  return state.settling;
}

async function settleAll({ pendingSettlements }: RuntimeState): Promise<void> {
  for (const [
    key,
    {
      live: { journal },
    },
  ] of pendingSettlements) {
    await journal.unkept?.settle();
    if (journal.call?.status === 'settled') pendingSettlements.delete(key);
  }
}
