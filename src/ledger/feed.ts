/**
 * What was committed, decoded once for all who read it: a hundred readers at one place cost about as much as one.
 *
 * 1. Whoever reads on from the last position it was given gets every entry, in the order of commits, and none twice.
 * 2. What is given is shared, and therefore frozen.
 * 3. What was erased or removed is no longer given once anybody was given the entry that says so.
 */
import { isQuittanceError, QuittanceError } from '../base/error.ts';
import type { JsonObject } from '../base/json.ts';
import { freezeJson } from '../base/json.ts';
import type { ReadEntry } from './formats/v1/read-entry.ts';
import { readEntry } from './formats/v1/read-entry.ts';
import type { Entries } from './entries.ts';
import type { StoredEntry } from './stored-entry.ts';
import type { ReadEvent } from './unknown-event.ts';

/** One commit about a session. */
export type FeedEntry = {
  readonly position: number;
  readonly sessionId: string;
  /** How many behaviours stand between this and something no behaviour caused. */
  readonly depth: number;
  readonly events: readonly ReadEvent[];
};

export interface Feed {
  /**
   * Entries after a position, at most so many. Fewer does not mean that there are no more: none does, for now. Where
   * the first of them cannot be read it throws as `readEntry` does.
   */
  read(after: number, limit: number): Promise<readonly FeedEntry[]>;
}

/** What was read in one go: everything there was after one position up to that of the last entry. */
type Batch = {
  readonly after: number;
  readonly through: number;
  readonly entries: readonly FeedEntry[];
  readonly chars: number;
};

/** Enough for readers a few steps apart. One who is further behind reads for himself. */
const mostBatches = 16;
const mostChars = 4_000_000;

export function createFeed(source: Pick<Entries, 'read'>): Feed {
  let batches: Batch[] = [];
  /** Reads that are under way, by where they begin. */
  const underWay = new Map<number, Promise<readonly FeedEntry[]>>();
  /** How often what was kept was thrown away: what was read before that is not kept after it. */
  let clearings = 0;

  const keep = (batch: Batch, isTrue: boolean): void => {
    if (batch.entries.some(({ events }) => events.some(takesAway))) {
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
    const stored = await source.read({ after, limit });
    const entries = decodeAll(stored);
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

/** Those before the first that cannot be read: whoever comes to that one is told. */
function decodeAll(stored: readonly StoredEntry[]): readonly FeedEntry[] {
  const entries: FeedEntry[] = [];
  for (const one of stored)
    try {
      entries.push(decode(one));
    } catch (error) {
      if (entries.length === 0) throw error;
      break;
    }
  return entries;
}

function decode(stored: StoredEntry): FeedEntry {
  const { depth, events } = readStored(stored);
  for (const event of events) freezeJson(event as unknown as JsonObject); // events are JSON but for undefined
  Object.freeze(events);
  return Object.freeze({ position: stored.position, sessionId: stored.sessionId, depth, events });
}

/** Says which entry it is that cannot be read. */
export function readStored(stored: StoredEntry): ReadEntry {
  try {
    return readEntry(stored);
  } catch (error) {
    if (!isQuittanceError(error)) throw error;
    const { position, sessionId, sequence } = stored;
    throw new QuittanceError(
      error.code,
      `Entry ${sequence} of session ${JSON.stringify(sessionId)}, at position ${position}, cannot be read. ${error.message} \`quittance verify\` names every such place.`,
      { sessionId, sequence: String(sequence), position: String(position) },
      error,
    );
  }
}

const takesAway = ({ type }: ReadEvent): boolean => type === 'body.erased' || type === 'session.dropped';
