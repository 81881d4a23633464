/** Verifies a ledger or an export from its beginning to its end, or until somebody says stop. */
import { createReadStream } from 'node:fs';
import { isQuittanceError } from '../base/error.ts';
import type { Anchor } from '../ledger/anchor.ts';
import type { Head } from '../ledger/chain.ts';
import { BesideFold } from '../ledger/beside-fold.ts';
import { readExport } from '../ledger/export-format.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { StoredEntry } from '../ledger/stored-entry.ts';
import type { VerifyTotals } from '../ledger/verify.ts';
import { createVerifier } from '../ledger/verify.ts';
import type { VerifyProblem } from '../ledger/verify-problem.ts';
import type { Context } from './command.ts';
import { ChainedCalls } from './chained-calls.ts';
import { isDamage } from './damage.ts';
import { readAllEntries } from './read-all-entries.ts';
import { checkBeside } from './verify-beside.ts';
import { checkReadTables } from './verify-tables.ts';

/** A problem, wherever it was found. What is known of its place is there. */
export type Finding = {
  readonly kind: VerifyProblem['kind'] | 'file' | 'beside' | 'read_table';
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

export type Tell = (finding: Finding) => Promise<void>;

const countOf = (heads: readonly Head[]): number => heads.reduce((sum, { sequence }) => sum + sequence, 0);

/** Verifies the ledger as it stands now; what others append meanwhile is for the next time. */
export async function verifyLedger(
  ledger: Ledger,
  anchor: Anchor | undefined,
  { signal, startProgress }: Context,
  tell: Tell,
): Promise<Verdict> {
  const at = ledger.now();
  const heads = await ledger.readHeads();
  const ends = new Map(heads.map(({ sessionId, sequence }) => [sessionId, sequence]));
  const chained = new ChainedCalls();
  const beside = new BesideFold();
  const verifier = createVerifier({
    anchor,
    heads,
    onEntry(entry, position) {
      chained.add(entry);
      beside.add(entry, position);
    },
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
  const due = countOf(heads);
  const progress = startProgress('verify', due);
  const later = new Set<string>();
  let problems = 0;
  const say = async (found: readonly Finding[]): Promise<void> => {
    for (const problem of found) {
      problems++;
      await tell(problem);
    }
  };
  try {
    for await (const entry of readAllEntries(ledger, signal)) {
      const end = ends.get(entry.sessionId);
      if (end === undefined) later.add(entry.sessionId);
      if (end === undefined || entry.sequence > end) addLater(entry);
      else {
        ({ position } = entry);
        await say(verifier.add(entry));
        progress.step();
      }
    }
    if (!signal.aborted) await say([...verifier.end(), ...(await findUnlisted(ledger, later))]);
  } catch (error) {
    if (!isDamage(error)) throw error;
    await say([{ kind: 'file', message: error.message }]);
  }
  progress.done();
  const catchUp = async (): Promise<void> => {
    for (let entries; (entries = await ledger.readEntries({ after: position, limit: 500 })).length > 0;)
      for (const entry of entries) addLater(entry);
  };
  try {
    for await (const problem of checkBeside(ledger, beside, catchUp, signal))
      await say([{ kind: 'beside', ...problem }]);
  } catch (error) {
    if (!isDamage(error)) throw error;
    await say([{ kind: 'beside', message: error.message }]);
  }
  const tables = startProgress('read tables', verifier.totals.calls);
  try {
    for await (const problem of checkReadTables(ledger, signal, () => tables.step(), chained, heads))
      await say([{ kind: 'read_table', ...problem }]);
  } catch (error) {
    if (!isDamage(error)) throw error;
    await say([{ kind: 'read_table', message: error.message }]);
  }
  tables.done();
  return { totals: verifier.totals, due, problems, finished: !signal.aborted, heads, at };
}

/** Sessions that were not there when it began must have been made since, and not have been put there unlisted. */
async function findUnlisted(ledger: Ledger, seen: ReadonlySet<string>): Promise<readonly Finding[]> {
  if (seen.size === 0) return [];
  const listed = new Set((await ledger.readHeads()).map(({ sessionId }) => sessionId));
  return [...seen]
    .filter((sessionId) => !listed.has(sessionId))
    .map((sessionId) => ({
      kind: 'head',
      sessionId,
      message: 'There are entries of a session that is not listed.',
    }));
}

/** Verifies an export from its file alone. */
export async function verifyExport(
  path: string,
  anchor: Anchor | undefined,
  { signal, startProgress }: Context,
  tell: Tell,
): Promise<Verdict> {
  let problems = 0;
  let verifier = createVerifier();
  let heads: readonly Head[] = [];
  let at = 0;
  let progress = startProgress('verify', 0);
  const say = async (found: readonly Finding[]): Promise<void> => {
    for (const problem of found) {
      problems++;
      await tell(problem);
    }
  };
  try {
    const { manifest, entries } = await readExport(readLines(path));
    ({ heads, createdAt: at } = manifest);
    verifier = createVerifier({ anchor: anchor && ofSessions(anchor, heads), heads });
    progress = startProgress('verify', countOf(heads));
    for await (const { position, ...entry } of entries) {
      if (signal.aborted) break;
      // An export has lines instead of positions: the first one is the manifest.
      for (const { position: _, ...problem } of verifier.add({ position, ...entry }))
        await say([{ ...problem, line: position + 1 }]);
      progress.step();
    }
    if (!signal.aborted) await say(verifier.end());
  } catch (error) {
    if (!isDamage(error)) throw error;
    const line = isQuittanceError(error) ? Number(error.facts['line']) : Number.NaN;
    await say([{ kind: 'file', message: error.message, line: Number.isNaN(line) ? undefined : line }]);
  }
  progress.done();
  return { totals: verifier.totals, due: countOf(heads), problems, finished: !signal.aborted, heads, at };
}

/** An export may hold some sessions only: of the others it says nothing, right or wrong. */
const ofSessions = (anchor: Anchor, heads: readonly Head[]): Anchor => {
  const known = new Set(heads.map(({ sessionId }) => sessionId));
  return { ...anchor, heads: anchor.heads.filter(({ sessionId }) => known.has(sessionId)) };
};

/** Lines end at line feeds and nowhere else, and bytes that are no text are not taken for some. */
async function* readLines(path: string): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
