/** What readers of a ledger ask for, composed from the members of `Ledger` for every store alike. */
import type { ArtifactFacts, StoredArtifact } from './artifacts.ts';
import type {
  CallCount,
  CallCountQuery,
  RuleDenials,
  CallTally,
  TallyName,
  TallyQuery,
} from './call-tally.ts';
import type {
  CallQuery,
  CallSummary,
  Page,
  SessionQuery,
  SessionSummary,
  ConfirmationQuery,
  ConfirmationSummary,
  OpenCall,
  OpenCallQuery,
} from './call-query.ts';
import type { Head, HeadQuery } from './chain.ts';
import type { ClaimHolder, Counter, LookUp } from './claims.ts';
import type { StoredState } from './journal.ts';
import type { Ledger, OwnerStatus } from './ledger.ts';
import type { SideRow } from './side-row.ts';
import type { EntryQuery, EntrySize } from './stored-entry.ts';
import type { Cursor, CursorMove } from './cursors.ts';
import type { CallEvent, CallNotAccepted } from '../call/event.ts';

type Rows = Pick<Ledger, 'query'>;

/** Calls, newest first, one page at a time. */
export const findCalls = (ledger: Rows, query: CallQuery): Promise<Page<CallSummary>> =>
  ledger.query('calls', query);

/** Sessions with an event in the given time, newest first, one page at a time. */
export const findSessions = (ledger: Rows, query: SessionQuery): Promise<Page<SessionSummary>> =>
  ledger.query('sessions', query);

/** Confirmations, newest first, one page at a time. */
export const findConfirmations = (
  ledger: Rows,
  query: ConfirmationQuery,
): Promise<Page<ConfirmationSummary>> => ledger.query('confirmations', query);

/** The confirmation with this id, pending or decided. */
export async function findConfirmation(
  ledger: Rows,
  confirmationId: string,
): Promise<ConfirmationSummary | undefined> {
  return (await ledger.query('confirmations', { confirmationId, limit: 1 })).rows[0];
}

/** Calls without an outcome, oldest first. */
export const findOpenCalls = async (ledger: Rows, query: OpenCallQuery = {}): Promise<readonly OpenCall[]> =>
  (await ledger.query('open_calls', query)).rows;

/** The number of calls of each kind. */
export async function readTallies<Name extends TallyName>(
  ledger: Rows,
  query: TallyQuery<Name>,
): Promise<readonly CallTally<Name>[]> {
  // A store returns the properties that were asked for.
  return (await ledger.query('tallies', query)).rows as readonly CallTally<Name>[];
}

/** The number of calls of each kind in each time step. */
export const readCallCounts = async (ledger: Rows, query: CallCountQuery): Promise<readonly CallCount[]> =>
  (await ledger.query('counts', query)).rows;

/** The number of calls that each rule denied. */
export const readDenials = async (
  ledger: Rows,
  span: Pick<CallQuery, 'since' | 'until'>,
): Promise<readonly RuleDenials[]> => (await ledger.query('denials', span)).rows;

/** The call that has this key. */
export async function readClaim(ledger: Rows, key: string): Promise<ClaimHolder | undefined> {
  return (await ledger.query('claims', { key })).rows[0];
}

/** The used and the reserved amount of each counter, in the order asked. */
export const readCounters = async (ledger: Rows, names: readonly string[]): Promise<readonly Counter[]> =>
  (await ledger.query('counters', { names })).rows;

/** Calls of the session with this tool and input whose effect may have happened unseen, oldest first. */
export const findUnsettledEffects = async (
  ledger: Rows,
  sessionId: string,
  toolName: string,
  inputDigest: string,
  lookUp?: LookUp,
): Promise<readonly string[]> =>
  (await ledger.query('unsettled', { sessionId, toolName, inputDigest, lookUp })).rows;

/** The state of a subject of the session; undefined if it was never set. */
export async function readState(
  ledger: Rows,
  sessionId: string,
  subject: string,
): Promise<StoredState | undefined> {
  return (await ledger.query('states', { sessionId, subject })).rows[0];
}

/** The sealed input of a call; undefined if there is none or it was dropped. */
export async function readSealed(
  ledger: Rows,
  sessionId: string,
  callId: string,
): Promise<string | undefined> {
  return (await ledger.query('sealed', { sessionId, callId })).rows[0];
}

