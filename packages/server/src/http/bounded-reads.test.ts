import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ReadLimits } from './bounded-reads.ts';
import { BoundedReads } from './bounded-reads.ts';
import { readings } from './readings.ts';

const limits: ReadLimits = { callBytes: 1_000_000, totalBytes: 2_000_000, timeMs: 60_000 };

/** A ledger whose calls have arguments of these lengths, one after the other. */
async function ledgerOf(lengths: readonly number[]): Promise<OpenLedger> {
  const ledger = createMemoryLedger();
  const tool = defineTool({
    name: 'get_note',
    mode: 'read',
    loopLimit: 1e9,
    input: z.object({ text: z.string() }),
    run: () => 1,
  });
  const runtime = createRuntime({ tools: [tool], ledger });
  const turn = runtime.turn({ sessionId: 's' });
  for (const [n, length] of lengths.entries())
    await turn.call({ id: `c${n}`, name: 'get_note', arguments: { text: `${n}${'x'.repeat(length)}` } });
  return ledger;
}

test('a call larger than a request may read is not read, and the refusal states its size', async () => {
  const reads = new BoundedReads(await ledgerOf([10, 1_100_000]), limits);
  expect(await reads.call({ sessionId: 's', callId: 'c0' })).toMatchObject({ events: expect.any(Array) });
  expect(await reads.call({ sessionId: 's', callId: 'c1' })).toBe('large');
  await expect(
    readings.call(reads, { sessionId: 's', callId: 'c1', url: '', traceUrl: undefined }),
  ).rejects.toMatchObject({
    code: 'http.too_large',
    facts: { most: '1000000' },
  });
});

test('a page of entries ends when it is large enough, and the next page continues there', async () => {
  const ledger = await ledgerOf(Array.from({ length: 30 }, () => 150_000));
  const filter = {};
  const first = await readings.events(new BoundedReads(ledger, limits), { after: 0, limit: 1_000, filter });
  expect(first.more).toBe(true);
  const seen = [...first.entries];
  let { position, more } = first;
  while (more) {
    const page = await readings.events(new BoundedReads(ledger, limits), {
      after: position,
      limit: 1_000,
      filter,
    });
    seen.push(...page.entries);
    ({ position, more } = page);
  }
  const all = await ledger.readEntries({ limit: 1_000 });
  expect(seen.map((entry) => entry.position)).toEqual(all.map((entry) => entry.position));
});

test('entries that are too large are named instead of sent, in pages of entries and of audit records', async () => {
  const ledger = await ledgerOf([10, 1_100_000, 10]);
  const page = await readings.events(new BoundedReads(ledger, limits), { after: 0, limit: 100, filter: {} });
  expect(page.large?.every(({ bytes }) => bytes > 1_000_000)).toBe(true);
  expect(page.more).toBe(false);
  const audit = await readings.audit(new BoundedReads(ledger, limits), {});
  expect(audit.large).not.toHaveLength(0);
  expect(new Set(audit.records.map(({ callId }) => callId))).toEqual(new Set(['c0', 'c2']));
});

test('other requests get a turn after some reads, and after some bytes', async () => {
  const many = new BoundedReads(await ledgerOf(Array.from({ length: 100 }, () => 1)), limits);
  await readings.timeline(many, { sessionId: 's', limit: 100, cursor: undefined });
  expect(many.pauses).toBeGreaterThanOrEqual(5);
  const large = new BoundedReads(await ledgerOf(Array.from({ length: 8 }, () => 70_000)), limits);
  await readings.timeline(large, { sessionId: 's', limit: 100, cursor: undefined });
  expect(large.pauses).toBeGreaterThanOrEqual(4);
});

test('a timeline shows calls that are too large as one bar', async () => {
  const reads = new BoundedReads(await ledgerOf([10, 1_100_000]), limits);
  const { rows } = await readings.timeline(reads, { sessionId: 's', limit: 100, cursor: undefined });
  expect(rows.map(({ call, spans }) => [call.callId, spans.map(({ kind }) => kind).at(-1)])).toEqual([
    ['c1', 'running'],
    ['c0', 'running'],
  ]);
});

test('a reading that takes too long is refused with 413', async () => {
  const reads = new BoundedReads(await ledgerOf(Array.from({ length: 30 }, () => 1)), {
    ...limits,
    timeMs: -1,
  });
  await expect(
    readings.timeline(reads, { sessionId: 's', limit: 100, cursor: undefined }),
  ).rejects.toMatchObject({
    code: 'http.too_large',
    message: expect.stringMatching(/longer than -1 ms/),
  });
});
