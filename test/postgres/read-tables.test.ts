/** The lists on PostgreSQL say of every call what its events say, however its entries came into the read tables. */
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallEvent, QuittanceEvent } from '../../src/call/event.ts';
import { foldCall } from '../../src/call/evolve.ts';
import type { CallSummary } from '../../src/ledger/call-query.ts';
import type { Entry } from '../../src/ledger/journal.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { newSessionTally, countCall, countEvent } from '../../src/ledger/session-tally.ts';
import { toCallSummary } from '../../src/ledger/summarize-call.ts';
import { openPostgresLedger } from '../../src/store/postgres/open-postgres-ledger.ts';
import type { Story } from '../make-ledger.ts';
import { makeEntries, stories } from '../make-ledger.ts';
import { sharePostgres } from './shared-postgres.ts';

let url = '';
beforeAll(async () => {
  ({ url } = await sharePostgres());
});
const opened: Ledger[] = [];
afterAll(async () => {
  for (const ledger of opened) await ledger.close();
});

async function open(): Promise<Ledger> {
  const name = `tables_${randomBytes(6).toString('hex')}`;
  const ledger = await openPostgresLedger(url, {
    schema: name,
    sealKey: Buffer.alloc(32, 1),
    spillFolder: join(tmpdir(), name),
  });
  opened.push(ledger);
  return ledger;
}

const plan = (Object.keys(stories) as Story[]).flatMap((story) =>
  ['one', 'two'].map((call) => ({ session: `session-${story}`, call: `${call}-${story}`, story })),
);

function expectedCalls(entries: readonly Entry[]): readonly CallSummary[] {
  const byCall = new Map<string, CallEvent[]>();
  for (const { events } of entries)
    for (const event of events as readonly QuittanceEvent[])
      if ('callId' in event) {
        const key = JSON.stringify([event.sessionId, event.callId]);
        byCall.set(key, [...(byCall.get(key) ?? []), event as CallEvent]);
      }
  return [...byCall.values()].flatMap((events) => {
    const call = foldCall(events);
    return call === undefined ? [] : [toCallSummary(call)];
  });
}

const byId = (one: CallSummary, other: CallSummary): number => (one.callId < other.callId ? -1 : 1);

async function expectSame(ledger: Ledger, entries: readonly Entry[]): Promise<void> {
  const expected = expectedCalls(entries);
  const { rows } = await ledger.queries.findCalls({ limit: 500 });
  expect(rows.toSorted(byId)).toMatchObject(expected.toSorted(byId));
  const sessions = await ledger.queries.findSessions({ limit: 500 });
  const tallies = new Map<string, ReturnType<typeof newSessionTally>>();
  for (const { sessionId, events } of entries) {
    const tally = tallies.get(sessionId) ?? newSessionTally(sessionId);
    tallies.set(sessionId, tally);
    for (const { at } of events) countEvent(tally, at);
  }
  for (const call of expected) countCall(tallies.get(call.sessionId) ?? newSessionTally(''), call);
  expect(Object.fromEntries(sessions.rows.map((row) => [row.sessionId, row]))).toMatchObject(
    Object.fromEntries(tallies),
  );
}

test('if all entries are read in one step', async () => {
  const ledger = await open();
  const entries = makeEntries(plan);
  for (const entry of entries) await ledger.journal.append(entry);
  await expectSame(ledger, entries);
});

test('if the tables are filled after every entry', async () => {
  const ledger = await open();
  const entries = makeEntries(plan);
  for (const [index, entry] of entries.entries()) {
    await ledger.journal.append(entry);
    await expectSame(ledger, entries.slice(0, index + 1));
  }
});
