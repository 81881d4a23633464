/** Emitted events are on record, and do not change what readers of the record say about calls. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QuittanceEvent } from 'quittance/events';
import type { Entry, OpenLedger } from 'quittance/store';
import { createRuntime } from 'quittance';
import { isEmittedEvent } from 'quittance/events';
import { openLedger } from 'quittance/ledger';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fillLedger, nasty } from './fill-ledger.ts';
import { runProgramHere } from './run-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-emitted-'));
const [plain, remarked] = ['plain', 'remarked'].map((name) => join(folder, name, 'ledger.db')) as [
  string,
  string,
];
const contracts = join(folder, 'new.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

const on = (ledger: string, ...args: string[]): ReturnType<typeof runProgramHere> =>
  runProgramHere(args, { env: { QUITTANCE_LEDGER: ledger, COLUMNS: '100', NO_COLOR: '1' } });

async function withLedger<Result>(
  path: string,
  work: (ledger: OpenLedger) => Promise<Result>,
): Promise<Result> {
  const ledger = await openLedger(path);
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

/** Made to be mistaken for something else: it has the data of an outcome. */
const remark = ({ sessionId, turnId, id, at }: QuittanceEvent, callId: string | undefined): Entry => ({
  entryId: `remark-on-${id}`,
  sessionId,
  callId,
  expectedVersion: 'any',
  depth: 1,
  events: [
    {
      id: `emitted-for-${id}`,
      type: 'order.flagged',
      sessionId,
      turnId,
      callId,
      at,
      cause: id,
      by: 'watch',
      data: { note: nasty, final: true, outcome: { type: 'ToolDenied' }, __proto__: { polluted: true } },
    },
  ],
});

/** The same ledger twice; in one of them an event was emitted for every event. */
beforeAll(async () => {
  await fillLedger(plain);
  cpSync(join(folder, 'plain'), join(folder, 'remarked'), { recursive: true });
  await withLedger(remarked, async (ledger) => {
    for (const sessionId of ['ticket-42', 'ticket-43'])
      for (const event of await ledger.readSession(sessionId))
        await ledger.append(remark(event, 'callId' in event ? event.callId : undefined));
  });
  writeFileSync(
    contracts,
    `apiVersion: edictum/v1
kind: Ruleset
metadata: {name: new}
defaults: {mode: enforce}
rules:
  - {id: big, type: pre, tool: refund, when: {args.cents: {gte: 100}}, then: {action: block, message: No.}}
`,
  );
});

test.each([
  ['calls', '--json', '--all'],
  ['sessions', '--json'],
  ['errors', '--json'],
  ['reconcile', '--json'],
  ['show', 'call_refund', '--json'],
  ['show', 'call_timeout', '--json'],
  ['show', 'call_confirmed', '--json'],
  ['cassette', 'export', 'ticket-42', '--out', '-'],
  ['backtest', '--contracts', contracts, '--json'],
])('`quittance %s` (%s) prints the same as without emitted events', async (...args) => {
  const [before, after] = [await on(plain, ...args), await on(remarked, ...args)];
  expect(before.err).toBe('');
  expect(before.out).not.toBe('');
  const [one, other] = [before, after].map(({ out }) => out.replace(/"(digest|created)": ".*"/g, ''));
  expect([after.code, after.err, other]).toEqual([before.code, '', one]);
});

test('two sessions that differ only in emitted events do not differ', async () => {
  const { code, out, err } = await on(plain, 'diff', 'ticket-42', 'ticket-42', '--ledger-b', remarked);
  expect([code, err]).toEqual([0, '']);
  expect(out).not.toMatch(/^[-+~]/m);
});

test('the ledger is whole, also rebuilt and exported, and no event counts as one of a newer version', async () => {
  const file = join(folder, 'ledger.jsonl');
  for (const args of [
    ['verify'],
    ['rebuild'],
    ['verify'],
    ['export', '--out', file],
    ['verify', '--export', file],
  ]) {
    const { code, out, err } = await on(remarked, ...args);
    expect([args, code]).toEqual([args, 0]);
    expect(out + err).not.toContain('newer version');
  }
  expect(readFileSync(file, 'utf8')).toContain('order.flagged');
});

test('a trace shows each in its place, and safely', async () => {
  const { code, out } = await on(remarked, 'trace', 'ticket-42');
  expect(code).toBe(0);
  expect(out).toContain('order.flagged');
  for (const line of out.split('\n')) expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
});

test('a runtime returns them with the events, and calls, records and answers as without them', async () => {
  const ask = (path: string) =>
    withLedger(path, async (ledger) => {
      const runtime = createRuntime({ tools: [], ledger });
      const session = { sessionId: 'ticket-42' };
      const turn = runtime.turn(session);
      const told = await turn.call({
        id: 'call_refund',
        name: 'refund',
        arguments: { order: 'A7', cents: 500 },
      });
      const [events, calls, audit] = [
        await runtime.events.list(session),
        await runtime.calls.list(session),
        await runtime.calls.audit(session),
      ];
      await runtime.close();
      return {
        told,
        events,
        calls: calls.filter(({ callId }) => callId !== 'call_refund'),
        audit: audit.length,
      };
    });
  const [before, after] = [await ask(plain), await ask(remarked)];
  expect(after.told).toEqual(before.told);
  expect(after.calls).toEqual(before.calls);
  expect(after.audit).toBe(before.audit);
  expect(before.events.filter(isEmittedEvent)).toEqual([]);
  const emitted = after.events.filter(isEmittedEvent);
  expect(emitted.length).toBeGreaterThan(40);
  expect(emitted[0]).toMatchObject({ by: 'watch', data: { note: nasty } });
});
