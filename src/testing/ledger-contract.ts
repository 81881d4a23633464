import type { Clock } from '../base/clock.ts';
import type { Awaitable } from '../base/json.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { appendChecks } from './contract/append-checks.ts';
import type { Check } from './contract/check.ts';
import { cursorChecks, sharedCursorChecks } from './contract/cursor-checks.ts';
import { entryChecks } from './contract/entry-checks.ts';
import { sizeChecks } from './contract/size-checks.ts';
import { headChecks, sharedHeadChecks } from './contract/head-checks.ts';
import { keepingChecks } from './contract/keeping-checks.ts';
import { queryChecks } from './contract/query-checks.ts';
import { refusalChecks } from './contract/refusal-checks.ts';
import { retentionChecks } from './contract/retention-checks.ts';
import { sharedChecks } from './contract/shared-checks.ts';
import { stateChecks } from './contract/state-checks.ts';
import { tallyChecks } from './contract/tally-checks.ts';
import { createManualClock } from './manual-clock.ts';

/** A store to be tried. */
export type LedgerSubject = {
  /** Opens a ledger nobody has appended to, on a store of its own. */
  readonly open: (options: { readonly clock: Clock }) => Awaitable<Ledger>;
  /** Opens the store of a ledger once more, as another process would. Left out where a store has one handle only. */
  readonly openAnother?: (ledger: Ledger, options: { readonly clock: Clock }) => Awaitable<Ledger>;
};

/** One sentence of the contract, and what proves it. */
export type LedgerCheck = { readonly name: string; readonly run: () => Promise<void> };

/**
 * What every ledger must do, as checks for any test runner: `for (const {name, run} of ledgerContract(…)) test(name,
 * run)`. A check opens a ledger of its own, rejects where the sentence does not hold, and closes what it opened.
 */
export function ledgerContract(subject: LedgerSubject): readonly LedgerCheck[] {
  const checks = [
    ...appendChecks,
    ...refusalChecks,
    ...entryChecks,
    ...sizeChecks,
    ...headChecks,
    ...queryChecks,
    ...keepingChecks,
    ...retentionChecks,
    ...stateChecks,
    ...tallyChecks,
    ...cursorChecks,
    ...(subject.openAnother === undefined
      ? []
      : [...sharedChecks, ...sharedHeadChecks, ...sharedCursorChecks]),
  ];
  return checks.map((check) => ({ name: check[0], run: async () => runCheck(check, subject) }));
}

async function runCheck([, prove]: Check, { open, openAnother }: LedgerSubject): Promise<void> {
  const clock = createManualClock();
  const ledger = await open({ clock });
  const opened = [ledger];
  const another = async (): Promise<Ledger> => {
    if (openAnother === undefined) throw new TypeError('This store has one handle only.');
    const other = await openAnother(ledger, { clock });
    opened.push(other);
    return other;
  };
  try {
    await prove({ ledger, clock, another });
  } finally {
    for (const one of opened) await one.close();
  }
}
