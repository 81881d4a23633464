import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../test/eventually.ts';
import type { FileIdentity } from './file-identity.ts';
import { findReplaced, identifyFile } from './file-identity.ts';
import { FolderStamps } from './folder-stamps.ts';

let folder: string;
let path: string;
let looks: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-stamps-'));
  path = join(folder, 'ledger.db');
  writeFileSync(path, '');
  looks = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));

const confirming = (watched = path): (() => boolean) => {
  const stamps = new FolderStamps([watched]);
  const opened = identifyFile(watched) as FileIdentity; // it was just created
  return () =>
    stamps.confirm(() => {
      looks++;
      return findReplaced(watched, opened) === undefined;
    });
};

/** Resolves when the folder alone is enough. */
const untilTrusted = (confirm: () => boolean): Promise<void> =>
  eventually(() => {
    const before = looks;
    expect(confirm()).toBe(true);
    expect(looks).toBe(before);
  });

test.runIf(process.platform !== 'win32').each([
  ['deleted', () => rmSync(path)],
  ['moved', () => renameSync(path, `${path}.old`)],
  [
    'replaced',
    () => {
      writeFileSync(`${path}.new`, '');
      renameSync(`${path}.new`, path);
    },
  ],
  [
    'moved with its folder',
    () => {
      renameSync(folder, `${folder}.old`);
      folder = `${folder}.old`;
    },
  ],
])('a file that is %s is noticed at once, and not forgotten', async (_, change) => {
  const confirm = confirming();
  await untilTrusted(confirm);
  change();
  for (let time = 0; time < 300; time++) expect(confirm()).toBe(false);
});

test('a change right after a look is noticed, although the clock of files may not have moved', () => {
  for (let round = 0; round < 20; round++) {
    const confirm = confirming();
    expect(confirm()).toBe(true);
    renameSync(path, `${path}.old`);
    writeFileSync(path, '');
    expect(confirm()).toBe(false);
  }
});

test('a link says nothing about the file, so the file is always looked at', async () => {
  const link = join(folder, 'link.db');
  symlinkSync(path, link);
  const confirm = confirming(link);
  await untilTrusted(confirming());
  looks = 0;
  for (let time = 1; time <= 300; time++) {
    expect(confirm()).toBe(true);
    expect(looks).toBe(time);
  }
});
