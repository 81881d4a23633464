import type { Clock } from '../base/deadlines.ts';
import type { Awaitable } from '../base/json.ts';
import type { OpenLedger, RowName } from '../ledger/ledger.ts';
import { appendChecks } from './contract/append-checks.ts';
import { artifactChecks } from './contract/artifact-checks.ts';
import type { Check } from './contract/check.ts';
import { claimChecks } from './contract/claim-checks.ts';
import { counterChecks } from './contract/counter-checks.ts';
import { cursorChecks } from './contract/cursor-checks.ts';
import { sharedCursorChecks } from './contract/shared-cursor-checks.ts';
import { entryChecks, waiterChecks } from './contract/entry-checks.ts';
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
  readonly open: (options: { readonly clock: Clock }) => Awaitable<OpenLedger>;
  /** Opens the store of a ledger again, as another process would. Leave it out for stores with a single handle. */
  readonly openAnother?: (ledger: OpenLedger, options: { readonly clock: Clock }) => Awaitable<OpenLedger>;
};

/** What a check is about: a member of `OpenLedger`, a kind of rows, or `shared` for two handles on one store. */
export type LedgerMember = keyof OpenLedger | RowName | 'shared';

/** One sentence of the contract, its subject and its proof. */
export type LedgerCheck = {
  readonly member: LedgerMember;
  readonly name: string;
  readonly run: () => Promise<void>;
};

/** In the order in which a store is best written: each member needs only earlier ones. */
const members: readonly (readonly [LedgerMember, readonly Check[]])[] = [
  ['append', [...appendChecks, ...nameChecks]],
  ['states', stateChecks],
  ['sizes', sizeChecks],
  ['claims', claimChecks],
  ['counters', counterChecks],
  ['readArtifact', artifactChecks],
  ['owners', ownerChecks],
  ['spill', spillChecks],
  ['readEntries', entryChecks],
  ['whenChanged', waiterChecks],
  ['heads', headChecks],
  ['side_rows', sideRowChecks],
  ['calls', [...queryChecks, ...searchChecks]],
  ['tallies', tallyChecks],
  ['setCursor', cursorChecks],
  ['erase', retentionChecks],
  ['shared', [...sharedChecks, ...sharedHeadChecks, ...sharedCursorChecks]],
];

/**
 * The contract of every ledger, member by member, as checks for any test runner: `for (const { member, name, run } of
 * ledgerContract(…)) test(`${member}: ${name}`, run)`. A check opens its own ledger, rejects if the sentence is false,
 * and closes what it opened.
 */
export function ledgerContract(subject: LedgerSubject): readonly LedgerCheck[] {
  const isShared = subject.openAnother !== undefined;
  return members
    .filter(([member]) => member !== 'shared' || isShared)
    .flatMap(([member, checks]) =>
      checks.map((check) => ({ member, name: check[0], run: () => runCheck(check, subject) })),
    );
}

async function runCheck([, prove]: Check, { open, openAnother }: LedgerSubject): Promise<void> {
  const clock = createManualClock();
  const ledger = await open({ clock });
  const opened = [ledger];
  const another = async (): Promise<OpenLedger> => {
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
