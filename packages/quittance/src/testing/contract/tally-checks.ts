/** Counts of calls by property. */
import assert from 'node:assert/strict';
import type { TallyName, TallyQuery, CallCountQuery } from '../../ledger/call-tally.ts';
import { countCalls, countDenials, hourMs, hourOf, tallyCalls } from '../../ledger/call-tally.ts';
import type { OpenLedger } from '../../ledger/ledger.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { findCalls, readTallies, readCallCounts, readDenials } from '../../ledger/reads.ts';

/** On the hour, so that later times within the hour stay in it. */
const start = hourOf(1_700_000_000_000) * hourMs;

const everyName = ['hour', 'toolName', 'mode', 'status', 'outcome', 'code', 'bin'] as const;

/** Rows in any order, with fields in any order. */
const sort = (found: readonly object[]): string[] =>
  found
    .map((each) => JSON.stringify(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1))))
    .toSorted();

/** The counts must equal a count of the listed calls. */
async function agrees(ledger: OpenLedger, query: TallyQuery<TallyName>): Promise<void> {
  const { rows } = await findCalls(ledger, { limit: 1_000 });
  assert.deepEqual(
    sort(await readTallies(ledger, query)),
    sort(tallyCalls(rows, query)),
    JSON.stringify(query),
  );
}

async function appendSome(ledger: OpenLedger): Promise<void> {
  for (let n = 0; n < 12; n++) {
    const options = { sessionId: n % 2 === 0 ? 'one' : 'two', at: start + n * 900_000 };
    const call = new SampleCall(
      `c${n}`,
      n % 3 === 0 ? { ...options, toolName: 'look', mode: 'read' } : options,
    );
    if (n % 4 === 3) await ledger.append(call.deny());
    else {
      await ledger.append(call.begin());
      if (n % 4 === 1) await ledger.append(call.end('failure'));
      else if (n % 4 === 2) await ledger.append(call.end());
    }
  }
}

