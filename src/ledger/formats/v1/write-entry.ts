/**
 * Writes an entry in its permanent form. One text is hashed into the chain of its session. The bodies are separate and
 * may be erased without breaking the chain. Neither contains sealed data.
 */
import type { CounterTotal } from '../../claims.ts';
import type { Entry, Move } from '../../journal.ts';
import type { ReadEvent } from '../../unknown-event.ts';
import { bodiesDigest } from './bodies-digest.ts';
import { encodeCommonEvent } from './encode-common-event.ts';

/** An entry to write. Its events may have been read from a newer ledger. */
export type WritableEntry = Omit<Entry, 'events'> & {
  readonly events: readonly ReadEvent[];
  /** Totals of the counters after this entry. A store that computes them while it appends uses `addTotals`. */
  readonly totals?: readonly CounterTotal[] | undefined;
};

export type WrittenEntry = {
  /** Hashed into the chain. JSON without anything that a person may have a right to have erased. */
  readonly text: string;
  /** A JSON array with the body of each event; undefined if no event has one. */
  readonly bodies: string | undefined;
  /** Protects the bodies in the digest within the text. Erased with them. */
  readonly salt: string | undefined;
};

/**
 * An entry in its permanent form without the digest of its bodies. `finishEntry` adds the digest, in any thread: it
 * takes as long as the rest. Each part is written at once, because the parts of a joined text are garbage.
 */
export type DraftEntry = {
  /** JSON of the members before the bodies. */
  readonly head: string;
  /** JSON of the events, without their bodies. */
  readonly events: string;
  readonly bodies: string | undefined;
  readonly salt: string | undefined;
};

/** `random` returns a new text of at least 16 random bytes, as base64url. */
export function draftEntry(entry: WritableEntry, ownerId: string, random: () => string): DraftEntry {
  const texts: object[] = [];
  let bodies = '[';
  let hasBodies = false;
  let previous: ReadEvent | undefined;
  for (const event of entry.events) {
    const { text, body } = encodeCommonEvent(event, entry, previous);
    texts.push(text);
    bodies += previous === undefined ? body : `,${body}`;
    previous = event;
    hasBodies ||= body !== 'null';
  }
  return {
    head: headOf(entry, ownerId),
    events: JSON.stringify(texts),
    bodies: hasBodies ? `${bodies}]` : undefined,
    salt: hasBodies ? random() : undefined,
  };
}

/** `digestOf`: computes the digest of bodies. */
export function finishEntry(
  { head, events, bodies, salt }: DraftEntry,
  digestOf: (salt: string, bodies: string) => string = bodiesDigest,
): WrittenEntry {
  const digest = salt === undefined || bodies === undefined ? 'null' : `"${digestOf(salt, bodies)}"`;
  return { text: `${head.slice(0, -1)},"bodies":${digest},"events":${events}}`, bodies, salt };
}

/** `random` returns a new text of at least 16 random bytes, as base64url. */
export const writeEntry = (entry: WritableEntry, ownerId: string, random: () => string): WrittenEntry =>
  finishEntry(draftEntry(entry, ownerId, random));

function headOf(entry: WritableEntry, ownerId: string): string {
  const { claim, moves, depth, totals } = entry;
  return JSON.stringify({
    v: 1,
    entry: entry.entryId,
    session: entry.sessionId,
    call: entry.callId ?? null,
    version: entry.expectedVersion,
    owner: ownerId,
    claim: claim && toClaim(claim),
    release: entry.releaseClaim,
    reserve: entry.reserve,
    settle: entry.settle,
    moves: moves?.map(toMove),
    depth: depth !== undefined && depth > 0 ? depth : undefined,
    totals: totals === undefined || totals.length === 0 ? undefined : totals.map(toTotal),
  });
}

/**
 * Adds the totals of its counters to the text of an entry. Quotes inside a JSON text are escaped, so the first
 * `,"bodies":` is the member of that name.
 */
export function addTotals(text: string, totals: readonly CounterTotal[]): string {
  if (totals.length === 0) return text;
  const at = text.indexOf(',"bodies":');
  return text.slice(0, at) + totalsText(totals) + text.slice(at);
}

const totalsText = (totals: readonly CounterTotal[]): string =>
  `,"totals":${JSON.stringify(totals.map(toTotal))}`;

const toTotal = ({ counter, used, reserved }: CounterTotal): CounterTotal => ({ counter, used, reserved });

const toMove = ({ subject, expectedVersion }: Move): object => ({ subject, version: expectedVersion });

const toClaim = ({ key, inputDigest, supersedes }: NonNullable<Entry['claim']>): object => ({
  key,
  input_digest: inputDigest,
  supersedes: supersedes && { session: supersedes.sessionId, call: supersedes.callId },
});
