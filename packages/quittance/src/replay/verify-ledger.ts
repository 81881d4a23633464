/** Verifies a ledger from start to end, or until it is stopped. */
import type { Anchor } from '../ledger/anchor.ts';
import { SideFold, foldKey } from '../ledger/side-fold.ts';
import type { Head } from '../ledger/chain.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { StoredEntry } from '../ledger/stored-entry.ts';
import type { VerifyTotals, VerifyProblem } from '../ledger/verify.ts';
import { createVerifier } from '../ledger/verify.ts';
import { isDamage } from './damage.ts';
import { readAllEntries } from './read-all-entries.ts';
import { canonicalJson } from '../base/canonical.ts';
import { isQuittanceError } from '../base/error.ts';
import type { JsonObject } from '../base/json.ts';
import { isJsonObject, readJsonText } from '../base/json.ts';
import type { SideRow } from '../ledger/side-row.ts';
import type { ClaimHolder, Counter } from '../ledger/claims.ts';
import { findOrphanRows, idOf, quoteId, sideSubjectsOf } from './side-subjects.ts';
import type { SideRowProblem, Subject } from './side-row-problem.ts';
import { readHeads, readSideRows } from '../ledger/reads.ts';

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
type VerifyOptions = {
  readonly signal: AbortSignal;
  readonly startProgress: (label: string, total: number) => { step(): void; done(): void };
  /** Receives harmless findings that also occur in an intact ledger, e.g. the tables of a backup tool. */
  readonly note?: ((message: string) => Promise<void>) | undefined;
};

export type Tell = (finding: VerifyFinding) => Promise<void>;

export const countEntries = (heads: readonly Head[]): number =>
  heads.reduce((sum, { sequence }) => sum + sequence, 0);

/** Does the ledger's own chain record the removal of a session? An unreadable chain is reported where it is verified. */
async function tellsOfRemovals(ledger: OpenLedger): Promise<boolean> {
  try {
    const events = await ledger.readSession(ledgerSessionId, 'without_call');
    return events.some(({ type }) => type === 'session.dropped');
  } catch (error) {
    if (!isDamage(error)) throw error;
    return false;
  }
}

