/** A ledger that fails for a while, and works again when a test says so. */
import type { Entry, OpenLedger } from 'quittance/store';
import { createMemoryLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { alterLedger } from './alter-ledger.ts';

export type Failing = {
  readonly ledger: OpenLedger;
  /** For the runtime on it: with a clock that runs, a busy machine is late, and the runtime tries again by itself. */
  readonly clock: ManualClock;
  /** Appends for which this returns true fail from now on. */
  failAt: ((entry: Entry) => boolean) | undefined;
  /** What an append waits for first. */
  before: ((entry: Entry) => Promise<void> | undefined) | undefined;
  /** Reads fail too. */
  isGone: boolean;
  canSpill: boolean;
  /** No spill file can be prepared, so no intent may be written. */
  hasNoRoom: boolean;
  /** Entries of all appends, successful or not. */
  readonly tried: Entry[];
};

const broken = (): Error => Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO' });

export function failingLedger(
  given?: OpenLedger,
  /** The clock of the given ledger. */
  clock: ManualClock = createManualClock(),
): Failing {
  const real = given ?? createMemoryLedger({ clock });
  const spilled: Entry[] = [];
  const ledger = alterLedger(real, {
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
    spill: {
      canWrite: async () => (failing.hasNoRoom ? false : real.spill.canWrite()),
      write: async (entry) => {
        if (failing.canSpill) spilled.push(entry);
        return failing.canSpill;
      },
      read: async () => (spilled.length === 0 ? [] : [{ ownerId: real.ownerId, entries: [...spilled] }]),
      drop: async () => {
        spilled.length = 0;
        return true;
      },
    },
  });
  const failing: Failing = {
    failAt: undefined,
    before: undefined,
    isGone: false,
    canSpill: false,
    hasNoRoom: false,
    tried: [],
    ledger,
    clock,
  };
  return failing;
}

/** True for entries with an event of this type. */
export const has =
  (type: string) =>
  ({ events }: Entry): boolean =>
    events.some((event) => event.type === type);
