/** Reads entries that `writeEntry` wrote, in this version or a newer one. */
import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { QuittanceError } from '../../../base/error.ts';
import { isJsonObject, readJsonText } from '../../../base/json.ts';
import type { Claim, CounterTotal, Reservation, Settlement } from '../../claims.ts';
import type { Move } from '../../journal.ts';
import type { ReadEvent, UnknownFields } from '../../unknown-event.ts';
import type { WrittenEntry } from './write-entry.ts';
import type { Holder, Previous, outcomeFields } from './event-table.ts';
import { emittedFields, isWrittenAsEmitted, envelopeNames, eventFieldsOf, rename } from './event-table.ts';
import { ERASED } from './field.ts';
import type { Field, FieldTable } from './field.ts';

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
type ParsedEntry = {
  readonly depth: number;
  /** The types of its events. */
  readonly types: readonly string[];
  /** Decodes it. Throws `ledger.damaged`. */
  read(bodies: string | undefined): ReadEntry;
};

/** Throws `ledger.newer` or `ledger.damaged`. Does not check the digest of the bodies. */
/**
 * True if a text states that its entry is about this call, at this version. Stores keep both in columns, which are not hashed.
 * `callId`: null for an entry without a call. `version`: null for a remark.
 */
export function saysWhereItBelongs(
  text: string,
  sessionId: string,
  callId: string | null,
  version: number | null,
): boolean {
  const start = `,"session":${JSON.stringify(sessionId)},"call":${JSON.stringify(callId)},"version":`;
  const at = text.indexOf(',"session":');
  // An entry without a call has no version, whatever its text expects.
  if (callId === null) return version === null && text.startsWith(start, at);
  const expected = version === null ? '"any"' : String(version - 1);
  return text.startsWith(`${start}${expected},"owner":`, at);
}

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

/** Almost every entry has none, so this case must be fast. */
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

/** Decodes an event from its two parts in an entry. */
function decodeEvent(
  text: JsonValue,
  body: JsonValue,
  holder: Holder,
  erased: boolean,
  previous?: Previous,
): ReadEvent {
  if (!isJsonObject(text)) throw damagedEvent('an event is not an object');
  if (!isJsonObject(body) && body !== null)
    throw damagedEvent('the body of an event is neither an object nor null');
  const { id, type, session = holder.sessionId, turn = previous?.turnId, at = previous?.at } = text;
  const cause = text['cause'] === undefined ? previous?.id : (text['cause'] ?? undefined);
  const call = text['call'] === undefined ? holder.callId : (text['call'] ?? undefined);
  if (typeof id !== 'string' || typeof type !== 'string' || typeof session !== 'string')
    throw damagedEvent('an event has no id, no type or no session');
  if (typeof turn !== 'string' || typeof at !== 'number')
    throw damagedEvent(`event ${id} has no turn or no time`);
  if (typeof call !== 'string' && call !== undefined)
    throw damagedEvent(`the call of event ${id} is not a text`);
  if (typeof cause !== 'string' && cause !== undefined)
    throw damagedEvent(`the cause of event ${id} is not a text`);
  const isEmitted = isWrittenAsEmitted(type, text, body, erased);
  const fields = isEmitted ? emittedFields : eventFieldsOf(type);
  if (fields === undefined) {
    const unknown = decodeFields({}, text, body ?? undefined, erased, envelopeNames).unknown;
    const unknownFields = unknown ?? { text: {}, body: {} };
    return { id, type, sessionId: session, turnId: turn, callId: call, at, cause, unknownFields };
  }
  const envelope: { [name: string]: unknown } =
    call === undefined && !isEmitted
      ? { id, type, sessionId: session, turnId: turn, at, cause }
      : { id, type, sessionId: session, turnId: turn, callId: call, at, cause };
  const source = type === 'tool.responded' ? withCallId(text, call) : text;
  const decoded = decodeFields(fields, source, body ?? undefined, erased, envelopeNames, envelope);
  if (type === 'tool.responded') {
    const outcome = inOrder(decoded.fields['outcome'] as { readonly [name: string]: unknown });
    decoded.fields['outcome'] = outcome;
    decoded.fields['content'] ??= contentOf(outcome);
  }
  if (type === 'tool.requested') decoded.fields['displayName'] ??= decoded.fields['toolName'];
  if (decoded.unknown !== undefined) decoded.fields['unknownFields'] = decoded.unknown;
  // The table has every field of the type; the values had their types when they were written.
  return decoded.fields as ReadEvent;
}

/** The id of the call is written in the outcome only if it differs. */
function withCallId(text: JsonObject, callId: string | undefined): JsonObject {
  const outcome = text['outcome'];
  if (!isJsonObject(outcome)) throw damagedEvent('an outcome is not an object');
  return callId === undefined ? text : { ...text, outcome: { call_id: callId, ...outcome } };
}

/** The field order of outcomes, so that a repeated outcome has the same bytes from every store. */
const outcomeOrder: { readonly [Name in keyof typeof outcomeFields]: true } = {
  type: true,
  callId: true,
  toolName: true,
  code: true,
  reason: true,
  details: true,
  error: true,
  output: true,
  artifactId: true,
  summary: true,
  sizeBytes: true,
  digest: true,
  deadlineMs: true,
  retryable: true,
  inDoubt: true,
  blocksTool: true,
  finished: true,
  elapsedMs: true,
  wasCoerced: true,
  payloadExtras: true,
  toolResult: true,
  files: true,
  undo: true,
  modelNote: true,
};

