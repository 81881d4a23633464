/** A ledger in memory that outlives whoever uses it: each handle can be killed, as a process is. */
import type { Ledger } from 'quittance/store';
import { createMemoryLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { alterLedger, interceptLedger } from './alter-ledger.ts';

export type Handle = {
  readonly ledger: Ledger;
  /** From now on nothing that is asked of this handle is answered, and what it had in hand is nobody's. */
  readonly kill: () => void;
};

export type MortalLedger = {
  readonly inner: Ledger;
  open(): Handle;
};

export function createMortalLedger(clock: ManualClock): MortalLedger {
  const inner = createMemoryLedger({ clock });
  return {
    inner,
    open() {
      let dead = false;
      const never = new Promise<never>(() => undefined);
      const own = alterLedger(inner, { owners: { runtimes: new Set() } });
      const ledger = interceptLedger(own, (name, proceed) => {
        if (name === 'now') return proceed();
        if (dead) return never;
        const answer = proceed();
        // What was under way when the process died happened; its caller never hears of it.
        return answer instanceof Promise
          ? answer.then(
              (given: unknown) => (dead ? never : given),
              (error: unknown) => (dead ? never : Promise.reject(error as Error)),
            )
          : answer;
      });
      return { ledger, kill: () => (dead = true) };
    },
  };
}
