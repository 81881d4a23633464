/**
 * Writes a set of golden files of format 1, once: `node --conditions=quittance-source test/golden/v1/write.ts NAME`, run
 * when the work closes that brought new events. They are never written again: every later version must read them. A
 * file that is there already is left alone.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { readEntry } from '../../../packages/quittance/src/ledger/formats/v1/read-entry.ts';
import { writeEntry } from '../../../packages/quittance/src/ledger/formats/v1/write-entry.ts';
import { writeExport } from '../../../packages/quittance/src/ledger/ledger-export.ts';
import type { Story } from '../../make-ledger.ts';
import { makeEntries, stories, storeEntries } from '../../make-ledger.ts';
import { anyEntry } from '../../arbitrary-event.ts';

const [set = ''] = process.argv.slice(2);
if (!/^[a-z]+$/.test(set)) throw new Error('Name the set: write.ts contracts');
const folder = new URL(`${set}/`, import.meta.url);
mkdirSync(folder, { recursive: true });
const write = (name: string, lines: readonly string[]): void =>
  writeFileSync(new URL(name, folder), `${lines.join('\n')}\n`, { flag: 'wx' });

const plans = (session: string): { session: string; call: string; story: Story }[] =>
  (Object.keys(stories) as Story[]).map((story) => ({ session, call: `${story}-${session}`, story }));
const stored = storeEntries(makeEntries([...plans('monday'), ...plans('tuesday')]));
const heads = [...new Map(stored.map((entry) => [entry.sessionId, entry])).values()];
const lines: string[] = [];
for await (const line of writeExport(stored, { createdAt: 1_790_000_900_000, toolVersion: '0.1.0', heads }))
  lines.push(line.trimEnd());
write('ledger.jsonl', lines);
write(
  'ledger.events.jsonl',
  stored.flatMap((entry) => readEntry(entry).events.map((event) => JSON.stringify(event))),
);

let salts = 0;
const entries = fc.sample(anyEntry, { numRuns: 150, seed: 42 });
const written = entries.map((entry) => writeEntry(entry, 'own_1', () => `salt${salts++}`.padEnd(22, '0')));
write(
  'entries.jsonl',
  written.map((entry) => JSON.stringify(entry)),
);
write(
  'entries.expected.jsonl',
  entries.map((entry) => JSON.stringify(entry)),
);
write(
  'entries.erased.jsonl',
  written.map(({ text }) => JSON.stringify(readEntry({ text, bodies: undefined }).events)),
);
