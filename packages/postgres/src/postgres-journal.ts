import { QuittanceError } from 'quittance/internal/base/error';
import type { JsonObject } from 'quittance/internal/base/json';
import { readJsonText } from 'quittance/internal/base/json';
import type { AppendResult, Entry, StoredCall, StoredState } from 'quittance/internal/ledger/journal';
import { readOnlyError, refuseEntry, lastInputDigest } from 'quittance/internal/ledger/prepare-entry';
import { newSessionTally } from 'quittance/internal/ledger/call-tally';
import type { ListedCall } from 'quittance/internal/ledger/listed-call';
import { countEntry, listCall, listEntry } from 'quittance/internal/ledger/listed-call';
import type { LookUp } from 'quittance/internal/ledger/claims';
import { lastState } from 'quittance/internal/ledger/last-state';
import type { CallEntryRow, DecodedRow } from 'quittance/internal/store/sql/entries';
import { changedError, decode, decodeCall, toStoredCall } from 'quittance/internal/store/sql/entries';
import type { AppendItem, Listing, Appended, Effect } from './append-item.ts';
import { findDoubt, toAppendItem } from './append-item.ts';
import { toCounts, toListed } from './list-functions.ts';
import type { OrdRow, PgPool } from './pg-pool.ts';
import { GatheredRead } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-values.ts';
import { isEmittedEvent } from 'quittance/internal/call/emitted-event';

type JournalParts = {
  readonly pool: PgPool;
  readonly ownerId: string;
  readonly salt: () => string;
  /** Undefined where the handle only reads. */
  readonly append: ((item: AppendItem) => Promise<Appended>) | undefined;
  readonly guesses: EffectGuesses;
};

export class PostgresJournal {
  readonly #parts: JournalParts;
  readonly #calls: GatheredRead<CallEntryRow & OrdRow>;
  readonly #seen = new SeenCalls();
  readonly #open = new OpenCalls();
  /** By session: when the last look-up for an entry is over. */
  readonly #reads = new Map<string, Promise<void>>();

  constructor(parts: JournalParts) {
    this.#parts = parts;
    this.#calls = new GatheredRead(parts.pool, readCallsSql);
  }

  async append(entry: Entry): Promise<AppendResult> {
    const { append, guesses } = this.#parts;
    refuseEntry(entry);
    if (append === undefined) throw readOnlyError(undefined);
    const effects = guesses.takeFor(entry);
    const { sessionId, callId } = entry;
    const known = this.#reads.has(sessionId) ? 'unread' : this.#find(entry);
    for (
      let before = known === 'unread' ? await this.#read(entry) : known;
      ;
      before = await this.#read(entry)
    ) {
      const { result } = await this.#appendTo(before, entry, effects, append);
      if (result.status !== 'appended' && callId !== undefined) this.#open.forget(sessionId, callId);
      // The call has a remark of another process, or was erased: the row must be made of that too.
      if (result.status === 'unseen') continue;
      // The first entry makes the call known. Forgetting one costs a look-up, not an answer.
      if (callId !== undefined && entry.expectedVersion === 0) this.#seen.add(sessionId, callId);
      if (result.status !== 'unsettled') return result;
      guesses.noteWrong(sessionId, effects);
      return { status: 'moved', subject: unsettledSubject, version: 0 };
    }
  }

