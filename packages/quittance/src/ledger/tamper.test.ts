/**
 * Hundreds of changes to a ledger and to an export of it. Every change to the readable content, or to its amount, is
 * found.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Story } from '../../../../test/make-ledger.ts';
import { makeEntries, rechain, storeEntries } from '../../../../test/make-ledger.ts';
import { rounds } from '../../../../test/rounds.ts';
import { createAnchor } from './anchor.ts';
import { readExport, writeExport } from './ledger-export.ts';
import { readEntry } from './formats/v1/read-entry.ts';
import type { StoredEntry } from './stored-entry.ts';
import { createVerifier } from './verify.ts';
import type { VerifierOptions } from './verify.ts';

const told: Story[] = ['read', 'approved', 'timeout', 'denied', 'recalled', 'retried'];
const sound = storeEntries(
  makeEntries(['a', 'b'].flatMap((session) => told.map((story) => ({ session, call: story, story })))),
);
const headsOf = (entries: readonly StoredEntry[]): StoredEntry[] => [
  ...new Map(entries.map((entry) => [entry.sessionId, entry])).values(),
];
const anchor = createAnchor(headsOf(sound), 1_790_000_900_000);

function countProblems(entries: readonly StoredEntry[], options?: VerifierOptions): number {
  const verifier = createVerifier(options);
  for (const entry of entries) verifier.add(entry);
  verifier.end();
  return verifier.totals.problems;
}

/** All readable content, session by session: a change to this must not go unnoticed. */
function view(entries: readonly StoredEntry[]): string[] {
  const sessions = Map.groupBy(entries, ({ sessionId }) => sessionId);
  return [...sessions.keys()].sort().flatMap((sessionId) =>
    (sessions.get(sessionId) ?? []).map((entry) => {
      try {
        return JSON.stringify([sessionId, entry.sequence, readEntry(entry)]);
      } catch {
        return `unreadable ${entry.text}`;
      }
    }),
  );
}
const original = view(sound);
const isSame = (entries: readonly StoredEntry[]): boolean => view(entries).join('\n') === original.join('\n');

/** Is each session of one a prefix of the same session of the other? */
function isBeginning(entries: readonly StoredEntry[], all: readonly StoredEntry[]): boolean {
  const [some, whole] = [entries, all].map((list) => Map.groupBy(list, ({ sessionId }) => sessionId));
  return [...(some?.keys() ?? [])].every((sessionId) => {
    const before = view(whole?.get(sessionId) ?? []);
    return view(some?.get(sessionId) ?? []).every((seen, index) => seen === before[index]);
  });
}

/** A chain that ends too soon is still valid; only an anchor, the heads or the end of an export can tell. */
const isOnlyCut = (entries: readonly StoredEntry[]): boolean => isBeginning(entries, sound);

/** A chain that continues after its anchor with possible events has only grown. */
const hasOnlyGrown = (entries: readonly StoredEntry[]): boolean => isBeginning(sound, entries);

const place = fc.nat({ max: sound.length - 1 });
const character = fc.oneof(
  fc.string({ minLength: 1, maxLength: 1 }),
  fc.constantFrom('"', '}', '0', '9', 'e', ' ', '\ud800', '\\'),
);

/** One character inserted, removed or replaced. */
const textEdit = fc
  .tuple(fc.nat(), fc.constantFrom('put', 'take', 'replace'), character)
  .map(([at, how, put]) => (text: string): string => {
    const index = at % (text.length + 1);
    return text.slice(0, index) + (how === 'take' ? '' : put) + text.slice(how === 'put' ? index : index + 1);
  });

type Change = (entries: readonly StoredEntry[]) => StoredEntry[];
const at = (entries: readonly StoredEntry[], index: number): StoredEntry =>
  entries[index % entries.length] as StoredEntry;

const anyChange: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(place, fc.constantFrom('text', 'bodies', 'salt', 'hash', 'sessionId'), textEdit).map(
    ([index, field, edit]): Change =>
      (entries) =>
        entries.with(index % entries.length, {
          ...at(entries, index),
          [field]: edit(at(entries, index)[field as 'text'] ?? ''),
        }),
  ),
  fc.tuple(place, fc.integer({ min: -2, max: 40 })).map(
    ([index, sequence]): Change =>
      (entries) =>
        entries.with(index % entries.length, { ...at(entries, index), sequence }),
  ),
  fc.tuple(place, fc.constantFrom('bodies', 'salt', 'both')).map(
    ([index, what]): Change =>
      (entries) =>
        entries.with(index % entries.length, {
          ...at(entries, index),
          ...(what !== 'salt' && { bodies: undefined }),
          ...(what !== 'bodies' && { salt: undefined }),
        }),
  ),
  fc.tuple(place, fc.integer({ min: 1, max: 5 })).map(
    ([index, count]): Change =>
      (entries) =>
        entries.toSpliced(index % entries.length, count),
  ),
  fc.tuple(place, place).map(
    ([from, to]): Change =>
      (entries) =>
        entries.toSpliced(to, 0, at(entries, from)),
  ),
  fc.tuple(place, place).map(
    ([one, other]): Change =>
      (entries) =>
        entries.with(one % entries.length, at(entries, other)).with(other % entries.length, at(entries, one)),
  ),
  fc
    .tuple(place, place, fc.constantFrom(['text'], ['bodies', 'salt'], ['text', 'bodies', 'salt'], ['hash']))
    .map(([one, other, fields]): Change => (entries) => {
      const take = (to: StoredEntry, from: StoredEntry): StoredEntry => ({
        ...to,
        ...Object.fromEntries(fields.map((field) => [field, from[field as 'text']])),
      });
      const [first, second] = [at(entries, one), at(entries, other)];
      return entries
        .with(one % entries.length, take(first, second))
        .with(other % entries.length, take(second, first));
    }),
  place.map(
    (length): Change =>
      (entries) =>
        entries.slice(0, Math.max(1, length)),
  ),
  fc.constantFrom('a', 'b').map(
    (dropped): Change =>
      (entries) =>
        entries.filter(({ sessionId }) => sessionId !== dropped),
  ),
);

