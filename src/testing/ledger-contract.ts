import type { Clock } from '../base/clock.ts';
import type { Awaitable } from '../base/json.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { appendChecks } from './contract/append-checks.ts';
import { artifactChecks } from './contract/artifact-checks.ts';
import type { Check } from './contract/check.ts';
import { claimChecks } from './contract/claim-checks.ts';
import { counterChecks } from './contract/counter-checks.ts';
import { cursorChecks } from './contract/cursor-checks.ts';
import { sharedCursorChecks } from './contract/shared-cursor-checks.ts';
import { entryChecks } from './contract/entry-checks.ts';
import { headChecks, sharedHeadChecks } from './contract/head-checks.ts';
import { nameChecks } from './contract/name-checks.ts';
import { ownerChecks } from './contract/owner-checks.ts';
import { queryChecks } from './contract/query-checks.ts';
import { searchChecks } from './contract/search-checks.ts';
import { retentionChecks } from './contract/retention-checks.ts';
import { sharedChecks } from './contract/shared-checks.ts';
import { sideRowChecks } from './contract/side-row-checks.ts';
import { sizeChecks } from './contract/size-checks.ts';
import { spillChecks } from './contract/spill-checks.ts';
import { stateChecks } from './contract/state-checks.ts';
import { tallyChecks } from './contract/tally-checks.ts';
import { createManualClock } from './manual-clock.ts';

/** A store under test. */
export type LedgerSubject = {
  /** Opens an empty ledger on a new store. */
  readonly open: (options: { readonly clock: Clock }) => Awaitable<Ledger>;
  /** Opens the store of a ledger again, as another process would. Leave it out for stores with a single handle. */
  readonly openAnother?: (ledger: Ledger, options: { readonly clock: Clock }) => Awaitable<Ledger>;
};

/** A part of the contract: a port of the ledger, or `shared` for two handles on one store. */
export type LedgerPort =
  | 'journal'
  | 'claims'
  | 'artifacts'
  | 'owners'
  | 'spill'
  | 'queries'
  | 'entries'
  | 'cursors'
  | 'integrity'
  | 'retention'
  | 'shared';

/** One sentence of the contract, its port and its proof. */
export type LedgerCheck = {
  readonly port: LedgerPort;
  readonly name: string;
  readonly run: () => Promise<void>;
};

/** In the order in which a store is best written: each part needs only earlier parts and the journal. */
const parts: { readonly [Port in LedgerPort]: readonly Check[] } = {
  journal: [...appendChecks, ...nameChecks, ...stateChecks, ...sizeChecks],
  claims: [...claimChecks, ...counterChecks],
  artifacts: artifactChecks,
  owners: ownerChecks,
  spill: spillChecks,
  entries: entryChecks,
  integrity: [...headChecks, ...sideRowChecks],
  queries: [...queryChecks, ...searchChecks, ...tallyChecks],
  cursors: cursorChecks,
  retention: retentionChecks,
  shared: [...sharedChecks, ...sharedHeadChecks, ...sharedCursorChecks],
};

/**
 * The contract of every ledger, port by port, as checks for any test runner: `for (const { port, name, run } of
 * ledgerContract(…)) test(`${port}: ${name}`, run)`. A check opens its own ledger, rejects if the sentence is false,
 * and closes what it opened.
 */
export function ledgerContract(subject: LedgerSubject): readonly LedgerCheck[] {
  const isShared = subject.openAnother !== undefined;
  return Object.entries(parts).flatMap(([port, checks]) =>
    port === 'shared' && !isShared
      ? []
      : checks.map((check) => ({
          port: port as LedgerPort,
          name: check[0],
          run: async () => runCheck(check, subject),
        })),
  );
}

async function runCheck([, prove]: Check, { open, openAnother }: LedgerSubject): Promise<void> {
  const clock = createManualClock();
  const ledger = await open({ clock });
  const opened = [ledger];
  const another = async (): Promise<Ledger> => {
    if (openAnother === undefined) throw new TypeError('This store has only one handle.');
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
