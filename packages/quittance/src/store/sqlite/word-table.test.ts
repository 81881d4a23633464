import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SampleCall } from '../../testing/sample-call.ts';
import { openLedger } from '../open-ledger.ts';
import { openDatabase } from './database.ts';
import { findCalls } from '../../ledger/reads.ts';

const folder = (): string => mkdtempSync(join(tmpdir(), 'quittance-words-'));
const filesWith = (path: string, word: string): readonly string[] =>
  readdirSync(path, { withFileTypes: true })
    .filter((file) => file.isFile() && readFileSync(join(path, file.name), 'latin1').includes(word))
    .map(({ name }) => name);

test('[secrets-stay-out] the words of erased and dropped calls leave the files', async () => {
  const path = folder();
  // The index shortens a word that shares its first letters with the one before it.
  const [erased, dropped, kept] = ['qxerasedword', 'jvdroppedword', 'wzkeptword'];
  const ledger = await openLedger(join(path, 'ledger.db'));
  try {
    for (const [sessionId, note] of [
      ['a', erased],
      ['b', dropped],
      ['c', kept],
    ] as const)
      await ledger.append(new SampleCall('c', { sessionId, input: { note } }).whole());
    for (const text of [erased, dropped, kept])
      expect((await findCalls(ledger, { text })).rows).toHaveLength(1);
    await ledger.erase({ sessionId: 'a', by: 'Ada', reason: 'asked to' });
    await ledger.dropSession({ sessionId: 'b', by: 'Ada', reason: 'asked to' });
    for (const text of [erased, dropped]) expect((await findCalls(ledger, { text })).rows).toHaveLength(0);
  } finally {
    await ledger.close();
  }
  expect(filesWith(path, 'erasedword')).toEqual([]);
  expect(filesWith(path, 'droppedword')).toEqual([]);
  expect(filesWith(path, 'keptword')).not.toEqual([]);
  rmSync(path, { recursive: true });
});

test('a search uses the index', async () => {
  const path = folder();
  const ledger = await openLedger(join(path, 'ledger.db'));
  await ledger.append(new SampleCall('c').whole());
  await findCalls(ledger, { text: 'person' });
  await ledger.close();
  const [tables = ''] = filesWith(path, 'fts5');
  const database = openDatabase(join(path, tables));
  const plan = database
    .prepare('EXPLAIN QUERY PLAN SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 5')
    .all('"person"');
  database.close();
  expect(JSON.stringify(plan)).toMatch(/VIRTUAL TABLE INDEX/);
  expect(JSON.stringify(plan)).not.toMatch(/TEMP B-TREE/);
  rmSync(path, { recursive: true });
});