function inOrder(outcome: { readonly [name: string]: unknown }): { [name: string]: unknown } {
  const ordered: { [name: string]: unknown } = {};
  for (const name in outcomeOrder) if (Object.hasOwn(outcome, name)) ordered[name] = outcome[name];
  return ordered;
}

/** The model content of a result is its output as JSON, with the same bytes from all code that writes it. */
function contentOf(outcome: unknown): string {
  const { output } = outcome as { output?: JsonValue };
  return output === undefined ? ERASED : JSON.stringify(output);
}

const damagedEvent = (problem: string): QuittanceError =>
  new QuittanceError('ledger.damaged', `An entry of the ledger is invalid: ${problem}.`);

/** Result of `decodeFields`, which reverses `encodeFields`. */
type DecodedFields = {
  readonly fields: { [name: string]: unknown };
  /** Fields that the table does not name; undefined if there are none. */
  readonly unknown: UnknownFields | undefined;
};

/**
 * `body` is undefined if there is none; `erased` says that there was one. `others` are the names in the text that are
 * not fields. The decoded fields are put into `fields`.
 */
function decodeFields(
  table: FieldTable,
  text: JsonObject,
  body: JsonObject | undefined,
  erased: boolean,
  others: readonly string[] = [],
  fields: DecodedFields['fields'] = {},
): DecodedFields {
  let inner: [string, UnknownFields][] | undefined;
  let known = 0;
  for (const name in table) {
    const field = table[name] as Field;
    const part = own(field.where === 'text' ? text : body, field.name);
    if (part !== undefined) known++;
    let value: unknown;
    if (part === undefined) value = missing(field, text, erased);
    else if (field.fields === undefined && field.items === undefined) value = rename(part, field.outside);
    else {
      const inBody = own(body, field.name);
      if (inBody !== undefined) known++;
      const decoded =
        field.fields === undefined
          ? decodeItems(field.items as FieldTable, list(part), inBody, erased)
          : decodeFields(
              field.fields,
              object(part),
              inBody === undefined ? undefined : object(inBody),
              erased,
            );
      value = decoded.fields;
      if (decoded.unknown !== undefined) (inner ??= []).push([field.name, decoded.unknown]);
    }
    if (value !== undefined || field.optional !== true) fields[name] = value;
  }
  for (const name of others) if (Object.hasOwn(text, name)) known++;
  const all = countMembers(text) + (body === undefined ? 0 : countMembers(body));
  const unknown =
    all === known && inner === undefined ? undefined : findUnknown(table, text, body, others, inner ?? []);
  return { fields, unknown };
}

/** Counts without building a list of names: there are many events with many fields. */
function countMembers(holder: JsonObject): number {
  let count = 0;
  for (const name in holder) if (Object.hasOwn(holder, name)) count++;
  return count;
}

function decodeItems(
  table: FieldTable,
  items: readonly JsonValue[],
  inBody: JsonValue | undefined,
  erased: boolean,
): { readonly fields: unknown; readonly unknown: UnknownFields | undefined } {
  const bodies = inBody === undefined ? [] : list(inBody);
  const decoded = items.map((item, index) => {
    const body = bodies[index];
    return decodeFields(table, object(item), body === undefined ? undefined : object(body), erased);
  });
  const unknown = decoded.some((item) => item.unknown !== undefined)
    ? {
        text: decoded.map((item) => item.unknown?.text ?? {}),
        body: decoded.map((item) => item.unknown?.body ?? {}),
      }
    : undefined;
  // A list of objects is treated like an object: `encodeEvent` restores both in the same way.
  return { fields: decoded.map((item) => item.fields), unknown: unknown as UnknownFields | undefined };
}

/** The fields that the table does not name. */
function findUnknown(
  table: FieldTable,
  text: JsonObject,
  body: JsonObject | undefined,
  others: readonly string[],
  inner: readonly [string, UnknownFields][],
): UnknownFields {
  const all = Object.values(table);
  const inText = new Set(all.filter(({ where }) => where === 'text').map(({ name }) => name)).union(
    new Set(others),
  );
  const inBody = new Set(
    all.filter(({ where, fields, items }) => where === 'body' || fields || items).map(({ name }) => name),
  );
  const rest = (holder: JsonObject, known: ReadonlySet<string>): [string, JsonValue][] =>
    Object.entries(holder).filter(([name]) => !known.has(name));
  const found = (part: keyof UnknownFields): [string, JsonValue][] =>
    inner.flatMap(([name, unknown]) => (isEmpty(unknown[part]) ? [] : [[name, unknown[part]]]));
  return {
    text: Object.fromEntries([...rest(text, inText), ...found('text')]),
    body: Object.fromEntries([...rest(body ?? {}, inBody), ...found('body')]),
  };
}

function missing(
  { where, absent, erased }: Field,
  holder: JsonObject,
  isErased: boolean,
): JsonValue | undefined {
  if (!isErased || where === 'text' || erased === undefined) return absent;
  const { value, of, by = 'type' } = erased;
  return of === undefined || of === holder[by] ? value : absent;
}

const isEmpty = (value: JsonValue): boolean =>
  Array.isArray(value)
    ? (value as readonly JsonValue[]).every(isEmpty)
    : isJsonObject(value) && Object.keys(value).length === 0;

const own = (holder: JsonObject | undefined, name: string): JsonValue | undefined =>
  holder !== undefined && Object.hasOwn(holder, name) ? holder[name] : undefined;

function object(value: JsonValue): JsonObject {
  if (isJsonObject(value)) return value;
  throw new QuittanceError(
    'ledger.damaged',
    'An entry of the ledger has another value where an object is required.',
  );
}

function list(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw new QuittanceError(
    'ledger.damaged',
    'An entry of the ledger has another value where a list is required.',
  );
}
