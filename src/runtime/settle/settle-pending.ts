/**
 * Calls that the ledger knows, but whose end it could not store. Only this process knows their progress, so
 * it holds them. A call whose body ran is settled as soon as the ledger accepts writes again, before the next
 * call is made. Any other continues when it is repeated.
 */
import type { RuntimeState } from '../state/runtime-state.ts';

/** Retries to settle the calls that ran. One round at a time. */
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
