/**
 * Calls the ledger knows of and whose end it could not take. Only this process knows how far they came, so it keeps
 * them. One whose body ran is settled as soon as the ledger takes writes again, before the next call is made. Any other
 * goes on from where it stopped when it is asked for again.
 */
import type { Desk } from '../state/desk.ts';

/** Tries once more to settle what ran. One such round at a time. */
export function settleStranded(desk: Desk): Promise<void> {
  desk.settling ??= settleAll(desk).finally(() => {
    desk.settling = undefined;
  });
  return desk.settling;
}

async function settleAll({ stranded }: Desk): Promise<void> {
  for (const [
    key,
    {
      live: { journal },
    },
  ] of stranded) {
    await journal.unkept?.settle();
    if (journal.call?.status === 'settled') stranded.delete(key);
  }
}
