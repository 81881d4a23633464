/**
 * Each test here fails under a mutation that survived an external run. Its title says what must hold.
 * Mutations that `npm run mutate` finds later are tested next to the changed code.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool } from 'quittance';
import type { Entry, OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, retry, ToolError } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openSqliteLedger } from '../../packages/quittance/src/store/sqlite/open-sqlite-ledger.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import { openPlay } from '../durable/play.ts';
import { failingLedger, has } from '../fail-writes.ts';
import { createMortalLedger } from '../mortal-ledger.ts';
import { question, refusal, yes } from '../people/question.ts';
import { documentOf } from '../sample-policy.ts';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { alterLedger } from '../alter-ledger.ts';
import {
  readCounters,
  readSealed,
  findGoneOwners,
  readHeads,
  readCursor,
  takeCursor,
  releaseCursor,
} from '../../packages/quittance/src/ledger/reads.ts';

const never = (): Promise<never> => new Promise(() => undefined);

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-survivors-'));
  folders.push(folder);
  return join(folder, 'ledger.db');
}

/** A ledger that delays appends of one kind until they are released. */
function delaying(
  inner: OpenLedger,
  waits: (entry: Entry) => boolean,
): { ledger: OpenLedger; goOn: () => void } {
  const gate = deferred();
  const ledger = alterLedger(inner, {
    append: async (entry) => {
      if (waits(entry)) await gate.promise;
      return inner.append(entry);
    },
  });
  return { ledger, goOn: () => gate.resolve() };
}

describe('a rerun of an attempt', () => {
  it('[no-silent-rerun] does not happen if another process was first', async () => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const ran: string[] = [];
    const start = (name: string, ledger: OpenLedger, body: () => unknown) =>
      createRuntime({
        clock,
        ledger,
        tools: [
          defineTool({
            name: 'put',
            mode: 'external',
            idempotent: true,
            run: () => {
              ran.push(name);
              return body();
            },
          }),
        ],
      });
    const owner = file.open();
    void start('owner', owner.ledger, never).turn({ sessionId: 's' }).call(envelope('a', 'put'));
    await quiet();
    owner.kill();
    const isStart = ({ events }: Entry): boolean => events.some(({ type }) => type === 'tool.started');
    const slow = delaying(file.open().ledger, isStart);
    const late = start('late', slow.ledger, () => 'late').recover();
    await quiet();
    const first = start('first', file.open().ledger, () => 'first');
    expect(await first.recover()).toMatchObject([{ callId: 'a', how: 'rerun' }]);
    slow.goOn();
    expect(await late).toEqual([]);
    expect(ran).toEqual(['owner', 'first']);
    await expectSettledOnce(first);
  });

  it('[no-silent-rerun] runs no code of the tool in a process that lost the call while it took it over', async () => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const asked: string[] = [];
    const start = (name: string, ledger: OpenLedger) =>
      createRuntime({
        clock,
        ledger,
        tools: [
          defineTool({
            name: 'put',
            mode: 'external',
            run: never,
            reconcile: () => {
              asked.push(name);
              return { status: 'succeeded', output: name };
            },
          }),
        ],
      });
    const owner = file.open();
    void start('owner', owner.ledger).turn({ sessionId: 's' }).call(envelope('a', 'put'));
    await quiet();
    owner.kill();
    const isTakeover = ({ events }: Entry): boolean => events.some(({ type }) => type === 'tool.taken_over');
    const slow = delaying(file.open().ledger, isTakeover);
    const late = start('late', slow.ledger).recover();
    await quiet();
    const first = start('first', file.open().ledger);
    expect(await first.recover()).toMatchObject([{ callId: 'a', how: 'reconciled' }]);
    slow.goOn();
    expect(await late).toEqual([]);
    expect(asked).toEqual(['first']);
    await expectSettledOnce(first);
  });

  it('[limits-hold] also costs what the lost attempt had reserved', async () => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const budgets = [{ scope: 'session', costMicros: 10_000, toolCalls: 5 }] as const;
    const put = (run: () => unknown): AnyTool =>
      defineTool({ name: 'put', mode: 'external', idempotent: true, costMicros: 700, run });
    const owner = file.open();
    const lost = createRuntime({ clock, ledger: owner.ledger, tools: [put(never)], budgets });
    void lost.turn({ sessionId: 's' }).call(envelope('a', 'put'));
    await quiet();
    owner.kill();
    const { ledger } = file.open();
    const runtime = createRuntime({ clock, ledger, tools: [put(() => 'done')], budgets });
    expect(await runtime.recover()).toMatchObject([{ how: 'rerun' }]);
    expect((await eventsOf(runtime, 'tool.responded')).at(-1)).toMatchObject({ costMicros: 1_400 });
    expect(await readCounters(ledger, ['session/"s"/cost_micros', 'session/"s"/tool_calls'])).toEqual([
      { used: 1_400, reserved: 0 },
      { used: 1, reserved: 0 },
    ]);
  });
});