export const tallyChecks: readonly Check[] = [
  [
    'calls are counted as they are listed, by every property',
    async ({ ledger }) => {
      await appendSome(ledger);
      for (const by of [[], ['outcome'], ['toolName', 'code'], ['hour', 'outcome'], everyName] as const) {
        await agrees(ledger, { by });
        await agrees(ledger, { by, since: start + hourMs, until: start + 2 * hourMs });
        await agrees(ledger, { by, since: start + hourMs + 5, until: start + 2 * hourMs + 5 });
        await agrees(ledger, { by, toolName: 'look' });
        await agrees(ledger, { by, toolName: 'nothing' });
      }
    },
  ],
  [
    'calls of any span are counted as they are listed, to the millisecond',
    async ({ ledger }) => {
      await appendSome(ledger);
      const { rows } = await findCalls(ledger, { limit: 1_000 });
      const agree = async (query: CallCountQuery): Promise<void> =>
        assert.deepEqual(sort(await readCallCounts(ledger, query)), sort(countCalls(rows, query)));
      for (const stepMs of [1, 600_000, 3 * hourMs, Number.MAX_SAFE_INTEGER])
        for (const since of [undefined, 0, start + 900_000, start + 900_001])
          for (const until of [undefined, start + 1_800_000, start + 1_800_001])
            await agree({ since, until, stepMs });
      await agree({ toolName: 'look', stepMs: hourMs });
      await agree({ toolName: 'nothing', stepMs: hourMs });
    },
  ],
  [
    'calls are counted and found by the rule that denied them',
    async ({ ledger }) => {
      const names = ['no-refunds', 'no refunds', 'no-refunds', 'No-Refunds', '"x" \\ \u0000 ✓'];
      for (const [n, name] of names.entries())
        await ledger.append(new SampleCall(`c${n}`, { at: start + n }).deny(name));
      await ledger.append(new SampleCall('by a hook', { at: start }).deny());
      const held = new SampleCall('held', { sessionId: 'open', at: start });
      await ledger.append(held.hold());
      const { rows } = await findCalls(ledger, { limit: 1_000 });
      for (const span of [{}, { since: start + 1 }, { since: start, until: start + 2 }, { until: start }])
        assert.deepEqual(sort(await readDenials(ledger, span)), sort(countDenials(rows, span)));
      for (const { ruleId, calls, lastAt } of await readDenials(ledger, {})) {
        const found = (await findCalls(ledger, { ruleId })).rows;
        assert.deepEqual(
          found.map((row) => [row.ruleId, row.requestedAt <= lastAt]),
          Array.from({ length: calls }, () => [ruleId, true]),
        );
        const counts = await readCallCounts(ledger, { ruleId, stepMs: hourMs });
        assert.equal(
          counts.reduce((sum, each) => sum + each.calls, 0),
          calls,
        );
      }
      assert.equal((await findCalls(ledger, { ruleId: 'no-refunds' })).rows.length, 2);
      await ledger.dropSession({ sessionId: 'session', by: 'ada', reason: 'over' });
      assert.deepEqual(await readDenials(ledger, {}), []);
    },
  ],
  [
    'a range of many days is counted exactly, whatever hours it starts and ends with',
    async ({ ledger }) => {
      for (let n = 0; n < 20; n++) {
        const call = new SampleCall(`c${n}`, {
          at: start + n * 5 * hourMs,
          toolName: n % 3 ? 'send' : 'look',
        });
        await ledger.append(call.begin());
        if (n % 2 === 0) await ledger.append(call.end());
      }
      const dayMs = 24 * hourMs;
      const midnight = Math.ceil(start / dayMs) * dayMs;
      for (const since of [undefined, 0, start, midnight, midnight + hourMs, midnight + dayMs])
        for (const until of [undefined, midnight, midnight + dayMs, midnight + 2 * dayMs + hourMs + 1])
          for (const toolName of [undefined, 'look']) {
            await agrees(ledger, { by: ['outcome', 'toolName'], since, until, toolName });
            for (const hourStep of [undefined, 3, 24, 48, 7 * 24])
              await agrees(ledger, { by: ['hour'], since, until, toolName, hourStep });
          }
    },
  ],
  [
    'a call that continues is counted once, by its current state',
    async ({ ledger }) => {
      const call = new SampleCall('c', { at: start });
      await ledger.append(call.begin());
      assert.deepEqual(await readTallies(ledger, { by: ['status'] }), [
        { status: 'running', calls: 1, unresolved: 0, costMicros: 0 },
      ]);
      await ledger.append(call.end('failure'));
      const [only, ...others] = await readTallies(ledger, { by: ['status', 'outcome', 'code'] });
      assert.deepEqual(others, []);
      assert.equal(only?.outcome, 'ToolFailure');
      assert.equal(only.unresolved, 1);
    },
  ],
  [
    'durations are counted only for calls whose tool ran',
    async ({ ledger }) => {
      await ledger.append(new SampleCall('never ran', { at: start }).cancel());
      const ran = new SampleCall('ran', { at: start });
      await ledger.append(ran.begin());
      await ledger.append(ran.end());
      const tallies = await readTallies(ledger, { by: ['code', 'bin'] });
      assert.equal(tallies.length, 2);
      for (const { code, bin } of tallies) assert.equal(bin >= 0, code === '');
      await agrees(ledger, { by: everyName });
    },
  ],
  [
    'calls of a dropped session are no longer counted, and a rebuild changes nothing',
    async ({ ledger }) => {
      for (const sessionId of ['one', 'two']) {
        const call = new SampleCall('c', { sessionId, at: start });
        await ledger.append(call.begin());
        await ledger.append(call.end());
      }
      await ledger.dropSession({ sessionId: 'two', by: 'ada', reason: 'over' });
      const counted = [{ outcome: 'ToolExecutionResult', calls: 1, unresolved: 0, costMicros: 7 }];
      assert.deepEqual(await readTallies(ledger, { by: ['outcome'] }), counted);
      await ledger.rebuild();
      assert.deepEqual(await readTallies(ledger, { by: ['outcome'] }), counted);
    },
  ],
  [
    'calls are found by their principal, and by a search for their session',
    async ({ ledger }) => {
      await ledger.append(
        new SampleCall('hers', { sessionId: 'ticket-7', userId: 'ada', at: start }).begin(),
      );
      await ledger.append(new SampleCall('his', { sessionId: 'ticket-8', userId: 'bob', at: start }).begin());
      const idsOf = async (query: Parameters<typeof findCalls>[1]): Promise<string[]> =>
        (await findCalls(ledger, query)).rows.map(({ callId }) => callId);
      assert.deepEqual(await idsOf({ userId: 'ada' }), ['hers']);
      assert.deepEqual(await idsOf({ userId: 'nobody' }), []);
      assert.deepEqual(await idsOf({ text: 'TICKET-8' }), ['his']);
      assert.deepEqual(await idsOf({ text: 'ticket', scan: 10 }), ['his', 'hers']);
    },
  ],
];
