import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Story } from '../../test/make-ledger.ts';
import { makeEntries, stories } from '../../test/make-ledger.ts';
import type { CallEvent, QuittanceEvent } from '../call/event.ts';
import { foldCall } from '../call/evolve.ts';
import { writeEntry } from './formats/v1/write-entry.ts';
import type { Entry } from './journal.ts';
import { outputOf, toCallSummary } from './summarize-call.ts';
import type { EntryRow } from '../store/sqlite/entry-row.ts';
import { decode } from '../store/sqlite/entry-row.ts';
import type { PlainCall } from './plain-call.ts';
import { beginPlainCall, continuePlainCall } from './plain-call.ts';

/** The rows of a call, as the file has them. */
const toRows = (entries: readonly Entry[]): EntryRow[] =>
  entries.map((entry, index) => {
    const { text, bodies, salt } = writeEntry(entry, `own-${index}`, () => 'salt');
    const version = entry.expectedVersion === 'any' ? null : entry.expectedVersion + 1;
    const place = { position: index + 1, session: 1, sequence: index + 1, call: entry.callId ?? null };
    return { ...place, version, text, bodies: bodies ?? null, salt: salt ?? null, hash: '' };
  });

/** Undefined if the call did not take the usual course. */
function readPlain([first, ...rest]: readonly EntryRow[]): PlainCall<EntryRow> | undefined {
  const call = first && beginPlainCall(first);
  return call !== undefined && rest.every((row) => continuePlainCall(call, row)) ? call : undefined;
}

/** The same fields, from decoded events. */
function readFolded(rows: readonly EntryRow[]): unknown {
  const read = rows.map(decode);
  const events = read.flatMap((entry) => entry.events as readonly QuittanceEvent[]);
  const call = foldCall(events.filter((event): event is CallEvent => 'callId' in event));
  const last = read.at(-1)?.events.map(({ at }) => at) ?? [];
  if (call === undefined) throw new Error('no call');
  const { callId: _, outcome, reason, code, message, unresolved, ...rest } = toCallSummary(call);
  expect([reason, code, message, unresolved]).toEqual([undefined, undefined, undefined, false]);
  expect(outcome).toBe(call.status === 'settled' ? 'ToolExecutionResult' : undefined);
  const times = { firstAt: Math.min(...last), lastAt: Math.max(...last) };
  return {
    ...rest,
    output: outputOf(call),
    ...times,
    ownerId: read.at(-1)?.ownerId,
    rows,
    stored: undefined,
  };
}

const expectSame = (rows: readonly EntryRow[]): boolean => {
  const plain = readPlain(rows);
  if (plain !== undefined) expect(plain).toEqual(readFolded(rows));
  return plain !== undefined;
};

describe('a call of the usual course', () => {
  test('is read as the folded call, for every story and after each of its entries', () => {
    const plain: string[] = [];
    for (const story of Object.keys(stories) as Story[])
      for (const plan of [
        [{ session: 's', call: 'c', story }],
        // The second call of a turn does not open it.
        [{ session: 's', call: 'b', story } as const, { session: 's', call: 'c', story }],
      ]) {
        const entries = makeEntries(plan).filter(({ callId }) => callId === 'c');
        for (let count = 1; count <= entries.length; count++)
          if (expectSame(toRows(entries.slice(0, count)))) plain.push(`${story} ${count}`);
      }
    expect(new Set(plain)).toEqual(
      new Set(
        'read 1, write 1, write 2, open 1, recalled 1, timeout 1, failure 1, retried 1, artifact 1, spilled 1'.split(
          ', ',
        ),
      ),
    );
  });

  test('is read as the folded call, whatever its fields contain', () => {
    const [entry] = makeEntries([{ session: 's', call: 'c', story: 'read' }]);
    const text = fc.string({ unit: 'binary' });
    const event = fc.record(
      {
        turnId: text,
        at: fc.nat(),
        toolName: text,
        mode: fc.constantFrom('read', 'write', 'external'),
        principal: fc.constantFrom(undefined, { userId: 'ada' }, { userId: 7 }, { orgId: 'o' }, {}),
        requestedInput: fc.json().map((json) => ({ principal: json })),
        inputDigest: fc.option(text, { nil: undefined }),
        decision: fc.constantFrom('allow', 'deny', 'ask'),
        attempt: fc.integer(),
        final: fc.boolean(),
        costMicros: fc.nat(),
        unsettledEffect: fc.boolean(),
        sessionId: fc.constantFrom('s', 'other'),
        callId: fc.constantFrom('c', 'other'),
      },
      { requiredKeys: [] },
    );
    let count = 0;
    fc.assert(
      fc.property(fc.nat({ max: 4 }), event, (changed, change) => {
        const events = entry?.events.map((each, index) => {
          const members = Object.entries(index === changed ? change : {}).filter(([name]) => name in each);
          return { ...each, ...Object.fromEntries(members) };
        });
        if (expectSame(toRows([{ ...entry, events } as Entry]))) count++;
      }),
      { numRuns: 1_000 },
    );
    expect(count).toBeGreaterThan(100);
  });

  test('is left to the decoder if its row or its text was changed', () => {
    const [row] = toRows(makeEntries([{ session: 's', call: 'c', story: 'read' }]));
    if (row === undefined) throw new Error('no entry');
    expect(beginPlainCall(row)?.status).toBe('settled');
    const changed: readonly EntryRow[] = [
      { ...row, text: 'x' },
      { ...row, text: '7' },
      { ...row, text: row.text.replace('"v":1', '"v":2') },
      { ...row, bodies: null, salt: null },
      { ...row, bodies: 'x "principal"' },
      { ...row, call: 'other' },
      { ...row, version: 2 },
      { ...row, version: null },
      { ...row, text: row.text.replace('"events":[', '"events":[7,') },
      { ...row, text: row.text.replace(/"events":.*/s, '"events":[]}') },
      { ...row, text: row.text.replace('"tool.decided"', '"tool.devised"') },
      { ...row, text: row.text.replace('"elapsed_ms":', '"elapsed":') },
      { ...row, text: row.text.replace('"mode":', '"made":') },
    ];
    expect(changed.map((each) => beginPlainCall(each))).toEqual(changed.map(() => undefined));
  });
});