export async function statusOfOwner(ledger: Rows, ownerId: string): Promise<OwnerStatus> {
  return (await ledger.query('owners', { ownerId })).rows[0]?.status ?? 'unknown';
}

/** Owners proven dead and not forgotten yet. */
export const findGoneOwners = async (ledger: Rows): Promise<readonly string[]> =>
  (await ledger.query('owners', { status: 'gone' })).rows.map(({ ownerId }) => ownerId);

/** One page of heads; only the last is shorter than requested. */
export const findHeads = async (ledger: Rows, query: HeadQuery): Promise<readonly Head[]> =>
  (await ledger.query('heads', query)).rows;

const headsAtOnce = 500;

/** The last hash of the chain of every session, or of the named one. */
export async function readHeads(ledger: Rows, sessionId?: string): Promise<readonly Head[]> {
  if (sessionId !== undefined) return (await ledger.query('heads', { sessionId })).rows;
  const heads: Head[] = [];
  for (;;) {
    const page = await findHeads(ledger, { after: heads.at(-1)?.sessionId, limit: headsAtOnce });
    heads.push(...page);
    if (page.length < headsAtOnce) return heads;
  }
}

/** The number of sessions with a chain. */
export async function countSessions(ledger: Rows): Promise<number> {
  return (await ledger.query('end', { countSessions: true })).rows[0]?.sessions ?? 0;
}

/** The position of the newest entry, 0 if there is none. Every later append comes after it. */
export async function lastPosition(ledger: Rows): Promise<number> {
  return (await ledger.query('end', {})).rows[0]?.position ?? 0;
}

/** Approximate number of bytes of each entry. */
export const measureEntries = async (
  ledger: Rows,
  { after, sessionId, limit }: EntryQuery,
): Promise<readonly EntrySize[]> =>
  (
    await ledger.query('sizes', {
      limit,
      ...(after !== undefined && { after }),
      ...(sessionId !== undefined && { sessionId }),
    })
  ).rows;

/**
 * Approximate number of bytes that `readCall` would read; 0 for an unknown call. Cheap even for a large call: a reader
 * that must not block checks this first.
 */
export async function measureStoredCall(ledger: Rows, sessionId: string, callId: string): Promise<number> {
  return (await ledger.query('sizes', { sessionId, callId })).rows[0]?.bytes ?? 0;
}

/** State stored outside entries, row by row, to compare with the entries. */
export async function* readSideRows(ledger: Rows): AsyncGenerator<SideRow, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await ledger.query('side_rows', { cursor });
    yield* page.rows;
    cursor = page.next;
  } while (cursor !== undefined);
}

/** Resolves when the version of the call differs from this one: at once for an unknown call. */
export const whenCallChanged = (
  ledger: Pick<Ledger, 'whenChanged'>,
  sessionId: string,
  callId: string,
  version: number,
  signal?: AbortSignal,
): Promise<void> => ledger.whenChanged({ sessionId, callId, version }, signal);

/** Resolves when there is an entry after this position. */
export const whenAppended = (
  ledger: Pick<Ledger, 'whenChanged'>,
  after: number,
  signal?: AbortSignal,
): Promise<void> => ledger.whenChanged({ after }, signal);

type Artifacts = Pick<Ledger, 'readArtifact'>;

/** An artifact with its whole content. */
export async function readWholeArtifact(
  ledger: Artifacts,
  sessionId: string,
  artifactId: string,
): Promise<StoredArtifact | undefined> {
  const found = await ledger.readArtifact(sessionId, artifactId);
  if (found === undefined) return undefined;
  const { mimeType, encoding, bytes, callId } = found;
  const content =
    encoding === 'bytes'
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding);
  return { artifactId, mimeType, content, ...(callId !== undefined && { callId }) };
}

/** Type and size of an artifact without its content. */
export async function measureArtifact(
  ledger: Artifacts,
  sessionId: string,
  artifactId: string,
): Promise<ArtifactFacts | undefined> {
  const found = await ledger.readArtifact(sessionId, artifactId, { from: 0, most: 0 });
  return found && { mimeType: found.mimeType, encoding: found.encoding, bytes: found.size };
}

