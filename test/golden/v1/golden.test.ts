/**
 * Format 1 as it was first written, one set of files for each addition of events. The files never change, and
 * every version must read them. Fields that were added later get the meaning of their absence.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readJsonText } from '../../../packages/quittance/src/base/json.ts';
import { outcomeTypes } from '../../../packages/quittance/src/call/outcome.ts';
import {
  eventTable,
  eventFieldsOf,
  outcomeFields,
} from '../../../packages/quittance/src/ledger/formats/v1/event-table.ts';
import { ERASED } from '../../../packages/quittance/src/ledger/formats/v1/field.ts';
import { readEntry } from '../../../packages/quittance/src/ledger/formats/v1/read-entry.ts';
import type { WrittenEntry } from '../../../packages/quittance/src/ledger/formats/v1/write-entry.ts';
import { readExport } from '../../../packages/quittance/src/ledger/ledger-export.ts';
import type { ReadEvent } from '../../../packages/quittance/src/ledger/unknown-event.ts';
import type { VerifyProblem } from '../../../packages/quittance/src/ledger/verify.ts';
import { createVerifier } from '../../../packages/quittance/src/ledger/verify.ts';

const sets = readdirSync(new URL('.', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const linesOf = (set: string, name: string): string[] =>
  readFileSync(new URL(`${set}/${name}`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
const valuesOf = (set: string, name: string): unknown[] =>
  linesOf(set, name).map((line) => readJsonText(line));

/** An event as this version reads it, whose file knew less. */
function withLaterFields(event: ReadEvent): ReadEvent {
  const later = Object.entries(eventFieldsOf(event.type) ?? {}).flatMap(([name, { absent }]) =>
    absent === undefined || Object.hasOwn(event, name) ? [] : [[name, absent] as const],
  );
  return { ...event, ...Object.fromEntries(later) } as ReadEvent;
}

/** An erased answer was once read as undefined. Now it is read as erased. */
const withErasedAnswer = (event: ReadEvent): ReadEvent =>
  'decision' in event && event.type === 'confirmation.decided' && event.decision === 'respond'
    ? { ...event, response: ERASED }
    : event;

describe.each(sets)('the golden set "%s"', (set) => {
  const written = valuesOf(set, 'entries.jsonl') as WrittenEntry[];
  const expected = valuesOf(set, 'entries.expected.jsonl') as { events: ReadEvent[] }[];

  test('holds an export that reads as the events it was written from, and verifies', async () => {
    const { manifest, entries } = await readExport(linesOf(set, 'ledger.jsonl'));
    const verifier = createVerifier({ heads: manifest.heads });
    const problems: VerifyProblem[] = [];
    const events: ReadEvent[] = [];
    for await (const entry of entries) {
      problems.push(...verifier.add(entry));
      events.push(...readEntry(entry).events);
    }
    expect([...problems, ...verifier.end()]).toEqual([]);
    expect(events).toEqual((valuesOf(set, 'ledger.events.jsonl') as ReadEvent[]).map(withLaterFields));
  });

  test.each(written.map((entry, index) => [index + 1, entry] as const))(
    'line %i reads as it was written',
    (line, entry) => {
      const { format, ownerId, bodiesDigest, erased, ...read } = readEntry(entry);
      expect({ format, ownerId, erased }).toEqual({ format: 1, ownerId: 'own_1', erased: false });
      expect(bodiesDigest === undefined).toBe(entry.bodies === undefined);
      const then = expected[line - 1];
      expect(read).toEqual({ depth: 0, ...then, events: then?.events.map(withLaterFields) });
    },
  );

  test('can be read after its bodies are erased', () => {
    const erased = written.map(({ text }) => readEntry({ text, bodies: undefined }).events);
    const then = valuesOf(set, 'entries.erased.jsonl') as ReadEvent[][];
    expect(erased).toEqual(then.map((events) => events.map(withLaterFields).map(withErasedAnswer)));
  });
});

test('the golden sets have every event type, every outcome and every field of both', () => {
  const all = sets.flatMap((set) =>
    (valuesOf(set, 'entries.expected.jsonl') as { events: ReadEvent[] }[]).flatMap(({ events }) => events),
  );
  for (const [type, fields] of Object.entries(eventTable)) {
    const found = new Set(all.filter((event) => event.type === type).flatMap((event) => Object.keys(event)));
    expect([type, ...Object.keys(fields).filter((field) => !found.has(field))]).toEqual([type]);
  }
  const outcomes = all.flatMap((event) =>
    event.type === 'tool.responded' && 'outcome' in event ? [event.outcome] : [],
  );
  const found = new Set(outcomes.flatMap((outcome) => Object.keys(outcome)));
  expect(Object.keys(outcomeFields).filter((field) => !found.has(field))).toEqual([]);
  expect(new Set(outcomes.map(({ type }) => type))).toEqual(new Set(Object.keys(outcomeTypes)));
});
