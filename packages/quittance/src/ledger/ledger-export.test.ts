import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyEntry } from '../../../../test/arbitrary-event.ts';
import { makeEntries, storeEntries } from '../../../../test/make-ledger.ts';
import type { ExportManifest } from './ledger-export.ts';
import type { StoredEntry } from './stored-entry.ts';
import { readExport, writeExport } from './ledger-export.ts';

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const headsOf = (entries: readonly StoredEntry[]): StoredEntry[] => [
  ...new Map(entries.map((entry) => [entry.sessionId, entry])).values(),
];
const manifestOf = (entries: readonly StoredEntry[]): ExportManifest => ({
  createdAt: 1_790_000_900_000,
  toolVersion: '0.1.0',
  heads: headsOf(entries).map(({ sessionId, sequence, hash }) => ({ sessionId, sequence, hash })),
});
const write = (entries: readonly StoredEntry[], manifest = manifestOf(entries)): Promise<string[]> =>
  collect(writeExport(entries, manifest));
const read = async (lines: readonly string[]): Promise<StoredEntry[]> =>
  collect((await readExport(lines)).entries);

const entries = storeEntries(
  makeEntries([
    { session: 'a', call: 'c1', story: 'approved' },
    { session: 'b', call: 'c2', story: 'timeout' },
  ]),
);

describe('an export', () => {
  test('is read back unchanged, whatever its content', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyEntry, { maxLength: 5 }), async (any) => {
        const stored = storeEntries(any);
        const lines = await write(stored);
        expect(lines.every((line) => /^[^\n\r\u2028\u2029]*\n$/.test(line) && line.isWellFormed())).toBe(
          true,
        );
        expect(await read(lines)).toEqual(stored);
        expect(await read(lines.join('').split('\n'))).toEqual(stored);
        expect((await readExport(lines)).manifest).toEqual(manifestOf(stored));
      }),
    );
  });

  test('lists its content in the first line', async () => {
    const [first = ''] = await write(entries);
    expect(JSON.parse(first)).toMatchObject({
      quittanceExport: 2,
      createdAt: 1_790_000_900_000,
      toolVersion: '0.1.0',
      sessions: 2,
      entries: 8,
    });
  });

  test('is read in the spelling of format 1, too', async () => {
    const old = (await write(entries))
      .slice(0, -1)
      .map((line) =>
        line
          .replace('"quittanceExport":2', '"quittance_export":1')
          .replace('"createdAt"', '"created"')
          .replace('"toolVersion"', '"tool_version"')
          .replaceAll('"sessionId":', '"session":'),
      );
    const digest = createHash('sha256').update(old.join('')).digest('hex');
    const end = (text: string): string =>
      `{"quittance_export_end":1,"entries":${entries.length},"digest":"sha256:${text}"}\n`;
    expect(await read([...old, end(digest)])).toEqual(entries);
    await expect(read([...old, end(digest.replaceAll('a', 'b'))])).rejects.toThrow('were changed');
  });

  test('ends at its heads: later appends are left out', async () => {
    const lines = await write(entries, manifestOf(entries.slice(0, 5)));
    expect(await read(lines)).toEqual(entries.slice(0, 5));
  });

  test('contains only the chained text of an entry and its bodies', async () => {
    const [first] = entries as [StoredEntry];
    const sealed = { ...first, sealed: 'v1.secret', owner: 'x' };
    expect((await write([sealed])).join('')).not.toContain('secret');
  });
});

describe('a changed export is rejected with the line number', () => {
  const refusal = async (change: (lines: string[]) => string[]): Promise<string> => {
    const lines = change(await write(entries));
    return read(lines).then(
      () => 'nothing',
      (error: unknown) => (error as Error).message,
    );
  };

  test.each<[string, (lines: string[]) => string[], string | RegExp]>([
    ['nothing at all', () => [], 'Line 1 of the export is invalid: the file is empty.'],
    ['another file', () => ['{"hello":1}'], 'Line 1 of the export is invalid: it is not the first line'],
    ['no JSON', (lines) => lines.with(3, 'x'), 'Line 4 of the export is invalid: it is not JSON.'],
    ['a list', (lines) => lines.with(3, '[]'), 'Line 4 of the export is invalid: it is not an object.'],
    ['a field missing', (lines) => lines.with(3, '{"session":"a"}'), /Line 4 .*"text" is missing/],
    ['an empty line', (lines) => lines.toSpliced(3, 0, ''), /Line 4 .* not JSON/],
    ['cut after a line', (lines) => lines.slice(0, 4), 'Line 5 of the export is invalid: the export was cut'],
    ['cut in a line', (lines) => [...lines.slice(0, 3), lines[3]?.slice(0, 50) ?? ''], /Line 4 .*not JSON/],
    ['cut after the first line', (lines) => lines.slice(0, 1), /Line 2 .*was cut/],
    ['a line taken out', (lines) => lines.toSpliced(3, 1), /Line 9 .*counts 8 entries, but there are 7/],
    [
      'two lines swapped',
      (lines) => lines.with(3, lines[4] ?? '').with(4, lines[3] ?? ''),
      /Line 10 .*were changed/,
    ],
    [
      'a byte changed',
      (lines) => lines.with(3, lines[3]?.replace(/[0-9a-f]{8}/, '00000000') ?? ''),
      /Line 10 .*were changed/,
    ],
    ['something behind its end', (lines) => [...lines, lines[1] ?? ''], /Line 11 .*ends before this line/],
    [
      'its count changed',
      (lines) => lines.with(0, lines[0]?.replace('"entries":8', '"entries":7') ?? ''),
      /Line 1 .*do not match its list/,
    ],
  ])('%s', async (_, change, message) => {
    expect(await refusal(change)).toMatch(message);
  });

  test('an export of a newer version is rejected as such', async () => {
    for (const first of [
      '{"quittanceExport":3,"toolVersion":"9.0.0"}',
      '{"quittance_export":2,"tool_version":"9.0.0"}',
    ])
      await expect(readExport([first])).rejects.toThrow('newer version ("9.0.0")');
  });
});