describe('a ledger that fails', () => {
  it.each([
    ['runs again', { idempotent: true }],
    ['stays unresolved', {}],
    ['is told by its tool', { reconcile: () => ({ status: 'succeeded', output: 'sent' }) as const }],
  ])(
    '[nothing-lost] does not let a recovery report a call that %s if it could not store the end',
    async (_, traits) => {
      const clock = createManualClock();
      const file = createMortalLedger(clock);
      const put = (run: () => unknown): AnyTool =>
        defineTool({ name: 'put', mode: 'external', ...traits, run });
      const owner = file.open();
      void createRuntime({ clock, ledger: owner.ledger, tools: [put(never)] })
        .turn({ sessionId: 's' })
        .call(envelope('a', 'put'));
      await quiet();
      owner.kill();
      const failing = failingLedger(file.open().ledger, clock);
      failing.failAt = has('tool.responded');
      const runtime = createRuntime({ clock, ledger: failing.ledger, tools: [put(() => 'done')] });
      expect((await refusal(runtime.recover())).code).toBe('ledger.unavailable');
      const [call] = await runtime.calls.list({ sessionId: 's' });
      expect(call?.status).toBe('running');
    },
  );

  it('[no-silent-rerun] makes no other attempt after a failure that it could not store', async () => {
    const failing = failingLedger();
    failing.failAt = ({ events }) => events.some((event) => 'final' in event && event.final === false);
    let ran = 0;
    const { runtime, turn } = setStage({
      ledger: failing.ledger,
      clock: failing.clock,
      tools: [
        defineTool({
          name: 'get_it',
          mode: 'read',
          run: () => {
            ran++;
            throw new ToolError('tool.network_error', 'no route');
          },
        }),
      ],
      behaviors: [retry({ initialMs: 0, jitter: 0 })],
    });
    expect(await turn.call(envelope('c', 'get_it'))).toMatchObject({
      type: 'ToolFailure',
      code: 'tool.network_error',
    });
    expect(ran).toBe(1);
    expect(await eventsOf(runtime, 'tool.started')).toHaveLength(1);
    await expectSettledOnce(runtime);
  });
});

describe('a durable behavior whose cursor another reader took', () => {
  const get = defineTool({ name: 'get_it', mode: 'read', run: () => 'it' });
  const settleAll = async (): Promise<void> => {
    for (let round = 0; round < 10; round++) await quiet();
  };
  /** A behavior that hears calls, and the functions that another reader needs. */
  const setScene = (ledger: OpenLedger, clock: ManualClock) => {
    const { runtime, turn } = setStage({ ledger, clock, tools: [get] });
    const heard: string[] = [];
    const listen = runtime.events.on(
      { name: 'listen', on: 'tool.responded' },
      ({ callId }) => void heard.push(callId),
    );
    let calls = 0;
    const call = async (id: string): Promise<void> => {
      await turn.call(envelope(id, 'get_it', { n: calls++ }));
      await settleAll();
    };
    const takeAway = async (): Promise<void> => {
      await settleAll();
      const instead = (await readCursor(ledger, 'listen'))?.holder;
      await takeCursor(ledger, { name: 'listen', holder: 'other', instead, startAfter: 0 });
    };
    return { runtime, heard, listen, call, takeAway };
  };

  it('stops with its next event, even if its handler emits nothing', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const { runtime, heard, listen, call, takeAway } = setScene(ledger, clock);
    await call('a');
    await listen.caughtUp();
    await takeAway();
    const stored = await readCursor(ledger, 'listen');
    for (const id of ['b', 'c', 'd', 'e']) await call(id);
    // It learned of the loss when it stored that it had heard the second one.
    expect(heard).toEqual(['a', 'b']);
    expect(await readCursor(ledger, 'listen')).toEqual(stored);
    await runtime.close();
  });

  it('continues once the other reader lets go, although no event follows', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const { runtime, heard, listen, call, takeAway } = setScene(ledger, clock);
    await call('a');
    await listen.caughtUp();
    await takeAway();
    await call('b');
    await releaseCursor(ledger, 'listen', 'other');
    clock.advance(1_000);
    await settleAll();
    // The other reader stored nothing, so the event comes again.
    expect(heard).toEqual(['a', 'b', 'b']);
    await runtime.close();
  });

  it('hears nothing more if it only wanted to record what it was about to deliver', async () => {
    const clock = createManualClock();
    const inner = createMemoryLedger({ clock });
    await takeCursor(inner, { name: 'listen', holder: 'dead', startAfter: 0 });
    // The first reader has died, so the second one records each event before it delivers it.
    let isFirstGone = true;
    const ledger = alterLedger(inner, { statusOf: async () => (isFirstGone ? 'gone' : 'alive') });
    const { runtime, heard, call, takeAway } = setScene(ledger, clock);
    await settleAll();
    isFirstGone = false;
    await takeAway();
    for (const id of ['a', 'b']) await call(id);
    expect(heard).toEqual([]);
    await runtime.close();
  });
});

