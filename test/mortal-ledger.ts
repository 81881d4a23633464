/** A memory ledger that outlives its users: each handle can be killed like a process. */
import type { OpenLedger } from 'quittance/store';
import { createMemoryLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { alterLedger, interceptLedger } from './alter-ledger.ts';

export type Handle = {
  readonly ledger: OpenLedger;
  /** From now on this handle answers nothing, and its calls have no living owner. */
  readonly kill: () => void;
};

export type MortalLedger = {
  readonly inner: OpenLedger;
  open(): Handle;
};

export function createMortalLedger(clock: ManualClock): MortalLedger {
  const inner = createMemoryLedger({ clock });
  return {
    inner,
    open() {
      let dead = false;
      const never = new Promise<never>(() => undefined);
      const own = alterLedger(inner, { ownerId: inner.ownerId, runtimes: new Set() });
      const ledger = interceptLedger(own, (name, proceed) => {
        if (name === 'now') return proceed();
        if (dead) return never;
        const answer = proceed();
        // Operations that were running when the process died did happen; their caller never learns of it.
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