  /** Entries that are passed without waiting for the answer to another one continue from that one. */
  async #appendTo(
    before: SeenCall | undefined,
    entry: Entry,
    effects: readonly Effect[],
    append: (item: AppendItem) => Promise<Appended>,
  ): Promise<Appended> {
    const { sessionId, callId } = entry;
    const { ownerId, salt } = this.#parts;
    const after = before && addEntry(before, entry, ownerId);
    const listing = toListing(entry, before, after);
    const item = toAppendItem(entry, ownerId, salt, digestOfDoubt(entry, before), effects, listing);
    if (callId !== undefined && after !== undefined)
      this.#open.keep(sessionId, callId, withSizes(after, item));
    try {
      return await append(item);
    } catch (error) {
      if (callId !== undefined) this.#open.forget(sessionId, callId);
      throw error;
    }
  }

  /** The call before this entry. Undefined if the entry changes no row. */
  #find({ sessionId, callId, expectedVersion, events }: Entry): SeenCall | undefined | 'unread' {
    if (callId === undefined) return undefined;
    if (expectedVersion === 0) return unknownCall;
    // Of all remarks, only a late result is listed.
    if (expectedVersion === 'any' && !events.some(({ type }) => type === 'tool.late')) return undefined;
    const known = this.#open.find(sessionId, callId);
    const isRight = known !== undefined && (expectedVersion === 'any' || known.version === expectedVersion);
    return isRight ? known : 'unread';
  }

  /** The same from the entries. Later entries of the session wait, so that all are stored in the order they were passed. */
  #read(entry: Entry): Promise<SeenCall | undefined> {
    const { sessionId, callId = '' } = entry;
    const read = (this.#reads.get(sessionId) ?? Promise.resolve()).then(async () => {
      const known = this.#find(entry);
      if (known !== 'unread') return known;
      const rows = await this.#calls.read([toPgText(sessionId), toPgText(callId)]);
      return toSeenCall(sessionId, callId, decodeCall(sessionId, callId, rows));
    });
    const over: Promise<void> = read.then(
      () => undefined,
      () => undefined, // the entry that needs the call is refused
    );
    this.#reads.set(sessionId, over);
    // By then the entry is queued: its append continues before this.
    void over.then(() => {
      if (this.#reads.get(sessionId) === over) this.#reads.delete(sessionId);
    });
    return read;
  }

  /** Resolves when every entry that was passed is queued. */
  async whenQueued(): Promise<void> {
    while (this.#reads.size > 0) await Promise.all(this.#reads.values());
  }

  /** Stays synchronous where nothing is looked up. */
  async readCall(
    sessionId: string,
    callId: string,
    lookUp: LookUp = 'certain',
  ): Promise<StoredCall | undefined> {
    if (lookUp === 'before_append' && !this.#seen.has(sessionId, callId)) return undefined;
    return this.#readCall(sessionId, callId);
  }

  async #readCall(sessionId: string, callId: string): Promise<StoredCall | undefined> {
    const rows = await this.#calls.read([toPgText(sessionId), toPgText(callId)]);
    if (rows.length > 0) this.#seen.add(sessionId, callId);
    return toStoredCall(sessionId, callId, decodeCall(sessionId, callId, rows), async (own) => {
      const before = await this.#parts.pool.read<{ sequence: number; hash: string }>(
        'SELECT sequence, hash FROM @entries WHERE session_id = $1 AND sequence = ANY ($2::bigint[])',
        [toPgText(sessionId), own.map(({ sequence }) => String(sequence - 1))],
      );
      return new Map(before.map(({ sequence, hash }) => [sequence, hash]));
    });
  }

  /** According to the entry that last moved it. The row says what an erased entry no longer does. */
  async readState(sessionId: string, subject: string): Promise<StoredState | undefined> {
    const [row] = await this.#parts.pool.read<{
      version: number;
      state: string;
      text: string | null;
      bodies: string | null;
    }>(
      `SELECT s.version, s.text AS state, e.text, e.bodies FROM @states s
       LEFT JOIN @marks m ON m.key = @state_mark(s.session_id, s.subject) LEFT JOIN @entries e ON e.position = m.position
       WHERE s.session_id = $1 AND s.subject = $2`,
      [toPgText(sessionId), toPgText(subject)],
    );
    if (row === undefined) return undefined;
    const entry = row.text === null ? undefined : decode({ text: row.text, bodies: row.bodies });
    const moved = entry?.moves?.find((move) => move.subject === subject);
    if (entry === undefined || moved === undefined) throw changedStateError(sessionId, subject);
    const state = entry.erased ? readJsonText(row.state) : lastState(entry.events, subject);
    return { version: moved.expectedVersion + 1, state: state as JsonObject };
  }

  async readSealed(sessionId: string, callId: string): Promise<string | undefined> {
    const [row] = await this.#parts.pool.read<{ text: string }>(
      'SELECT text FROM @sealed WHERE session_id = $1 AND call_id = $2',
      [toPgText(sessionId), toPgText(callId)],
    );
    return row && fromPgText(row.text);
  }
}

