/** Verifies a ledger from its beginning to its end, or until somebody says stop. */
import type { Anchor } from '../ledger/anchor.ts';
import { SideFold } from '../ledger/side-fold.ts';
import type { Head } from '../ledger/chain.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { StoredEntry } from '../ledger/stored-entry.ts';
import type { VerifyTotals } from '../ledger/verify.ts';
import { createVerifier } from '../ledger/verify.ts';
import type { VerifyProblem } from '../ledger/verify-problem.ts';
import { isDamage } from './damage.ts';
import { readAllEntries } from './read-all-entries.ts';
import { checkSideRows } from './check-side-rows.ts';

/** A problem, wherever it was found. What is known of its place is there. */
export type VerifyFinding = {
  readonly kind: VerifyProblem['kind'] | 'file' | 'side_row' | 'read_table';
  readonly message: string;
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  readonly sequence?: number | undefined;
  readonly position?: number | undefined;
  readonly line?: number | undefined;
};

export type Verdict = {
  readonly totals: VerifyTotals;
  /** How many entries there should be. */
  readonly due: number;
  readonly problems: number;
  /** False where it was stopped before its end. */
  readonly finished: boolean;
  /** Where the chains stood that were verified, and when that was. */
  readonly heads: readonly Head[];
  readonly at: number;
};

/** How it is followed and stopped. */
export type VerifyOptions = {
  readonly signal: AbortSignal;
  readonly startProgress: (label: string, total: number) => { step(): void; done(): void };
  /** Hears of what may be there in a sound ledger and changes nothing, e.g. the tables of a backup tool. */
  readonly note?: ((message: string) => Promise<void>) | undefined;
};

export type Tell = (finding: VerifyFinding) => Promise<void>;

export const countEntries = (heads: readonly Head[]): number =>
  heads.reduce((sum, { sequence }) => sum + sequence, 0);

/** Verifies the ledger as it stands now; what others append meanwhile is for the next time. Changes nothing. */
export async function verifyLedger(
  ledger: Ledger,
  anchor: Anchor | undefined,
  { signal, startProgress, note }: VerifyOptions,
  tell: Tell,
): Promise<Verdict> {
  const at = ledger.now();
  let problems = 0;
  const say = async (found: readonly VerifyFinding[]): Promise<void> => {
    for (const problem of found) {
      problems++;
      await tell(problem);
    }
  };
  /** Whatever is wrong with what is read is a finding, and the next thing is looked at. */
  const look = async (kind: VerifyFinding['kind'], work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!isDamage(error)) throw error;
      await say([{ kind, message: error.message }]);
    }
  };
  let heads: readonly Head[] | undefined;
  await look('file', async () => {
    heads = await ledger.integrity.readHeads();
  });
  const ends = heads && new Map(heads.map(({ sessionId, sequence }) => [sessionId, sequence]));
  let folded: VerifyFinding[] = [];
  let place: Omit<VerifyFinding, 'kind' | 'message'> = {};
  const beside = new SideFold((finding) => folded.push({ ...finding, ...place }));
  const verifier = createVerifier({
    anchor,
    heads,
    onEntry: (entry, position) => beside.add(entry, position),
  });
  let position = 0;
  /** An entry that is for the next time, and may have changed what is kept beside the others. */
  const addLater = (entry: StoredEntry): void => {
    ({ position } = entry);
    try {
      beside.add(readEntry(entry), position);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  };
  const due = countEntries(heads ?? []);
  const progress = startProgress('verify', due);
  const later = new Set<string>();
  await look('file', async () => {
    for await (const entry of readAllEntries(ledger, signal)) {
      const { sessionId, sequence } = entry;
      const end = ends === undefined ? sequence : ends.get(sessionId);
      if (end === undefined) later.add(sessionId);
      if (end === undefined || sequence > end) addLater(entry);
      else {
        ({ position } = entry);
        folded = [];
        place = { sessionId, sequence, position };
        await say([...verifier.add(entry), ...folded]);
        progress.step();
      }
    }
    if (!signal.aborted) await say([...verifier.end(), ...(await findUnlisted(ledger, later))]);
  });
  progress.done();
  const catchUp = async (): Promise<void> => {
    for (let entries; (entries = await ledger.entries.read({ after: position, limit: 500 })).length > 0;)
      for (const entry of entries) addLater(entry);
  };
  await look('side_row', async () => {
    for await (const { level, ...finding } of checkSideRows(ledger, beside, catchUp, signal))
      if (level === 'problem') await say([{ kind: 'side_row', ...finding }]);
      else await note?.(finding.message);
  });
  const tables = startProgress('tables', 1);
  await look('file', async () => {
    for await (const { level, ...finding } of ledger.integrity.inspect(signal))
      if (level === 'problem') await say([finding]);
      else await note?.(finding.message);
  });
  tables.step();
  tables.done();
  return { totals: verifier.totals, due, problems, finished: !signal.aborted, heads: heads ?? [], at };
}

/** Sessions that were not there when it began must have been made since, and not have been put there unlisted. */
async function findUnlisted(ledger: Ledger, seen: ReadonlySet<string>): Promise<readonly VerifyFinding[]> {
  if (seen.size === 0) return [];
  const listed = new Set((await ledger.integrity.readHeads()).map(({ sessionId }) => sessionId));
  return [...seen]
    .filter((sessionId) => !listed.has(sessionId))
    .map((sessionId) => ({
      kind: 'head',
      sessionId,
      message: 'There are entries of a session that is not listed.',
    }));
}
