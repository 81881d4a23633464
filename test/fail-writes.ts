/** A ledger that fails for a while, and works again when a test says so. */
import type { Entry, Ledger } from 'quittance';
import { createMemoryLedger } from 'quittance';

export type Failing = {
  readonly ledger: Ledger;
  /** Appends that it is true of fail from now on. */
  failAt: ((entry: Entry) => boolean) | undefined;
  /** What an append waits for first. */
  before: ((entry: Entry) => Promise<void> | undefined) | undefined;
  /** Nothing can be read either. */
  isGone: boolean;
  canSpill: boolean;
  /** No spill can be prepared, so no intent may be written. */
  hasNoRoom: boolean;
  /** Entries that were to be appended, whether they were taken or not. */
  readonly tried: Entry[];
};

const broken = (): Error => Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO' });

export function failingLedger(real: Ledger = createMemoryLedger()): Failing {
  const spilled: Entry[] = [];
  const changed: Partial<Ledger> = {
    append: async (entry) => {
      failing.tried.push(entry);
      await failing.before?.(entry);
      if (failing.isGone || failing.failAt?.(entry) === true) throw broken();
      return real.append(entry);
    },
    readCall: async (...args) => {
      if (failing.isGone) throw broken();
      return real.readCall(...args);
    },
    canSpill: () => (failing.hasNoRoom ? false : real.canSpill()),
    spill: async (entry) => {
      if (failing.canSpill) spilled.push(entry);
      return failing.canSpill;
    },
    readSpills: async () => (spilled.length === 0 ? [] : [{ ownerId: real.ownerId, entries: [...spilled] }]),
    dropSpill: async () => {
      spilled.length = 0;
      return true;
    },
  };
  const failing: Failing = {
    failAt: undefined,
    before: undefined,
    isGone: false,
    canSpill: false,
    hasNoRoom: false,
    tried: [],
    // A ledger may keep its methods anywhere: only these are replaced.
    ledger: new Proxy(real, {
      get(target, name) {
        const found: unknown = Reflect.get(Object.hasOwn(changed, name) ? changed : target, name);
        return typeof found === 'function' ? found.bind(target) : found;
      },
    }),
  };
  return failing;
}

/** True of entries with an event of this type. */
export const has =
  (type: string) =>
  ({ events }: Entry): boolean =>
    events.some((event) => event.type === type);
