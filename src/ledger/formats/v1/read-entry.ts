/** Reads entries that `writeEntry` wrote, in this version or a newer one. */
import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { QuittanceError } from '../../../base/error.ts';
import { isJsonObject } from '../../../base/json.ts';
import { readJsonText } from '../../../base/json-text.ts';
import type { Claim, CounterTotal, Reservation, Settlement } from '../../claims.ts';
import type { Move } from '../../journal.ts';
import type { ReadEvent } from '../../unknown-event.ts';
import type { WrittenEntry } from './write-entry.ts';
import type { Holder } from './encode-event.ts';
import { decodeEvent } from './decode-event.ts';

export type ReadEntry = {
  readonly format: 1;
  readonly entryId: string;
  readonly sessionId: string;
  readonly callId: string | undefined;
  readonly expectedVersion: number | 'any';
  readonly ownerId: string;
  readonly claim: Claim | undefined;
  readonly releaseClaim: string | undefined;
  readonly reserve: readonly Reservation[] | undefined;
  readonly settle: readonly Settlement[] | undefined;
  readonly moves: readonly Move[] | undefined;
  /** Totals of the entry's counters after it; undefined in entries written before totals existed. */
  readonly totals: readonly CounterTotal[] | undefined;
  /** Length of the chain of behaviors that caused this; 0 if no behavior did. */
  readonly depth: number;
  /** Includes events of hosts and of unknown types: see `isKnownEvent` and `isEmittedEvent`. */
  readonly events: readonly ReadEvent[];
  /** The digest that the bodies must have with their salt; undefined if there never were any. */
  readonly bodiesDigest: string | undefined;
  /** The bodies are gone: texts are `[ERASED]` and payloads null. */
  readonly erased: boolean;
  /** Members of the entry that this version does not know, unchanged. */
  readonly unknownFields?: JsonObject;
};

const names: ReadonlySet<string> = new Set([
  'v',
  'entry',
  'session',
  'call',
  'version',
  'owner',
  'claim',
  'release',
  'reserve',
  'settle',
  'moves',
  'depth',
  'totals',
  'bodies',
  'events',
]);

/** The text of an entry. Its events are not decoded yet. */
export type ParsedEntry = {
  readonly depth: number;
  /** The types of its events. */
  readonly types: readonly string[];
  /** Decodes it. Throws `ledger.damaged`. */
  read(bodies: string | undefined): ReadEntry;
};

/** Throws `ledger.newer` or `ledger.damaged`. Does not check the digest of the bodies. */
export const readEntry = ({ text, bodies }: Pick<WrittenEntry, 'text' | 'bodies'>): ReadEntry =>
  parseEntry(text).read(bodies);

/** Throws `ledger.newer` or `ledger.damaged`. */
export function parseEntry(written: string): ParsedEntry {
  const entry = parse(written);
  if (!isJsonObject(entry)) throw damaged('it is not an object');
  const { v, entry: entryId, session, call, version, owner, events, depth = 0, bodies: digest } = entry;
  if (typeof v === 'number' && v > 1)
    throw new QuittanceError(
      'ledger.newer',
      `A newer version wrote this ledger: an entry has format ${v}, and this version reads 1. Update ` +
        'the package.',
    );
  if (v !== 1) throw damaged('"v" is not 1');
  if (typeof entryId !== 'string') throw damaged('"entry" is not a text');
  if (typeof session !== 'string') throw damaged('"session" is not a text');
  if (typeof call !== 'string' && call !== null) throw damaged('"call" is neither a text nor null');
  if (typeof version !== 'number' && version !== 'any')
    throw damaged('"version" is neither a number nor "any"');
  if (typeof owner !== 'string') throw damaged('"owner" is not a text');
  if (typeof digest !== 'string' && digest !== null) throw damaged('"bodies" is neither a text nor null');
  if (!Array.isArray(events)) throw damaged('"events" is not a list');
  if (typeof depth !== 'number') throw damaged('"depth" is not a number');
  return {
    depth,
    get types() {
      return (events as readonly JsonValue[]).map((event) => {
        const type = isJsonObject(event) ? event['type'] : undefined;
        if (typeof type !== 'string') throw damaged('an event has no type');
        return type;
      });
    },
    read(writtenBodies) {
      const erased = digest !== null && writtenBodies === undefined;
      const bodies = digest === null || writtenBodies === undefined ? [] : parse(writtenBodies);
      if (!Array.isArray(bodies)) throw damaged('the bodies are not a list');
      const holder = { sessionId: session, callId: call ?? undefined };
      return {
        format: 1,
        entryId,
        ...holder,
        expectedVersion: version,
        ownerId: owner,
        claim: toClaim(entry['claim']),
        releaseClaim: toRelease(entry['release']),
        reserve: toCounts<Reservation>(entry, 'reserve', ['amount', 'limit']),
        settle: toCounts<Settlement>(entry, 'settle', ['reserved', 'used']),
        moves: toMoves(entry['moves']),
        totals: toCounts<CounterTotal>(entry, 'totals', ['used', 'reserved']),
        depth,
        events: decodeEvents(events, bodies, holder, erased),
        bodiesDigest: digest ?? undefined,
        erased,
        ...unknownFieldsOf(entry),
      };
    },
  };
}

