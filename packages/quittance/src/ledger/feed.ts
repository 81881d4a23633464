/**
 * Committed entries, decoded once for all readers: a hundred readers at one position cost about as much as one.
 *
 * 1. A reader that continues from its last position gets every entry once, in commit order.
 * 2. Returned entries are shared and therefore frozen.
 * 3. With `on_demand`, the events of an entry are decoded when a reader first asks for them: most readers need few
 *    types. An entry whose text cannot be read stops every reader. Damage inside its events stops those who ask for them.
 * 4. Erased or removed data is no longer returned once any reader has received the entry that records the removal.
 */
import { isQuittanceError, QuittanceError } from '../base/error.ts';
import type { JsonObject } from '../base/json.ts';
import { freezeJson } from '../base/json.ts';
import type { ReadEntry } from './formats/v1/read-entry.ts';
import { parseEntry, readEntry } from './formats/v1/read-entry.ts';
import type { Ledger } from './ledger.ts';
import type { StoredEntry } from './stored-entry.ts';
import type { ReadEvent } from './unknown-event.ts';

/** One commit about a session. */
export type FeedEntry = {
  readonly position: number;
  readonly sessionId: string;
  /** Length of the chain of behaviors that caused this; 0 if no behavior did. */
  readonly depth: number;
  /** The types of its events. */
  readonly types: readonly string[];
  /** Throws like `readEntry`. */
  readonly events: readonly ReadEvent[];
};

export interface Feed {
  /**
   * Up to `limit` entries after a position. A short page does not mean the end; an empty one does, for now. If the
   * first entry cannot be read, it throws like `readEntry`.
   */
  read(after: number, limit: number): Promise<readonly FeedEntry[]>;
}

/** The result of one read: all entries after one position up to the last one's. */
type Batch = {
  readonly after: number;
  readonly through: number;
  readonly entries: readonly FeedEntry[];
  readonly chars: number;
};

/** Enough for readers a few steps apart. A reader further behind reads separately. */
const mostBatches = 16;
const mostChars = 4_000_000;

export function createFeed(
  ledger: Pick<Ledger, 'readEntries'>,
  decodes: 'at_once' | 'on_demand' = 'at_once',
): Feed {
  let batches: Batch[] = [];
  /** Reads in progress, by start position. */
  const underWay = new Map<number, Promise<readonly FeedEntry[]>>();
  /** Number of times the cache was cleared: a read that started before a clearing is not cached. */
  let clearings = 0;

  const keep = (batch: Batch, isTrue: boolean): void => {
    if (batch.entries.some(({ types }) => types.some(takesAway))) {
      batches = [];
      clearings++;
    } else if (!isTrue) return;
    batches.push(batch);
    let chars = batches.reduce((sum, other) => sum + other.chars, 0);
    while (batches.length > mostBatches || (chars > mostChars && batches.length > 1))
      chars -= batches.shift()?.chars ?? 0;
  };

  const load = async (after: number, limit: number): Promise<readonly FeedEntry[]> => {
    const before = clearings;
    const stored = await ledger.readEntries({ after, limit });
    const entries = decodeAll(stored, decodes === 'at_once');
    const last = entries.at(-1);
    if (last === undefined) return entries; // more may come at any moment
    const chars = stored.reduce((sum, { text, bodies }) => sum + text.length + (bodies?.length ?? 0), 0);
    keep({ after, through: last.position, entries, chars }, before === clearings);
    return entries;
  };

  return {
    async read(after, limit) {
      const kept = batches.find((batch) => batch.after <= after && after < batch.through);
      if (kept !== undefined) return kept.entries.filter(({ position }) => position > after).slice(0, limit);
      let reading = underWay.get(after);
      if (reading === undefined) {
        reading = load(after, limit).finally(() => underWay.delete(after));
        underWay.set(after, reading);
      }
      return (await reading).slice(0, limit);
    },
  };
}

/** The entries before the first unreadable one: the reader that reaches that one gets the error. */
function decodeAll(stored: readonly StoredEntry[], withEvents: boolean): readonly FeedEntry[] {
  const entries: FeedEntry[] = [];
  for (const one of stored)
    try {
      const entry = parse(one);
      // Decoded here, so that a reader of the earlier entries gets no error.
      if (withEvents) Object.freeze(entry.events);
      entries.push(entry);
    } catch (error) {
      if (entries.length === 0) throw error;
      break;
    }
  return entries;
}

function parse(stored: StoredEntry): FeedEntry {
  const { position, sessionId, bodies } = stored;
  const { parsed, types } = naming(stored, () => {
    const found = parseEntry(stored.text);
    return { parsed: found, types: Object.freeze(found.types) };
  });
  let decoded: readonly ReadEvent[] | undefined;
  return Object.freeze({
    position,
    sessionId,
    depth: parsed.depth,
    types,
    get events() {
      if (decoded !== undefined) return decoded;
      const { events } = naming(stored, () => parsed.read(bodies));
      for (const event of events) freezeJson(event as unknown as JsonObject); // events are JSON except for undefined
      return (decoded = Object.freeze(events));
    },
  });
}

export const readStored = (stored: StoredEntry): ReadEntry => naming(stored, () => readEntry(stored));

/** Adds to the error which entry cannot be read. */
function naming<Value>(stored: StoredEntry, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!isQuittanceError(error)) throw error;
    const { position, sessionId, sequence } = stored;
    throw new QuittanceError(
      error.code,
      `Entry ${sequence} of session ${JSON.stringify(sessionId)}, at position ${position}, cannot be ` +
        `read. ${error.message} Run \`quittance verify\` to list every such entry.`,
      { sessionId, sequence: String(sequence), position: String(position) },
      error,
    );
  }
}

const takesAway = (type: string): boolean => type === 'body.erased' || type === 'session.dropped';