/** Named in the answer to an append whose look-up for unsettled effects was answered too early. */
const unsettledSubject = 'quittance.unsettled';

const readCallsSql = `SELECT x.o::integer AS ord, e.sequence, e.version, e.text, e.bodies, e.salt, e.hash
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY x(s, c, o)
  JOIN @entries e ON e.session_id = x.s AND e.call_id = x.c ORDER BY x.o, e.sequence`;

const changedStateError = (sessionId: string, subject: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The row of ${JSON.stringify(subject)} of session ${JSON.stringify(sessionId)} in the table "states" does not agree with ` +
      'the entries. Another program changed it. `quittance rebuild` makes it again.',
    { sessionId },
  );

/** A call as far as its entries were seen: what the next entry adds to is what the lists show. */
type SeenCall = {
  readonly version: number;
  readonly listed: ListedCall | undefined;
  /** How many entries were seen, and how many of them have bodies. */
  readonly entries: number;
  readonly bodies: number;
  readonly chars: number;
};

const unknownCall: SeenCall = { version: 0, listed: undefined, entries: 0, bodies: 0, chars: 0 };

const toSeenCall = (
  sessionId: string,
  callId: string,
  read: readonly DecodedRow<CallEntryRow>[],
): SeenCall => ({
  version: read.filter(({ row }) => row.version !== null).length,
  listed: listStored(sessionId, callId, read),
  entries: read.length,
  bodies: read.filter(({ row }) => row.bodies !== null).length,
  chars: read.reduce((chars, { row }) => chars + row.text.length + (row.bodies?.length ?? 0), 0),
});

function listStored(
  sessionId: string,
  callId: string,
  read: readonly DecodedRow<CallEntryRow>[],
): ListedCall | undefined {
  try {
    return listCall(read.map(({ entry }) => entry));
  } catch (error) {
    if (error instanceof TypeError) throw changedError(sessionId, callId);
    throw error;
  }
}

function addEntry(call: SeenCall, entry: Entry, ownerId: string): SeenCall {
  const { callId, expectedVersion, events } = entry;
  return {
    ...call,
    version: call.version + Number(expectedVersion !== 'any'),
    listed: listEntry(call.listed, { callId, expectedVersion, ownerId, events }),
    entries: call.entries + 1,
  };
}

const withSizes = (call: SeenCall, { text, bodies }: AppendItem): SeenCall => ({
  ...call,
  bodies: call.bodies + Number(bodies !== null),
  chars: call.chars + text.length + (bodies?.length ?? 0),
});

function toListing(entry: Entry, before: SeenCall | undefined, after: SeenCall | undefined): Listing {
  const tally = newSessionTally(entry.sessionId);
  countEntry(tally, entry, { before: before?.listed, after: after?.listed });
  return {
    listed: after?.listed === undefined ? null : toListed(after.listed),
    seen: before === undefined ? null : `${before.entries} ${before.bodies}`,
    counts: toCounts(tally),
  };
}

/** The input of a call that the entry leaves in doubt. */
function digestOfDoubt(entry: Entry, before: SeenCall | undefined): string | undefined {
  const doubt = findDoubt(entry);
  return doubt && (lastInputDigest(entry.events, doubt.callId) ?? before?.listed?.call.inputDigest);
}

/**
 * Open calls that this process has seen, so that the row of a call need not read its entries again. The append function
 * refuses a row that was not made of all entries. Bounded: the oldest are forgotten first.
 */
const mostOpen = 20_000;
const mostOpenChars = 64_000_000;

class OpenCalls {
  readonly #calls = new Map<string, SeenCall>();
  #chars = 0;

  find(session: string, call: string): SeenCall | undefined {
    return this.#calls.get(keyOf(session, call));
  }

  /** A settled call is forgotten: few of them get another entry. */
  keep(session: string, call: string, seen: SeenCall): void {
    this.forget(session, call);
    if (seen.listed === undefined || seen.listed.summary.status === 'settled') return;
    this.#calls.set(keyOf(session, call), seen);
    this.#chars += seen.chars;
    for (const [key, { chars }] of this.#calls) {
      if (this.#calls.size <= mostOpen && this.#chars <= mostOpenChars) break;
      this.#calls.delete(key);
      this.#chars -= chars;
    }
  }

  forget(session: string, call: string): void {
    const key = keyOf(session, call);
    this.#chars -= this.#calls.get(key)?.chars ?? 0;
    this.#calls.delete(key);
  }
}

/** Calls that this process knows to exist. Bounded: the oldest are forgotten first. */
const mostPerGeneration = 20_000;

class SeenCalls {
  #young = new Set<string>();
  #old = new Set<string>();

  add(session: string, call: string): void {
    this.#young.add(keyOf(session, call));
    if (this.#young.size < mostPerGeneration) return;
    this.#old = this.#young;
    this.#young = new Set();
  }

  has(session: string, call: string): boolean {
    const key = keyOf(session, call);
    return this.#young.has(key) || this.#old.has(key);
  }
}

const keyOf = (session: string, call: string): string => `${session.length}:${session}${call}`;

/**
 * Look-ups for unsettled effects that were answered without a look, see `LookUp`.
 *
 * 1. A guess says that the session has no unsettled effect of a tool and input. It stays open until an append starts or
 *    holds a call with that input. The append function then looks, and refuses the entry if the guess was wrong.
 * 2. If an entry does not name its input, every open guess of its session is checked: too many checks are safe.
 * 3. After a wrong guess, look-ups of that session and tool are real ones.
 */

type Guess = Effect & { open: number };

/** With more open guesses than this, no more are made. */
const mostGuesses = 10_000;
const mostDoubtful = 10_000;

export class EffectGuesses {
  readonly #bySession = new Map<string, Guess[]>();
  readonly #doubtful = new Set<string>();
  #open = 0;

  /** May this look-up be answered with a guess? Notes the guess if so. */
  tryGuess(sessionId: string, effect: Effect): boolean {
    if (this.#open >= mostGuesses || this.#doubtful.has(doubtKey(sessionId, effect.toolName))) return false;
    const known = this.#bySession.get(sessionId);
    const same = known?.find((guess) => isSame(guess, effect));
    if (same !== undefined) same.open++;
    else if (known === undefined) this.#bySession.set(sessionId, [{ ...effect, open: 1 }]);
    else known.push({ ...effect, open: 1 });
    this.#open++;
    return true;
  }

  /** The guesses that this append must check. They are closed: whatever it answers, they are not needed any more. */
  takeFor({ sessionId, callId, events }: Entry): readonly Effect[] {
    const known = this.#bySession.get(sessionId);
    if (known === undefined || callId === undefined) return none;
    const begins = events.some(
      (event) => !isEmittedEvent(event) && (event.type === 'tool.started' || event.type === 'tool.held'),
    );
    const ends = events.some((event) => event.type === 'tool.responded');
    if (!begins && !ends) return none;
    const digest = lastInputDigest(events, callId);
    if (digest === undefined)
      return begins ? known.map(({ toolName, inputDigest }) => ({ toolName, inputDigest })) : none;
    const taken = known.filter(({ inputDigest }) => inputDigest === digest);
    for (const guess of taken) this.#close(sessionId, known, guess);
    return begins ? taken : none;
  }

  /** Look-ups of this session and tool are real from now on. */
  noteWrong(sessionId: string, effects: readonly Effect[]): void {
    if (this.#doubtful.size >= mostDoubtful) this.#doubtful.clear();
    for (const { toolName } of effects) this.#doubtful.add(doubtKey(sessionId, toolName));
  }

  #close(sessionId: string, known: Guess[], guess: Guess): void {
    this.#open--;
    if (--guess.open > 0) return;
    known.splice(known.indexOf(guess), 1);
    if (known.length === 0) this.#bySession.delete(sessionId);
  }
}

const none: readonly Effect[] = Object.freeze([]);

const isSame = (one: Effect, other: Effect): boolean =>
  one.toolName === other.toolName && one.inputDigest === other.inputDigest;

const doubtKey = (sessionId: string, toolName: string): string =>
  `${sessionId.length}:${sessionId}${toolName}`;