/** Verifies the ledger as of now; entries appended meanwhile are ignored. Changes nothing. */
export async function verifyLedger(
  ledger: OpenLedger,
  anchor: Anchor | undefined,
  { signal, startProgress, note }: VerifyOptions,
  tell: Tell,
): Promise<Verdict> {
  const at = ledger.now();
  const findings = createFindings(tell);
  const { say, look } = findings;
  let heads: readonly Head[] | undefined;
  await look('file', async () => {
    heads = await readHeads(ledger);
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
  /** An entry appended meanwhile, which may have changed derived data. */
  const addLater = (entry: StoredEntry): void => {
    try {
      sideFold.add(readEntry(entry), entry.position);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  };
  const due = countEntries(heads ?? []);
  const progress = startProgress('verify', due);
  const later = new Set<string>();
  const read = new Map<string, Pick<StoredEntry, 'sequence' | 'position'>>();
  const take = async (entry: StoredEntry): Promise<void> => {
    const { sessionId, sequence } = entry;
    read.set(sessionId, { sequence, position: entry.position });
    const end = ends === undefined ? sequence : ends.get(sessionId);
    if (end === undefined) later.add(sessionId);
    if (end === undefined || sequence > end) return addLater(entry);
    folded = [];
    place = { sessionId, sequence, position: entry.position };
    await say([...verifier.add(entry), ...folded]);
    progress.step();
  };
  /**
   * Reads sessions to their ends. Readers of all sessions do not see entries that follow an open transaction of a
   * PostgreSQL server; readers of one session do.
   */
  const readToEnds = async (of: readonly Head[]): Promise<void> => {
    const rest: StoredEntry[] = [];
    for (const { sessionId, sequence } of of)
      if ((read.get(sessionId)?.sequence ?? 0) < sequence)
        for await (const entry of readAllEntries(ledger, signal, [
          { sessionId, after: read.get(sessionId)?.position ?? 0 },
        ]))
          rest.push(entry);
    for (const entry of rest.toSorted((one, other) => one.position - other.position)) await take(entry);
  };
  await look('file', async () => {
    for await (const entry of readAllEntries(ledger, signal)) await take(entry);
    if (!signal.aborted) await readToEnds(heads ?? []);
    if (!signal.aborted) await say([...verifier.end(), ...(await findUnlisted(ledger, later))]);
  });
  progress.done();
  const catchUp = async (): Promise<void> => readToEnds(await readHeads(ledger));
  await look('side_row', async () => {
    for await (const { level, ...finding } of checkSideRows(ledger, sideFold, catchUp, signal))
      if (level === 'problem') await say([{ kind: 'side_row', ...finding }]);
      else await note?.(finding.message);
  });
  const tables = startProgress('tables', 1);
  await look('file', async () => {
    for await (const { level, ...finding } of ledger.inspect(signal))
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
async function findUnlisted(
  ledger: OpenLedger,
  seen: ReadonlySet<string>,
): Promise<readonly VerifyFinding[]> {
  if (seen.size === 0) return [];
  const listed = new Set((await readHeads(ledger)).map(({ sessionId }) => sessionId));
  return [...seen]
    .filter((sessionId) => !listed.has(sessionId))
    .map((sessionId) => ({
      kind: 'head',
      sessionId,
      message: 'There are entries of an unlisted session.',
    }));
}

/**
 * Compares the derived data with the entries: claims, counters, states, unresolved effects, sealed inputs, artifacts.
 * It compares the rows themselves, because the ledger's queries overrule a changed row by the entries.
 */

/** Other processes may append between reading the entries and the check; then it is repeated. */
const mostLooks = 5;

/** `catchUp` adds the entries appended since its last call to the fold. */
export async function* checkSideRows(
  ledger: OpenLedger,
  fold: SideFold,
  catchUp: () => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<SideRowProblem, void, undefined> {
  await catchUp();
  const problems = await compareRows(ledger, fold, signal);
  for (let looks = 1; problems.size > 0 && looks < mostLooks && !signal.aborted; looks++) {
    await catchUp();
    const now = await compareRows(ledger, fold, signal);
    for (const id of problems.keys()) if (!now.has(id)) problems.delete(id);
  }
  if (signal.aborted) return;
  yield* problems.values();
  const orphans = new Set<string>();
  for await (const { look, ...place } of sideSubjectsOf(ledger, fold, orphans)) {
    if (signal.aborted) return;
    let message = await lookSafely(look);
    for (let looks = 1; message !== undefined && looks < mostLooks; looks++) {
      await catchUp();
      message = await lookSafely(look);
    }
    if (message !== undefined) yield { ...place, message };
  }
  yield* findOrphanRows(ledger, orphans, signal);
}

/** An unreadable value was not written by the ledger. */
async function lookSafely(look: Subject['look']): Promise<string | undefined> {
  try {
    return await look();
  } catch (error) {
    if (isQuittanceError(error, 'ledger.damaged')) return error.message;
    if (isUnreadable(error)) return 'Derived data differs from what was written.';
    throw error;
  }
}

/** Values of unexpected types can break readers in any way. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError;

/** Compares claims, counters, states and unresolved effects with the fold, row by row. */
async function compareRows(
  ledger: OpenLedger,
  fold: SideFold,
  signal: AbortSignal,
): Promise<Map<string, SideRowProblem>> {
  const problems = new Map<string, SideRowProblem>();
  const seen = new Set<string>();
  const look = (
    id: string,
    place: Omit<SideRowProblem, 'message' | 'level'>,
    message: string | undefined,
  ): void => {
    if (seen.has(id)) message ??= 'The same derived row exists twice.';
    seen.add(id);
    if (message !== undefined) problems.set(id, { level: 'problem', ...place, message });
  };
  for await (const row of readSideRows(ledger)) {
    if (signal.aborted) break;
    switch (row.kind) {
      case 'claim':
        look(idOf('claim', row.key), placeOf(fold.claims.get(row.key)), compareClaim(row, fold));
        break;
      case 'counter':
        look(idOf('counter', row.name), {}, compareCounter(row, fold));
        break;
      case 'state':
        if (row.sessionId !== undefined)
          look(
            idOf('state', row.sessionId, row.subject),
            { sessionId: row.sessionId },
            compareState({ ...row, sessionId: row.sessionId }, fold),
          );
        break;
      case 'unsettled':
        if (row.sessionId !== undefined)
          look(
            idOf('unsettled', row.sessionId, row.callId),
            { sessionId: row.sessionId, callId: row.callId },
            compareEffect({ ...row, sessionId: row.sessionId }, fold),
          );
        break;
      case 'sealed':
      case 'artifact':
        break; // checked one by one: see `sideSubjectsOf`
    }
  }
  for (const [key, due] of fold.claims)
    if (!seen.has(idOf('claim', key)) && !fold.mayHaveLost(due))
      look(idOf('claim', key), placeOf(due), 'The call owns an idempotency key, but its claim is missing.');
  for (const [name, due] of fold.counters)
    if (!seen.has(idOf('counter', name)))
      look(idOf('counter', name), {}, compareCounter({ name, used: 0, reserved: 0 }, fold, due));
  for (const { sessionId, subject } of fold.states.values())
    if (!seen.has(idOf('state', sessionId, subject)))
      look(idOf('state', sessionId, subject), { sessionId }, otherVersion(subject));
  for (const { sessionId, callId } of fold.unsettled.values())
    if (!seen.has(idOf('unsettled', sessionId, callId)))
      look(
        idOf('unsettled', sessionId, callId),
        { sessionId, callId },
        'The call is unresolved, but it is not listed as such.',
      );
  return problems;
}

const placeOf = (holder: ClaimHolder | undefined): Omit<SideRowProblem, 'message' | 'level'> =>
  holder === undefined ? {} : { sessionId: holder.sessionId, callId: holder.callId };

function compareClaim(row: SideRow & { kind: 'claim' }, fold: SideFold): string | undefined {
  const due = fold.claims.get(row.key);
  if (due === undefined)
    return `Call ${quoteId(row.callId)} owns an idempotency key that no entry gives to it.`;
  return row.sessionId === due.sessionId && row.callId === due.callId && row.inputDigest === due.inputDigest
    ? undefined
    : "The claim on the call's idempotency key names another call or another input.";
}

function compareCounter(
  { name, used, reserved }: Counter & { readonly name: string },
  fold: SideFold,
  due: Counter = fold.counterOf(name),
): string | undefined {
  // The usage of a dropped session is no longer in any entry.
  const isUsed = fold.hasDropped ? used >= due.used : used === due.used;
  if (isUsed && reserved === due.reserved) return undefined;
  return (
    `The counter ${quoteId(name)} says ${used} used and ${reserved} reserved; the entries give ` +
    `${due.used} and ${due.reserved}.`
  );
}

function compareEffect(
  row: SideRow & { kind: 'unsettled' } & { readonly sessionId: string },
  fold: SideFold,
): string | undefined {
  const due = fold.unsettled.get(foldKey(row.sessionId, row.callId));
  return due?.toolName === row.toolName && due.inputDigest === row.inputDigest
    ? undefined
    : 'The calls listed as unresolved are not those in the entries.';
}

function compareState(
  row: SideRow & { kind: 'state' } & { readonly sessionId: string },
  fold: SideFold,
): string | undefined {
  const due = fold.states.get(foldKey(row.sessionId, row.subject));
  if (row.version !== due?.version) return otherVersion(row.subject);
  if (due.state === undefined) return undefined;
  return isJsonOf(row.text, due.state)
    ? undefined
    : `The state of ${quoteId(row.subject)} differs from the entries.`;
}

const otherVersion = (subject: string): string =>
  `The state of ${quoteId(subject)} has another version than the entries.`;

function isJsonOf(text: string, due: JsonObject): boolean {
  try {
    const found = readJsonText(text);
    return isJsonObject(found) && canonicalJson(found) === canonicalJson(due);
  } catch {
    return false; // not JSON, so not written by the ledger
  }
}