describe('an approval', () => {
  it('[no-silent-rerun] of a repeat is asked for every doubtful call that it may repeat: the one in its session, and the one with its key', async () => {
    const ran: string[] = [];
    const { runtime } = setStage({
      tools: [
        defineTool({
          name: 'order',
          mode: 'external',
          idempotencyKey: () => 'k',
          idempotencyScope: 'ledger',
          run: (_, { callId }) => {
            ran.push(callId);
            throw new Error('The connection broke.');
          },
        }),
      ],
    });
    const call = (sessionId: string, id: string) => runtime.turn({ sessionId }).call(envelope(id, 'order'));
    expect(await call('one', 'first')).toMatchObject({ type: 'ToolFailure' });
    const second = call('two', 'second');
    const open = await question(runtime, 'second');
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await second).toMatchObject({ type: 'ToolFailure' });
    // Its own session knows of the first call, and the key is that of the second.
    void call('one', 'third');
    const { asks } = await question(runtime, 'third');
    expect(asks.map(({ description }) => description)).toEqual([
      'Call first did the same, and it is unknown whether it took effect.',
      'Call second has the same idempotency key, and it is unknown whether it took effect.',
    ]);
    expect(ran).toEqual(['first', 'second']);
  });

  it('[secrets-stay-out] of other arguments without hidden values removes the sealed ones', async () => {
    const ran: unknown[] = [];
    const { ledger, runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'delete_it',
          input: z.object({ note: z.string(), token: z.string().optional() }),
          redact: { input: ['token'] },
          run: (args) => ran.push(args),
        }),
      ],
    });
    const told = turn.call(envelope('c', 'delete_it', { note: 'a', token: 'zylthorpwumq' }));
    const open = await question(runtime);
    expect(await readSealed(ledger, 's', 'c')).toBeDefined();
    const edit = {
      decision: 'edit',
      arguments: { note: 'b' },
      by: 'ada',
      inputDigest: open.inputDigest,
    } as const;
    await runtime.confirmations.decide(open.confirmationId, edit);
    // Before anything else is stored for the call.
    expect(await readSealed(ledger, 's', 'c')).toBeUndefined();
    expect(await told).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual([{ note: 'b' }]);
  });

  it('[bound-approval] that was not used in time is listed as expired, and not as approved', async () => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const ran: string[] = [];
    const start = (tools: readonly AnyTool[]) => {
      const { ledger, kill } = file.open();
      return { runtime: createRuntime({ clock, ledger, tools, holdTimeoutMs: 10_000 }), kill };
    };
    const remove = defineTool({ name: 'delete_it', run: () => ran.push('ran') });
    const holder = start([remove]);
    void holder.runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'));
    const open = await question(holder.runtime);
    holder.kill();
    const desk = start([]);
    await desk.runtime.confirmations.decide(open.confirmationId, yes(open));
    desk.kill();
    clock.advance(10_000);
    const { runtime } = start([remove]);
    await runtime.recover();
    const listed = async (status: 'approved' | 'expired' | 'pending'): Promise<string[]> =>
      (await runtime.confirmations.list({ status })).rows.map(({ confirmationId }) => confirmationId);
    expect(await listed('expired')).toEqual([open.confirmationId]);
    expect([await listed('approved'), await listed('pending')]).toEqual([[], []]);
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect(call?.confirmation?.status).toBe('expired');
    expect(call?.settled?.outcome).toMatchObject({ type: 'ToolDenied', code: 'confirmation.expired' });
    expect(ran).toEqual([]);
  });
});

