/** Verifies a ledger from start to end, or until it is stopped. */
import type { Anchor } from '../ledger/anchor.ts';
import { SideFold } from '../ledger/side-fold.ts';
import type { Head } from '../ledger/chain.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { StoredEntry } from '../ledger/stored-entry.ts';
import type { VerifyTotals } from '../ledger/verify.ts';
import { createVerifier } from '../ledger/verify.ts';
import type { VerifyProblem } from '../ledger/verify-problem.ts';
import { isDamage } from './damage.ts';
import { readAllEntries } from './read-all-entries.ts';
import { checkSideRows } from './check-side-rows.ts';

/** A problem with the known parts of its place. */
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
  /** Number of entries to expect. */
  readonly due: number;
  readonly problems: number;
  /** False if it was stopped before its end. */
  readonly finished: boolean;
  /** The verified ends of the chains, and the time of the verification. */
  readonly heads: readonly Head[];
  readonly at: number;
};

/** Progress and cancellation. */
export type VerifyOptions = {
  readonly signal: AbortSignal;
  readonly startProgress: (label: string, total: number) => { step(): void; done(): void };
  /** Receives harmless findings that also occur in an intact ledger, e.g. the tables of a backup tool. */
  readonly note?: ((message: string) => Promise<void>) | undefined;
};

export type Tell = (finding: VerifyFinding) => Promise<void>;

export const countEntries = (heads: readonly Head[]): number =>
  heads.reduce((sum, { sequence }) => sum + sequence, 0);

/** Does the ledger's own chain record the removal of a session? An unreadable chain is reported where it is verified. */
async function tellsOfRemovals(ledger: Ledger): Promise<boolean> {
  try {
    const events = await ledger.journal.readSession(ledgerSessionId, 'without_call');
    return events.some(({ type }) => type === 'session.dropped');
  } catch (error) {
    if (!isDamage(error)) throw error;
    return false;
  }
}

/** Verifies the ledger as of now; entries appended meanwhile are ignored. Changes nothing. */
export async function verifyLedger(
  ledger: Ledger,
  anchor: Anchor | undefined,
  { signal, startProgress, note }: VerifyOptions,
  tell: Tell,
): Promise<Verdict> {
  const at = ledger.now();
  const findings = createFindings(tell);
  const { say, look } = findings;
  let heads: readonly Head[] | undefined;
  await look('file', async () => {
    heads = await ledger.integrity.readHeads();
  });
  const ends = heads && new Map(heads.map(({ sessionId, sequence }) => [sessionId, sequence]));
  let folded: VerifyFinding[] = [];
  let place: Omit<VerifyFinding, 'kind' | 'message'> = {};
  const sideFold = new SideFold((finding) => folded.push({ ...finding, ...place }), {
    hasDropped: await tellsOfRemovals(ledger),
  });
  const verifier = createVerifier({
    anchor,
    heads,
    onEntry: (entry, position) => sideFold.add(entry, position),
  });
  let position = 0;
  /** An entry appended meanwhile, which may have changed derived data. */
  const addLater = (entry: StoredEntry): void => {
    ({ position } = entry);
    try {
      sideFold.add(readEntry(entry), position);
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
    for await (const { level, ...finding } of checkSideRows(ledger, sideFold, catchUp, signal))
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
  return {
    totals: verifier.totals,
    due,
    problems: findings.count(),
    finished: !signal.aborted,
    heads: heads ?? [],
    at,
  };
}

type Findings = {
  readonly count: () => number;
  readonly say: (found: readonly VerifyFinding[]) => Promise<void>;
  /** An unreadable part is a finding, and the check continues with the next part. */
  readonly look: (kind: VerifyFinding['kind'], work: () => Promise<void>) => Promise<void>;
};

/** Counts the findings and passes each on. */
function createFindings(tell: Tell): Findings {
  let problems = 0;
  const say: Findings['say'] = async (found) => {
    for (const problem of found) {
      problems++;
      await tell(problem);
    }
  };
  return {
    count: () => problems,
    say,
    async look(kind, work) {
      try {
        await work();
      } catch (error) {
        if (!isDamage(error)) throw error;
        await say([{ kind, message: error.message }]);
      }
    },
  };
}

/** New sessions must have been created since the start, not inserted without being listed. */
async function findUnlisted(ledger: Ledger, seen: ReadonlySet<string>): Promise<readonly VerifyFinding[]> {
  if (seen.size === 0) return [];
  const listed = new Set((await ledger.integrity.readHeads()).map(({ sessionId }) => sessionId));
  return [...seen]
    .filter((sessionId) => !listed.has(sessionId))
    .map((sessionId) => ({
      kind: 'head',
      sessionId,
      message: 'There are entries of an unlisted session.',
    }));
}
