/** Format 1 as it was first written. These files never change; what reads ledgers must always read them so. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readJsonText } from '../../../src/base/json-text.ts';
import { outcomeTypes } from '../../../src/call/outcome.ts';
import { eventTable, outcomeFields } from '../../../src/ledger/formats/v1/event-table.ts';
import { readEntry } from '../../../src/ledger/formats/v1/read-entry.ts';
import type { WrittenEntry } from '../../../src/ledger/formats/v1/write-entry.ts';
import { readExport } from '../../../src/ledger/export-format.ts';
import type { ReadEvent } from '../../../src/ledger/unknown-event.ts';
import type { VerifyProblem } from '../../../src/ledger/verify-problem.ts';
import { createVerifier } from '../../../src/ledger/verify.ts';

const linesOf = (name: string): string[] =>
  readFileSync(new URL(name, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
const valuesOf = (name: string): unknown[] => linesOf(name).map((line) => readJsonText(line));

describe('an export of format 1', () => {
  test('reads as the events it was written from, and verifies', async () => {
    const { manifest, entries } = await readExport(linesOf('ledger.jsonl'));
    const verifier = createVerifier({ heads: manifest.heads });
    const problems: VerifyProblem[] = [];
    const events: ReadEvent[] = [];
    for await (const entry of entries) {
      problems.push(...verifier.add(entry));
      events.push(...readEntry(entry).events);
    }
    expect([...problems, ...verifier.end()]).toEqual([]);
    expect(events).toEqual(valuesOf('ledger.events.jsonl'));
  });
});

describe('entries of format 1', () => {
  const written = valuesOf('entries.jsonl') as WrittenEntry[];
  const expected = valuesOf('entries.expected.jsonl') as { events: ReadEvent[] }[];
  const all = expected.flatMap(({ events }) => events);

  test.each(written.map((entry, index) => [index + 1, entry] as const))(
    'line %i reads as it was written',
    (line, entry) => {
      const { format, ownerId, bodiesDigest, erased, ...read } = readEntry(entry);
      expect({ format, ownerId, erased }).toEqual({ format: 1, ownerId: 'own_1', erased: false });
      expect(bodiesDigest === undefined).toBe(entry.bodies === undefined);
      expect(read).toEqual(expected[line - 1]);
    },
  );

  test('read with what is left of them when their bodies are erased', () => {
    const erased = written.map(({ text }) => readEntry({ text, bodies: undefined }).events);
    expect(erased).toEqual(valuesOf('entries.erased.jsonl'));
  });

  test('have every event type, every outcome and every field of both', () => {
    for (const [type, fields] of Object.entries(eventTable)) {
      const found = new Set(
        all.filter((event) => event.type === type).flatMap((event) => Object.keys(event)),
      );
      expect([type, ...Object.keys(fields).filter((field) => !found.has(field))]).toEqual([type]);
    }
    const outcomes = all.flatMap((event) =>
      event.type === 'tool.responded' && 'outcome' in event ? [event.outcome] : [],
    );
    const found = new Set(outcomes.flatMap((outcome) => Object.keys(outcome)));
    expect(Object.keys(outcomeFields).filter((field) => !found.has(field))).toEqual([]);
    expect(new Set(outcomes.map(({ type }) => type))).toEqual(new Set(Object.keys(outcomeTypes)));
  });
});
