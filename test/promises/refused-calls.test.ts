/** Calls that the ledger never stored and that are never repeated. Through the public API. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool } from 'quittance';
import type { ToolAuditRecord } from 'quittance/events';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { createManualClock, forkSession } from 'quittance/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { failingLedger, has } from '../fail-writes.ts';
import { startServer } from '../http/start-server.ts';
import { runProgramHere } from '../run-program.ts';
import { auditKinds, deferred, envelope, eventsOf, expectSettledOnce, quiet } from '../stage.ts';

const ran: string[] = [];
const tool = (name: string, traits: object = {}): AnyTool =>
  defineTool({
    name,
    mode: 'external',
    run: (_, { callId }) => {
      ran.push(callId);
      return { did: callId };
    },
    ...traits,
  });
const tools = [
  tool('pay', { redact: { input: ['card'] } }),
  tool('look', { mode: 'read' }),
  tool('drop', { mode: 'destructive' }),
];

const secret = '4111-1111-1111-1111';
const principal = { userId: 'jwyxqthlkmvz' };
const refusedArgs = { card: secret, note: 'in the clear' };

const folders: string[] = [];
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-refused-'));
  folders.push(folder);
  return folder;
};
afterEach(() => {
  ran.length = 0;
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const failureOf = (boundary: string) => ({
  kind: 'persistence_failed',
  boundary,
  error: 'EIO: i/o error, write',
});

async function expectVerified(ledger: OpenLedger): Promise<void> {
  const findings: unknown[] = [];
  const startProgress = () => ({ step: () => undefined, done: () => undefined });
  const { signal } = new AbortController();
  await verifyLedger(ledger, undefined, { signal, startProgress }, async (found) => {
    findings.push(found);
  });
  expect(findings).toEqual([]);
}

describe('[nothing-lost] a call that the ledger never stored', () => {
  it.each([
    ['request', 'pay', { isGone: true }],
    ['request', 'no_such_tool', { failAt: () => true }],
    ['intent', 'pay', { failAt: has('tool.started') }],
    ['hold', 'drop', { failAt: has('tool.held') }],
  ] as const)('is on record once the ledger works, without a repeat: %s of %s', async (...given) => {
    const [boundary, name, failure] = given;
    const failing = failingLedger();
    const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
    Object.assign(failing, failure);
    const turn = runtime.turn({ sessionId: 's', principal });
    for (const _ of [1, 2]) await turn.call(envelope('a', name, refusedArgs));
    Object.assign(failing, { isGone: false, failAt: undefined });
    await runtime.turn({ sessionId: 'other' }).call(envelope('next', 'look'));
    const records = await runtime.calls.audit({ sessionId: 's', callId: 'a' });
    expect(records).toMatchObject([
      { callId: 'a', toolName: name, attempt: 0, principal, requestedInput: null },
    ]);
    expect(records.map(({ outcome }) => outcome)).toEqual([failureOf(boundary)]);
    expect(await runtime.calls.audit({ sessionId: 's' })).toEqual(records);
    // It is not a call, and nothing ran.
    expect(await runtime.calls.list({ sessionId: 's' })).toEqual([]);
    expect(await failing.ledger.readCall('s', 'a')).toBeUndefined();
    expect(ran).toEqual(['next']);
    const stored = JSON.stringify(await failing.ledger.readEntries({ limit: 100 }));
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain('in the clear');
    await expectVerified(failing.ledger);
  });

  it('is on record if only the spill failed', async () => {
    const failing = failingLedger();
    const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
    failing.hasNoRoom = true;
    const turn = runtime.turn({ sessionId: 's' });
    await turn.call(envelope('a', 'pay'));
    await turn.call(envelope('next', 'look'));
    expect(await runtime.calls.audit({ sessionId: 's', callId: 'a' })).toMatchObject([
      { outcome: { kind: 'persistence_failed', error: expect.stringContaining('no spill file') } },
    ]);
    expect(ran).toEqual(['next']);
  });

  it('is on record without another call, by a timer', async () => {
    const clock = createManualClock();
    const failing = failingLedger(createMemoryLedger({ clock }));
    const runtime = createRuntime({ ledger: failing.ledger, tools, clock });
    failing.isGone = true;
    await runtime.turn({ sessionId: 's' }).call(envelope('a', 'pay'));
    const failedAt = clock.now();
    clock.advance(1_500);
    await quiet();
    failing.isGone = false;
    expect(await runtime.calls.audit({ sessionId: 's' })).toEqual([]);
    clock.advance(3_000);
    await quiet();
    const [event, ...others] = await eventsOf(runtime, 'call.not_accepted');
    expect(event).toMatchObject({ refusedCallId: 'a', failedAt });
    expect(event?.at).toBeGreaterThan(failedAt);
    expect(others).toEqual([]);
  });

  it('is on record when the runtime closes, if the ledger works by then', async () => {
    for (const isGone of [false, true]) {
      const failing = failingLedger();
      const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
      failing.isGone = true;
      await runtime.turn({ sessionId: 's' }).call(envelope('a', 'pay'));
      failing.isGone = isGone;
      await runtime.close();
      failing.isGone = false;
      expect(await auditKinds(runtime, 'a')).toEqual(isGone ? [] : ['persistence_failed']);
    }
  });

  it('is on record when the runtime closes while others are being recorded', async () => {
    const clock = createManualClock();
    const failing = failingLedger(createMemoryLedger({ clock }));
    const runtime = createRuntime({ ledger: failing.ledger, tools, clock });
    const turn = runtime.turn({ sessionId: 's' });
    failing.isGone = true;
    await turn.call(envelope('a', 'pay'));
    const stuck = deferred();
    failing.before = (entry) => (has('call.not_accepted')(entry) ? stuck.promise : undefined);
    clock.advance(1_000);
    await quiet();
    await turn.call(envelope('b', 'pay', { n: 2 }));
    failing.isGone = false;
    const closed = runtime.close();
    await quiet();
    stuck.resolve();
    await closed;
    for (const callId of ['a', 'b'])
      expect(await auditKinds(runtime, callId)).toEqual(['persistence_failed']);
  });

  it('does not delay the outcome of the next call if its record hangs', async () => {
    const clock = createManualClock();
    const failing = failingLedger(createMemoryLedger({ clock }));
    const runtime = createRuntime({ ledger: failing.ledger, tools, clock });
    const turn = runtime.turn({ sessionId: 's' });
    failing.isGone = true;
    await turn.call(envelope('a', 'pay'));
    failing.isGone = false;
    const stuck = deferred();
    failing.before = (entry) => (has('call.not_accepted')(entry) ? stuck.promise : undefined);
    const next = turn.call(envelope('next', 'look'));
    await quiet();
    clock.advance(1_000);
    expect(await next).toMatchObject({ output: { did: 'next' } });
    expect(await auditKinds(runtime, 'a')).toEqual([]);
    stuck.resolve();
    await runtime.close();
    expect(await auditKinds(runtime, 'a')).toEqual(['persistence_failed']);
  });

  it('may be made again later, and its record stays one', async () => {
    const failing = failingLedger();
    const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
    const turn = runtime.turn({ sessionId: 's' });
    failing.isGone = true;
    await turn.call(envelope('a', 'pay', { n: 1 }));
    failing.isGone = false;
    await turn.call(envelope('next', 'look'));
    // Other arguments: the refused call holds nothing that this one could conflict with.
    expect(await turn.call(envelope('a', 'pay', { n: 2 }))).toMatchObject({ output: { did: 'a' } });
    expect(await auditKinds(runtime, 'a')).toEqual(['persistence_failed', 'completed']);
    expect((await runtime.calls.audit({ sessionId: 's' })).map(({ callId }) => callId)).toEqual([
      'next',
      'a',
      'a',
    ]);
    await expectSettledOnce(runtime);
    await expectVerified(failing.ledger);
  });

  it('is recorded once if it is repeated while it is being recorded', async () => {
    const failing = failingLedger();
    const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
    const turn = runtime.turn({ sessionId: 's' });
    failing.isGone = true;
    await turn.call(envelope('a', 'pay'));
    await turn.call(envelope('b', 'pay', { n: 2 }));
    failing.isGone = false;
    await Promise.all([
      turn.call(envelope('next', 'look')),
      turn.call(envelope('a', 'pay')),
      turn.call(envelope('next2', 'look', { n: 2 })),
    ]);
    await turn.call(envelope('b', 'pay', { n: 2 }));
    for (const callId of ['a', 'b'])
      expect(await auditKinds(runtime, callId)).toEqual(['persistence_failed', 'completed']);
    await expectSettledOnce(runtime);
  });

  it('is recorded by every process that refused it', async () => {
    const failing = failingLedger();
    const runtimes = [1, 2].map(() => createRuntime({ ledger: failing.ledger, clock: failing.clock, tools }));
    failing.isGone = true;
    for (const runtime of runtimes) await runtime.turn({ sessionId: 's' }).call(envelope('a', 'pay'));
    failing.isGone = false;
    for (const runtime of runtimes) await runtime.close();
    for (const runtime of runtimes)
      expect(await auditKinds(runtime, 'a')).toEqual(['persistence_failed', 'persistence_failed']);
    await expectVerified(failing.ledger);
  });
});

describe('[nothing-lost] many refused calls', () => {
  it('are listed up to a limit and counted beyond it', async () => {
    const failing = failingLedger();
    const runtime = createRuntime({ ledger: failing.ledger, clock: failing.clock, tools });
    failing.isGone = true;
    const turn = runtime.turn({ sessionId: 's' });
    const calls = Array.from({ length: 1_300 }, (_, n) => envelope(`c${n}`, 'pay', { n }));
    await Promise.all(calls.map((call) => turn.call(call)));
    // While the ledger fails, a refused call costs no write except its own.
    expect(failing.tried).toEqual([]);
    failing.isGone = false;
    await turn.call(envelope('next', 'look'));
    expect(await eventsOf(runtime, 'call.not_accepted')).toHaveLength(1_000);
    expect(await eventsOf(runtime, 'persistence.unlisted', 'quittance.ledger')).toMatchObject([
      { count: 300, error: 'EIO: i/o error, write' },
    ]);
    await expectVerified(failing.ledger);
  });

  it('many refused calls of one session that still fails do not delay those of others', async () => {
    const clock = createManualClock();
    const failing = failingLedger(createMemoryLedger({ clock }));
    const runtime = createRuntime({ ledger: failing.ledger, tools, clock });
    failing.isGone = true;
    for (const sessionId of ['bad', 'good']) await runtime.turn({ sessionId }).call(envelope('a', 'pay'));
    failing.isGone = false;
    failing.failAt = ({ sessionId }) => sessionId === 'bad';
    for (const _ of [1, 2]) {
      clock.advance(5_000);
      await quiet();
    }
    expect(await auditKinds(runtime, 'a', 'bad')).toEqual([]);
    expect(await auditKinds(runtime, 'a', 'good')).toEqual(['persistence_failed']);
    failing.failAt = undefined;
    clock.advance(30_000);
    await quiet();
    expect(await auditKinds(runtime, 'a', 'bad')).toEqual(['persistence_failed']);
  });
});

describe('[nothing-lost] a refused call can be found', () => {
  /** Makes the ledger refuse a call in session `s`; the ledger works again after it. */
  async function refuseOne(ledger: OpenLedger): Promise<void> {
    const failing = failingLedger(ledger);
    const runtime = createRuntime({ ledger: failing.ledger, tools });
    failing.failAt = () => true;
    await runtime.turn({ sessionId: 's', principal, parentSessionId: 'boss' }).call(envelope('a', 'pay'));
    failing.failAt = undefined;
    await runtime.close();
  }

  it('a refused call can be found by the command line, in a file that verifies, even after its text was erased', async () => {
    const path = join(newFolder(), 'ledger.db');
    const cli = (...args: string[]) => runProgramHere([...args, '--ledger', path]);
    let ledger = await openLedger(path);
    await refuseOne(ledger);
    await ledger.close();
    for (const session of [[], ['--session', 's']]) {
      const { code, out } = await cli('show', 'a', ...session);
      expect([code, out]).toEqual([0, expect.stringMatching(/not accepted[^]*pay[^]*EIO[^]*Nothing ran/)]);
    }
    const shown = await cli('show', 'a', '--json');
    expect(JSON.parse(shown.out)).toMatchObject({
      status: 'not_accepted',
      audit: [{ callId: 'a', outcome: { kind: 'persistence_failed', boundary: 'intent' } }],
    });
    expect((await cli('show', 'b')).code).not.toBe(0);
    expect((await cli('trace', 's')).out).toMatch(/pay a: not accepted, nothing ran/);
    expect(await cli('verify')).toMatchObject({ code: 0 });
    // Accepted later, the page of the call has the record too.
    ledger = await openLedger(path);
    const runtime = createRuntime({ ledger, tools });
    await runtime.turn({ sessionId: 's', parentSessionId: 'boss' }).call(envelope('a', 'pay'));
    await runtime.turn({ sessionId: 'boss' }).call(envelope('b', 'look'));
    await runtime.close();
    await ledger.erase({ sessionId: 's', by: 'ada', reason: 'asked to' });
    await ledger.close();
    const { audit: records } = JSON.parse((await cli('show', 'a', '--json')).out) as {
      audit: ToolAuditRecord[];
    };
    expect(records.map(({ outcome }) => outcome.kind)).toEqual(['persistence_failed', 'completed']);
    expect(JSON.stringify(records[0])).not.toMatch(/i\/o error|jwyxqthlkmvz/);
    expect((await cli('trace', 'boss')).out).toMatch(/not accepted/);
    expect(await cli('verify')).toMatchObject({ code: 0 });
  });

  it('a refused call can be found in a started fork, which may still be started again', async () => {
    const ledger = createMemoryLedger();
    const runtime = createRuntime({ ledger, tools });
    await runtime.turn({ sessionId: 'old' }).call(envelope('first', 'look'));
    const fork = { from: 'old', at: 1, as: 's', after: 'live', tools } as const;
    await forkSession(ledger, fork);
    await refuseOne(ledger);
    expect(await forkSession(ledger, fork)).toMatchObject({ sessionId: 's' });
    expect(await auditKinds(runtime, 'a')).toEqual(['persistence_failed']);
  });

  it('a refused call can be found through HTTP', async () => {
    const server = await startServer();
    try {
      await refuseOne(server.ledger);
      for (const filter of ['', '&sessionId=s&callId=a', '&kind=persistence_failed']) {
        const { body } = await server.get<{ records: readonly ToolAuditRecord[] }>(
          `/v1/audit?after=0${filter}`,
        );
        expect(body.records).toMatchObject([{ callId: 'a', sessionId: 's', outcome: failureOf('intent') }]);
      }
      const none = await server.get<{ records: unknown[] }>('/v1/audit?after=0&sessionId=s&callId=b');
      expect(none.body.records).toEqual([]);
    } finally {
      await server.close();
    }
  });
});
