/**
 * Removes data from a ledger: bodies, permanently and with a mark, and whole sessions, with an entry in the ledger's
 * own chain. Runs in the writer thread, in short transactions between appends.
 */
import { sessionCounterPrefixes } from '../../ledger/claims.ts';
import type { CounterTotal } from '../../ledger/claims.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { erasureEntry, removalEntry } from '../../ledger/own-entry.ts';
import type { Erasure, Removal } from '../../ledger/retention.ts';
import type { RemovedEntry } from '../sql/removal.ts';
import { RemovalScan } from '../sql/removal.ts';
import { backoffMs } from './backoff.ts';
import { WordTable } from './call-lists.ts';
import type { EntryRow } from './entry-table.ts';
import { markOf } from './marks.ts';
import type { Session } from './sessions.ts';
import type { WriteParts } from './write-parts.ts';

/** A limited number per commit, so that no writer waits long for the lock. */
const entriesPerCommit = 500;
/** About 50 ms. */
const mostTries = 20;

/** Empties the bodies of entries. Returns how many. */
export async function eraseEntries(parts: WriteParts, erasure: Erasure, at: number): Promise<number> {
  const session = parts.sessions.read(erasure.sessionId);
  if (session === undefined) return 0;
  const found = (await scan(parts, session, erasure)).erased();
  for (let from = 0; from < found.length; from += entriesPerCommit) {
    const some = found.slice(from, from + entriesPerCommit);
    await sweep(parts, await parts.transact(() => eraseSome(parts, erasure, some, at)));
  }
  await removeWords(parts);
  await emptyLog(parts);
  return found.length;
}

/** Removes a session. False if there is none, or if it does not end as the removal says. */
export async function dropSession(parts: WriteParts, removal: Removal, at: number): Promise<boolean> {
  const { sessions } = parts;
  const { sessionId, lastHash } = removal;
  if (sessionId === ledgerSessionId) return false;
  for (;;) {
    const session = sessions.read(sessionId);
    if (session === undefined || (lastHash ?? session.hash) !== session.hash) return false;
    const touched = await scan(parts, session, { sessionId });
    touched.requireSettled();
    const hashes = await parts.transact(() => {
      const now = sessions.find(sessionId);
      // Later appends have not been checked.
      if (now?.session !== session.session || now.sequence !== session.sequence) return undefined;
      return drop(parts, removal, now, touched, at);
    });
    if (hashes === undefined) continue;
    await sweep(parts, hashes);
    await removeWords(parts);
    await emptyLog(parts);
    return true;
  }
}

/** Removes the contents of artifacts that no session references any more. */
async function sweep({ artifacts, transact }: WriteParts, hashes: readonly string[]): Promise<void> {
  for (const hash of new Set(hashes)) await transact(() => artifacts.sweep(hash));
}

/**
 * Search no longer finds removed words, but they stay in the file until their index is merged. Each transaction merges
 * a part, because others append meanwhile.
 */
async function removeWords({ database, transact }: WriteParts): Promise<void> {
  const words = new WordTable(database);
  for (let isFirst = true; await transact(() => words.compactSome(isFirst)); isFirst = false);
}

/**
 * Removed data may still be in the log file. It cannot be emptied while others read, write or copy it, which takes
 * them milliseconds. After some attempts it is left to them: it is then emptied a little later.
 */
async function emptyLog({ database }: WriteParts): Promise<void> {
  // Gives 1 if it cannot be emptied now.
  const empty = database.value<number>('PRAGMA wal_checkpoint(TRUNCATE)');
  for (let tries = 0; tries < mostTries; tries++) {
    if (empty.get() === 0) return;
    await new Promise((resolve) => setTimeout(resolve, backoffMs(tries)));
  }
}

async function scan(
  parts: WriteParts,
  session: Session,
  erasure: Pick<Erasure, 'sessionId' | 'entryIds'>,
): Promise<RemovalScan<number>> {
  const found = new RemovalScan<number>(erasure);
  for await (const row of entriesOf(parts, session)) found.add(row, row.position);
  return found;
}

async function* entriesOf({ entries }: WriteParts, session: Session): AsyncGenerator<EntryRow, void> {
  for (let after = 0; ;) {
    const rows = entries.ofSession(session, after, entriesPerCommit);
    yield* rows;
    if (rows.length < entriesPerCommit) return;
    after = rows.at(-1)?.position ?? after;
    await new Promise(setImmediate);
  }
}

function eraseSome(
  parts: WriteParts,
  erasure: Erasure,
  found: readonly RemovedEntry<number>[],
  at: number,
): readonly string[] {
  const { database, sessions, lists, side, artifacts, ids } = parts;
  const session = sessions.take(erasure.sessionId);
  const callIds = new Set(found.flatMap(({ callId }) => callId ?? []));
  const before = [...callIds].map((callId) => [callId, lists.read(session, callId)] as const);
  for (const { place: position } of found)
    database.run('UPDATE entries SET bodies = NULL, salt = NULL WHERE position = ?', position);
  for (const [callId, listed] of before) lists.relist(session, callId, listed);
  if (erasure.entryIds === undefined) side.emptyStates(session.session);
  const hashes: string[] = [];
  for (const callId of callIds) {
    side.dropSealed(session.session, callId);
    hashes.push(...artifacts.dropCall(session.session, callId));
  }
  const entryIds = found.map(({ entryId }) => entryId);
  insert(parts, session, erasureEntry(erasure, entryIds, at, ids));
  return hashes;
}

function drop(
  parts: WriteParts,
  removal: Removal,
  { session, sessionId, sequence, hash }: Session,
  touched: RemovalScan<number>,
  at: number,
): readonly string[] {
  const { database, sessions, lists, side, artifacts, ids, appender } = parts;
  const totals = leaveTotals(parts, session, sessionId, touched);
  database.run('DELETE FROM entries WHERE session = ?', session);
  side.dropSession(session, sessionId);
  lists.dropSession(session);
  const hashes = artifacts.dropSession(session);
  database.run('DELETE FROM sessions WHERE session = ?', session);
  database.run('UPDATE ledger SET removals = removals + 1');
  sessions.forget();
  const entry = { ...removalEntry(removal, { sessionId, sequence, hash }, at, ids), totals };
  insert(parts, sessions.take(ledgerSessionId), entry, totals.length);
  side.putTotals(totals, appender.position);
  return hashes;
}

/**
 * Frees the keys that the session holds. Returns the totals of shared counters that only an entry of this session
 * states: that entry is removed, so another one must state them.
 */
function leaveTotals(
  { marks, side, entries }: WriteParts,
  session: number,
  sessionId: string,
  { claims, counters }: RemovalScan<number>,
): readonly CounterTotal[] {
  const isOurs = (key: string): boolean => {
    const position = marks.find(key);
    return position !== undefined && entries.at(position)?.session === session;
  };
  for (const key of claims) if (isOurs(markOf.claim(key))) marks.drop(markOf.claim(key));
  const prefixes = sessionCounterPrefixes(sessionId);
  return [...counters]
    .filter((name) => !prefixes.some((prefix) => name.startsWith(prefix)))
    .filter((name) => isOurs(markOf.counter(name)))
    .map((counter) => ({ counter, ...side.readCounter(counter) }));
}

function insert(
  { appender, ownerId, salt }: WriteParts,
  session: Session,
  entry: Parameters<typeof writeEntry>[0],
  marks = 0,
): void {
  appender.insert(session, undefined, undefined, writeEntry(entry, ownerId, salt), marks);
}