/** Some of the stored bytes of an artifact, in its encoding; fewer at the end. */
export async function readArtifactBytes(
  ledger: Artifacts,
  sessionId: string,
  artifactId: string,
  from: number,
  most: number,
): Promise<Uint8Array | undefined> {
  return (await ledger.readArtifact(sessionId, artifactId, { from, most }))?.bytes;
}

/** Takes, moves, releases and drops the cursors of readers, by compare-and-set. */

type CursorTake = {
  readonly name: string;
  readonly holder: string;
  readonly instead?: string | undefined;
  /** A new cursor starts with the entry after this position. */
  readonly startAfter: number;
};

/** The cursor of this name; undefined if there is none. */
export async function readCursor(ledger: Pick<Ledger, 'query'>, name: string): Promise<Cursor | undefined> {
  return (await ledger.query('cursors', { name })).rows[0];
}

/** Every cursor, by name. */
export const listCursors = async (ledger: Pick<Ledger, 'query'>): Promise<readonly Cursor[]> =>
  (await ledger.query('cursors', {})).rows;

/**
 * Takes a cursor that is free, that `holder` already holds, or that `instead` holds, which must be known to be gone.
 * Returns the cursor with its holder after this.
 */
export async function takeCursor(
  ledger: Pick<Ledger, 'query' | 'setCursor' | 'ownerId'>,
  { name, holder, instead, startAfter }: CursorTake,
): Promise<Cursor> {
  for (;;) {
    const found = await readCursor(ledger, name);
    const isFree = found?.holder === undefined || found.holder === holder || found.holder === instead;
    if (found !== undefined && !isFree) return found;
    const next = { position: found?.position ?? startAfter, holder };
    if (await ledger.setCursor({ name, expected: found, next }))
      return { name, ...next, ownerId: ledger.ownerId };
  }
}

/** Sets the position of a cursor without an append. False if another holder has it or it has another position. */
export const moveCursor = (
  ledger: Pick<Ledger, 'setCursor'>,
  { name, holder, from, to }: CursorMove,
): Promise<boolean> =>
  ledger.setCursor({ name, expected: { position: from, holder }, next: { position: to, holder } });

/** Releases a cursor, which keeps its position. Does nothing if another holder has it. */
export async function releaseCursor(
  ledger: Pick<Ledger, 'query' | 'setCursor'>,
  name: string,
  holder: string,
): Promise<void> {
  for (;;) {
    const found = await readCursor(ledger, name);
    if (found?.holder !== holder) return;
    const next = { position: found.position, holder: undefined };
    if (await ledger.setCursor({ name, expected: found, next })) return;
  }
}

/** Removes a cursor permanently, even if it is held. False if there is none of this name. */
export async function dropCursor(
  ledger: Pick<Ledger, 'query' | 'setCursor'>,
  name: string,
): Promise<boolean> {
  for (;;) {
    const found = await readCursor(ledger, name);
    if (found === undefined) return false;
    if (await ledger.setCursor({ name, expected: found, next: undefined })) return true;
  }
}

/** Calls that were not accepted. The ledger stores them with their session and not as calls. */

/** Records about a call id from before it was accepted, or if it never was. */
export async function readRefusals(
  ledger: Pick<Ledger, 'append' | 'readCall' | 'readSession' | 'query' | 'whenChanged'>,
  { sessionId, callId }: { readonly sessionId: string; readonly callId: string },
): Promise<readonly CallNotAccepted[]> {
  const events = await ledger.readSession(sessionId, 'without_call');
  return events
    .filter((event) => event.type === 'call.not_accepted')
    .filter(({ refusedCallId }) => refusedCallId === callId);
}

/** Merges both by time. The order of the call's own events stays. */
export function withRefusals(
  events: readonly CallEvent[],
  refusals: readonly CallNotAccepted[],
): readonly (CallEvent | CallNotAccepted)[] {
  if (refusals.length === 0) return events;
  const merged: (CallEvent | CallNotAccepted)[] = [];
  const left = [...refusals];
  for (const event of events) {
    while (left[0] !== undefined && left[0].at <= event.at) merged.push(...left.splice(0, 1));
    merged.push(event);
  }
  return [...merged, ...left];
}