/** Several changes in sequence; some ledgers end up empty. */
const anyChanges = fc.array(anyChange, { minLength: 1, maxLength: 3 }).map(
  (changes): Change =>
    (entries) =>
      changes.reduce((changed, change) => (changed.length === 0 ? changed : change(changed)), [...entries]),
);

describe('a changed ledger', () => {
  test('[tamper-evident] is detected if the chains were not recomputed', () => {
    let found = 0;
    fc.assert(
      fc.property(anyChanges, (change) => {
        const changed = change(sound);
        if (isSame(changed)) return;
        found++;
        expect(countProblems(changed) > 0 || isOnlyCut(changed)).toBe(true);
        expect(countProblems(changed, { anchor })).toBeGreaterThan(0);
        expect(countProblems(changed, { heads: headsOf(sound) })).toBeGreaterThan(0);
      }),
      { numRuns: rounds(400) },
    );
    expect(found).toBeGreaterThan(rounds(200));
  });

  test('[tamper-evident] is detected by an anchor although the chains were recomputed', () => {
    let found = 0;
    fc.assert(
      fc.property(anyChanges, (change) => {
        const changed = rechain(change(sound));
        if (hasOnlyGrown(changed)) return;
        found++;
        expect(countProblems(changed, { anchor })).toBeGreaterThan(0);
      }),
      { numRuns: rounds(300) },
    );
    expect(found).toBeGreaterThan(rounds(120));
  });
});

describe('a changed export', () => {
  const write = async (): Promise<string> => {
    let text = '';
    const manifest = { createdAt: 1, toolVersion: '0', heads: headsOf(sound) };
    for await (const line of writeExport(sound, manifest)) text += line;
    return text;
  };

  /** The entries of an accepted export; undefined if it is rejected or has problems. */
  async function accept(text: string, options?: VerifierOptions): Promise<StoredEntry[] | undefined> {
    const entries: StoredEntry[] = [];
    try {
      const read = await readExport(text.split('\n'));
      for await (const entry of read.entries) entries.push(entry);
      return countProblems(entries, { heads: read.manifest.heads, ...options }) > 0 ? undefined : entries;
    } catch {
      return undefined;
    }
  }

  const anyExportChange: fc.Arbitrary<(text: string) => string> = fc.oneof(
    textEdit,
    fc.tuple(fc.nat(), fc.nat({ max: 3_000 })).map(([from, count]) => (text: string) => {
      const index = from % text.length;
      return text.slice(0, index) + text.slice(index + count + 1);
    }),
    fc.nat().map((length) => (text: string) => text.slice(0, length % text.length)),
    fc
      .tuple(fc.nat(), fc.nat(), fc.constantFrom('swap', 'repeat', 'take'))
      .map(([one, other, how]) => (text: string) => {
        const lines = text.trimEnd().split('\n');
        const [first, second] = [one % lines.length, other % lines.length];
        if (how === 'take') return lines.toSpliced(first, 1).join('\n');
        if (how === 'repeat') return lines.toSpliced(second, 0, lines[first] ?? '').join('\n');
        return lines
          .with(first, lines[second] ?? '')
          .with(second, lines[first] ?? '')
          .join('\n');
      }),
  );

  test('[tamper-evident] is detected', async () => {
    const text = await write();
    expect(await accept(text)).toEqual(sound);
    await fc.assert(
      fc.asyncProperty(anyExportChange, async (change) => {
        const entries = await accept(change(text));
        expect(entries === undefined || isSame(entries)).toBe(true);
      }),
      { numRuns: rounds(400) },
    );
  });

  test('[tamper-evident] is detected by an anchor although it was rewritten', async () => {
    await fc.assert(
      fc.asyncProperty(anyChanges, async (change) => {
        const changed = rechain(change(sound));
        if (hasOnlyGrown(changed)) return;
        let text = '';
        for await (const line of writeExport(changed, {
          createdAt: 1,
          toolVersion: '0',
          heads: headsOf(changed),
        }))
          text += line;
        expect(await accept(text, { anchor })).toBe(undefined);
      }),
      { numRuns: rounds(200) },
    );
  });
});
