/** A spill line whose flush failed was refused: it must not be found after a restart. */
import fs, { mkdtempSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { SampleCall } from '../../testing/sample-call.ts';
import { newOwnerId } from './owner-id.ts';
import { SpillFile } from './spill-file.ts';

const { fdatasyncSync } = fs;
const disk = { failsToFlush: false };
fs.fdatasyncSync = (file) => {
  if (disk.failsToFlush) throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
  fdatasyncSync(file);
};
syncBuiltinESMExports();
afterAll(() => {
  fs.fdatasyncSync = fdatasyncSync;
  syncBuiltinESMExports();
});

const folder = mkdtempSync(join(tmpdir(), 'quittance-flush-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('[told-equals-kept] a line whose flush failed is not found by a later process', () => {
  const place = { folder, ownerId: newOwnerId(), ledgerId: 'ledger' };
  const spill = new SpillFile(place, 65_536, () => 'salt');
  expect(spill.add(new SampleCall('kept').whole())).toBe(true);
  disk.failsToFlush = true;
  expect(spill.add(new SampleCall('refused').whole())).toBe(false);
  disk.failsToFlush = false;
  const after = new SpillFile({ ...place, ownerId: newOwnerId() }, 65_536, () => 'salt');
  const found = after.read(() => true).flatMap(({ entries }) => entries.map(({ callId }) => callId));
  expect(found).toEqual(['kept']);
  expect(spill.add(new SampleCall('later').whole())).toBe(true);
});
