/**
 * Changes files of a ledger at random: rows are set, retyped, moved, swapped, duplicated, deleted; tables and
 * constraints are altered; bytes, pages and ends of files are changed. `npm run tamper -- --edits 20000` runs
 * more.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fillForTampering } from '../../bench/tamper/fill.ts';
import { makeScratch, tryEdit } from '../../bench/tamper/try-edit.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-edits-'));
const sound = makeScratch(join(folder, 'sound'));
beforeAll(() => fillForTampering(join(sound, 'ledger.db')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const edits = 100;
const parts = 5;

describe('[tamper-evident] of 100 random edits', () => {
  it.each(Array.from({ length: parts }, (_, part) => 1_000_000 + part * (edits / parts)))(
    '[tamper-evident] every one from seed %i that changes content is reported, nothing crashes, and verifying writes nothing',
    async (seed) => {
      const wrong: string[] = [];
      let changed = 0;
      for (let number = seed; number < seed + edits / parts; number++) {
        const trial = await tryEdit(sound, folder, number, { rebuilds: number % 3 === 0 });
        if (trial === undefined) continue; // refused by the database
        if (trial.changed) changed++;
        if (trial.crash !== undefined) wrong.push(`seed ${number}: ${trial.what}: ${trial.crash}`);
        else if (trial.wrote) wrong.push(`seed ${number}: ${trial.what}: verify wrote to a file`);
        else if (trial.changed && !trial.found) wrong.push(`seed ${number}: ${trial.what}: not found`);
      }
      expect(wrong).toEqual([]);
      expect(changed).toBeGreaterThan(edits / parts / 4);
    },
    120_000,
  );
});

it('[tamper-evident] a ledger without its own row is refused with a message, by verify and by rebuild', async () => {
  // Found by 20,000 edits: each of these seeds deletes that row.
  for (const seed of [1_000, 1_390, 1_873])
    expect(await tryEdit(sound, folder, seed)).toMatchObject({
      what: 'delete: ledger',
      found: true,
      crash: undefined,
    });
});