describe('a standing grant', () => {
  it('[bound-approval] that ends while its giver is looked up lets nothing run', async () => {
    const ran: unknown[] = [];
    let given = false;
    const { clock, runtime, turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => ran.push('ran') })],
      mayGrant: () => {
        if (given) clock.advance(1_000);
        return true;
      },
    });
    await runtime.grants.give({ sessionId: 's', toolName: 'delete_it', by: 'ada', forMs: 1_000 });
    given = true;
    turn.submit(envelope('c', 'delete_it'));
    expect(await question(runtime)).toMatchObject({ callId: 'c', status: 'pending' });
    expect(ran).toEqual([]);
  });
});

describe('a dead process', () => {
  it('[one-outcome] is forgotten once its calls have ended, so that no later turn looks for it', async () => {
    const play = await openPlay();
    try {
      const actor = await play.start({ afterwards: 'hang' });
      void actor.call('a', 'pay').catch(() => undefined);
      await actor.reached;
      await actor.kill();
      const ledger = await openLedger(play.ledger, { spillBytes: 16_384 });
      expect(await findGoneOwners(ledger)).toHaveLength(1);
      const runtime = createRuntime({ ledger, tools: [] });
      expect(await runtime.recover()).toMatchObject([{ callId: 'a', how: 'indeterminate' }]);
      expect(await findGoneOwners(ledger)).toEqual([]);
      await runtime.close();
      await ledger.close();
    } finally {
      play.end();
    }
  });
});

describe('a session that another process removes', () => {
  it('[one-outcome] is gone here as well, and starts over when it is used again', async () => {
    const path = newFile();
    const here = await openSqliteLedger(path);
    const there = await openSqliteLedger(path);
    await here.append(new SampleCall('c').whole());
    expect(await here.readCall('session', 'c')).toBeDefined();
    expect(await there.dropSession({ sessionId: 'session', by: 'ada', reason: 'room' })).toBe(true);
    await quiet();
    expect(await here.readCall('session', 'c')).toBeUndefined();
    expect(await here.readSession('session')).toEqual([]);
    // The same call is a new one, at the start of a new chain.
    expect(await here.append(new SampleCall('c').whole())).toEqual({
      status: 'appended',
      version: 1,
    });
    const head = (await readHeads(here)).find(({ sessionId }) => sessionId === 'session');
    expect(head?.sequence).toBe(1);
    expect((await there.readCall('session', 'c'))?.version).toBe(1);
    await here.close();
    await there.close();
  });
});

describe('a hand-off', () => {
  const mail = defineTool({ name: 'mail', mode: 'external', handoff: true, timeoutMs: 60_000 });
  const taken = { sessionId: 's', callId: 'c' };

  it('[no-silent-rerun] is leased no longer than its deadline, whatever the worker requests', async () => {
    const { clock, runtime, turn } = setStage({ tools: [mail] });
    const told = turn.call(envelope('c', 'mail'));
    await quiet();
    clock.advance(20_000);
    const claim = await runtime.handoffs.claim(taken, { worker: 'w', leaseMs: 3_600_000 });
    expect(claim.expiresAt).toBe(claim.deadlineMs);
    expect(claim.expiresAt).toBe(clock.now() + 40_000);
    expect(await runtime.handoffs.list()).toMatchObject([{ status: 'taken', expiresAt: claim.deadlineMs }]);
    clock.advance(40_000);
    expect(await told).toMatchObject({ type: 'ToolTimeout' });
    expect(await runtime.handoffs.report(claim.token, { output: 'sent' })).toMatchObject({ status: 'late' });
    await expectSettledOnce(runtime);
  });

  it('[limits-hold] that was never claimed counts as an attempt: only the reservation of the call is returned', async () => {
    const rule = {
      id: 'once',
      type: 'session',
      limits: { max_attempts: 1 },
      // oxlint-disable-next-line unicorn/no-thenable -- `then` is a word of the language
      then: { action: 'block', message: 'once is reached' },
    };
    const contracts = contractsFromYamlString(JSON.stringify(documentOf([rule])));
    const { clock, ledger, runtime, turn } = setStage({
      tools: [mail],
      contracts,
      budgets: [{ scope: 'session', toolCalls: 5 }],
    });
    const first = turn.call(envelope('c', 'mail'));
    await quiet();
    clock.advance(60_000);
    expect(await first).toMatchObject({ type: 'ToolTimeout' });
    expect(await readCounters(ledger, ['session/"s"/contract/attempts', 'session/"s"/tool_calls'])).toEqual([
      { used: 1, reserved: 0 },
      { used: 0, reserved: 0 },
    ]);
    const again = runtime.turn({ sessionId: 's' }).call(envelope('d', 'mail', { to: 'Bob' }));
    expect(await again).toMatchObject({ type: 'ToolDenied', details: 'once is reached' });
  });
});