/** Almost every entry has none, so reading many entries must not pay for it. */
function unknownFieldsOf(entry: JsonObject): Pick<ReadEntry, 'unknownFields'> | undefined {
  for (const name in entry)
    if (!names.has(name))
      return {
        unknownFields: Object.fromEntries(Object.entries(entry).filter(([each]) => !names.has(each))),
      };
  return undefined;
}

function decodeEvents(
  events: readonly JsonValue[],
  bodies: readonly JsonValue[],
  holder: Holder,
  erased: boolean,
): readonly ReadEvent[] {
  let previous: ReadEvent | undefined;
  return events.map((event, index) => {
    previous = decodeEvent(event, bodies[index] ?? null, holder, erased, previous);
    return previous;
  });
}

/** Not `parseJson`, which rejects numbers that a program may compute and that we may have written. */
function parse(text: string): JsonValue {
  try {
    return readJsonText(text);
  } catch (cause) {
    throw damaged('it is not JSON', cause);
  }
}

function toMoves(moves: JsonValue | undefined): readonly Move[] | undefined {
  if (moves === undefined) return undefined;
  if (!Array.isArray(moves)) throw damaged('"moves" is not a list');
  return (moves as readonly JsonValue[]).map((move) => {
    const { subject, version } = isJsonObject(move) ? move : {};
    if (typeof subject !== 'string' || typeof version !== 'number')
      throw damaged('"moves" must list {subject, version}');
    return { subject, expectedVersion: version };
  });
}

function toRelease(release: JsonValue | undefined): string | undefined {
  if (release === undefined || typeof release === 'string') return release;
  throw damaged('"release" is not a text');
}

/** A list of objects, each with the name of a counter and these numbers. */
function toCounts<Item extends { readonly counter: string }>(
  entry: JsonObject,
  name: string,
  numbers: readonly (keyof Item & string)[],
): readonly Item[] | undefined {
  const list = entry[name];
  if (list === undefined) return undefined;
  const isSound =
    Array.isArray(list) &&
    (list as readonly JsonValue[]).every(
      (item) =>
        isJsonObject(item) &&
        typeof item['counter'] === 'string' &&
        numbers.every((number) => typeof item[number] === 'number'),
    );
  if (!isSound) throw damaged(`"${name}" must list {counter, ${numbers.join(', ')}}`);
  return list as unknown as readonly Item[]; // every member was checked
}

function toClaim(claim: JsonValue | undefined): Claim | undefined {
  if (claim === undefined) return undefined;
  if (!isJsonObject(claim)) throw damaged('"claim" is not an object');
  const { key, input_digest: inputDigest, supersedes } = claim;
  if (typeof key !== 'string' || typeof inputDigest !== 'string')
    throw damaged('"claim" must have a key and an input_digest');
  if (supersedes === undefined) return { key, inputDigest };
  const { session, call } = isJsonObject(supersedes) ? supersedes : {};
  if (typeof session !== 'string' || typeof call !== 'string')
    throw damaged('"supersedes" must be {session, call}');
  return { key, inputDigest, supersedes: { sessionId: session, callId: call } };
}

const damaged = (problem: string, cause?: unknown): QuittanceError =>
  new QuittanceError('ledger.damaged', `An entry of the ledger is invalid: ${problem}.`, {}, cause);
