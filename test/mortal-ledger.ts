/** A ledger in memory that outlives whoever uses it: each handle can be killed, as a process is. */
import type { Ledger } from 'quittance';
import { createMemoryLedger } from 'quittance';
import type { ManualClock } from 'quittance/testing';

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
      const ledger = new Proxy(inner, {
        get(target, name) {
          if (name === 'inHand') return inHand;
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function' || name === 'now') return value;
          return (...input: unknown[]): unknown => {
            if (dead) return never;
            const answer = (value as (...given: unknown[]) => unknown).apply(target, input);
            // What was under way when the process died happened; nobody there heard of it.
            return answer instanceof Promise
              ? answer.then(
                  (given: unknown) => (dead ? never : given),
                  (error: unknown) => (dead ? never : Promise.reject(error as Error)),
                )
              : answer;
          };
        },
      });
      const inHand: Ledger['inHand'] = new Map();
      return { ledger, kill: () => (dead = true) };
    },
  };
}