describe('a key from the tool', () => {
  it.each(['safe_to_retry', 'failed'] as const)(
    '[no-silent-rerun] is free for the next call once its call is resolved as %s, even by a process without the tool',
    async (resolution) => {
      const clock = createManualClock();
      const file = createMortalLedger(clock);
      const ran: string[] = [];
      const order = (run: (callId: string) => unknown): AnyTool =>
        defineTool({
          name: 'order',
          mode: 'external',
          rerun: 'deny',
          idempotencyKey: () => 'k',
          idempotencyScope: 'ledger',
          run: (_, { callId }) => run(callId),
        });
      const owner = file.open();
      const lost = createRuntime({ clock, ledger: owner.ledger, tools: [order(never)] });
      void lost.turn({ sessionId: 's' }).call(envelope('a', 'order'));
      await quiet();
      owner.kill();
      const desk = createRuntime({ clock, ledger: file.open().ledger, tools: [] });
      await desk.recover();
      await desk.calls.reconcile({ sessionId: 's', callId: 'a' }, { resolution, by: 'Ada' });
      const runtime = createRuntime({
        clock,
        ledger: file.open().ledger,
        tools: [order((callId) => ran.push(callId))],
      });
      expect(await runtime.turn({ sessionId: 'other' }).call(envelope('b', 'order'))).toMatchObject({
        type: 'ToolExecutionResult',
      });
      // From now on the key belongs to the call that ran.
      expect(await runtime.turn({ sessionId: 'third' }).call(envelope('c', 'order'))).toMatchObject({
        type: 'ToolExecutionResult',
        output: 1,
      });
      expect(ran).toEqual(['b']);
    },
  );

  it('[no-silent-rerun] stays with its call once that is resolved as succeeded', async () => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const ran: string[] = [];
    const order = (run: (callId: string) => unknown): AnyTool =>
      defineTool({
        name: 'order',
        mode: 'external',
        rerun: 'deny',
        idempotencyKey: () => 'k',
        idempotencyScope: 'ledger',
        run: (_, { callId }) => run(callId),
      });
    const owner = file.open();
    void createRuntime({ clock, ledger: owner.ledger, tools: [order(never)] })
      .turn({ sessionId: 's' })
      .call(envelope('a', 'order'));
    await quiet();
    owner.kill();
    const runtime = createRuntime({
      clock,
      ledger: file.open().ledger,
      tools: [order((callId) => ran.push(callId))],
    });
    await runtime.recover();
    await runtime.calls.reconcile(
      { sessionId: 's', callId: 'a' },
      { resolution: 'succeeded', by: 'Ada', result: 'sent' },
    );
    expect(await runtime.turn({ sessionId: 'other' }).call(envelope('b', 'order'))).toMatchObject({
      type: 'ToolDenied',
      code: 'call.twin',
    });
    expect(ran).toEqual([]);
  });

  it('[no-silent-rerun] is free for other arguments too once its call is resolved as safe to retry', async () => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const order = (run: () => unknown): AnyTool =>
      defineTool({ name: 'order', mode: 'external', rerun: 'deny', idempotencyKey: () => 'k', run });
    const owner = file.open();
    const lost = createRuntime({ clock, ledger: owner.ledger, tools: [order(never)] });
    void lost.turn({ sessionId: 's' }).call(envelope('a', 'order', { n: 1 }));
    await quiet();
    owner.kill();
    const runtime = createRuntime({ clock, ledger: file.open().ledger, tools: [order(() => 'done')] });
    await runtime.recover();
    const turn = runtime.turn({ sessionId: 's' });
    expect(await turn.call(envelope('b', 'order', { n: 2 }))).toMatchObject({ code: 'call.conflict' });
    await runtime.calls.reconcile(
      { sessionId: 's', callId: 'a' },
      { resolution: 'safe_to_retry', by: 'Ada' },
    );
    expect(await turn.call(envelope('c', 'order', { n: 2 }))).toMatchObject({ output: 'done' });
  });
});
