/** What later processes do with the calls of a dead one: which continue, which wait, which leave it. */
import type { AnyTool, Runtime } from 'quittance';
import type { QuittanceEvent } from 'quittance/events';
import type { OnConfirm } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { deferred, envelope, expectSettledOnce, quiet } from '../stage.ts';
import type { Play } from './play.ts';
import { openPlay } from './play.ts';
import {
  findOpenCalls,
  readSealed,
  findCalls,
  readCounters,
  findGoneOwners,
} from '../../packages/quittance/src/ledger/reads.ts';

let play: Play;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  play = await openPlay();
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  play.end();
});

type Stage = { readonly runtime: Runtime; readonly ledger: OpenLedger; readonly ran: string[] };

async function comeAfter(
  names: readonly string[],
  run: (callId: string) => unknown = () => 'done',
): Promise<Stage> {
  const ledger = await openLedger(play.ledger, { spillBytes: 16_384 });
  const ran: string[] = [];
  const tool = (name: string): AnyTool =>
    defineTool({
      name,
      mode: name === 'get_it' ? 'read' : 'external',
      idempotent: name === 'put',
      run: (_, { callId }) => {
        ran.push(callId);
        return run(callId);
      },
    });
  const runtime = createRuntime({ ledger, tools: names.map(tool) });
  closing.push(async () => {
    await runtime.close();
    await ledger.close();
  });
  return { runtime, ledger, ran };
}

async function dieOver(tool: string): Promise<void> {
  const actor = await play.start({ afterwards: 'hang' });
  void actor.call('a', tool).catch(() => undefined);
  await actor.reached;
  await actor.kill();
}

describe('[one-outcome] a call whose owner is gone', () => {
  it('[one-outcome] is recovered by a recovery that was requested while another one was running', async () => {
    const begun = deferred();
    const gate = deferred<string>();
    const first = await play.start({ afterwards: 'hang' });
    void first.call('a', 'put').catch(() => undefined);
    await first.reached;
    const second = await play.start({ afterwards: 'hang' });
    void second.call('b', 'put').catch(() => undefined);
    await second.reached;
    await first.kill();
    const { runtime } = await comeAfter(['put'], () => {
      begun.resolve();
      return gate.promise;
    });
    const earlier = runtime.recover();
    await begun.promise;
    await second.kill();
    const later = runtime.recover();
    gate.resolve('done');
    expect((await earlier).map(({ callId }) => callId)).toEqual(['a']);
    expect((await later).map(({ callId }) => callId)).toEqual(['a', 'b']);
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] is recovered by a later caller if its owner started and died while a recovery was running', async () => {
    const begun = deferred();
    const gate = deferred<string>();
    await dieOver('put');
    const { runtime } = await comeAfter(['put', 'pay'], (callId) => {
      if (callId !== 'a') return 'done';
      begun.resolve();
      return gate.promise;
    });
    const earlier = runtime.recover();
    await begun.promise;
    const second = await play.start({ afterwards: 'hang' });
    void second.call('b', 'put').catch(() => undefined);
    await second.reached;
    await second.kill();
    const later = runtime.recover();
    // Later events do not make the later caller look further.
    await runtime.turn({ sessionId: 'other' }).call(envelope('c', 'pay'));
    gate.resolve('done');
    expect((await earlier).map(({ callId }) => callId)).toEqual(['a']);
    expect((await later).map(({ callId }) => callId)).toEqual(['a', 'b']);
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] that may run again is left by a process without the tool, and run by one that has it', async () => {
    const knows = await comeAfter(['put', 'pay']);
    await knows.runtime.turn({ sessionId: 's' }).call(envelope('before', 'pay', { n: 1 })); // has already looked
    await dieOver('put');
    const other = await comeAfter(['pay']);
    expect(await other.runtime.recover()).toMatchObject([{ callId: 'a', how: 'left' }]);
    expect((await findOpenCalls(other.ledger)).map(({ callId }) => callId)).toEqual(['a']);
    // The owner is not forgotten: the next turn of a process with the tool finds its call.
    await knows.runtime.turn({ sessionId: 's' }).call(envelope('after', 'pay', { n: 2 }));
    expect(await knows.runtime.turn({ sessionId: 's' }).call(envelope('a', 'put'))).toMatchObject({
      type: 'ToolExecutionResult',
    });
    expect([knows.ran, other.ran]).toEqual([expect.arrayContaining(['a', 'after']), []]);
    await expectSettledOnce(knows.runtime);
  });

  it('[one-outcome] that runs again delays no one else', async () => {
    await dieOver('put');
    const gate = deferred();
    const { runtime, ran } = await comeAfter(['put', 'pay'], (callId) =>
      callId === 'a' ? gate.promise : 'done',
    );
    const paid = await runtime.turn({ sessionId: 'other' }).call(envelope('b', 'pay'));
    expect(paid).toMatchObject({ output: 'done' });
    expect(ran).toContain('b');
    await eventually(() => expect(ran).toContain('a'));
    gate.resolve();
    await runtime.turn({ sessionId: 's' }).call(envelope('a', 'put'));
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] that was only requested is cancelled, and one that was submitted continues', async () => {
    const gone = await openLedger(play.ledger, { spillBytes: 16_384 });
    for (const [callId, submitted] of Object.entries({ asked: false, handed: true })) {
      const event: QuittanceEvent = {
        type: 'tool.requested',
        id: `evt_${callId}`,
        sessionId: 's',
        turnId: 't',
        callId,
        at: Date.now(),
        cause: undefined,
        toolName: 'pay',
        displayName: 'pay',
        mode: 'external',
        modeOrigin: 'declared',
        requestedInput: {},
        hidden: [],
        requestDigest: 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
        principal: undefined,
        provenance: undefined,
        attrs: undefined,
        submitted,
        schemaDigest: undefined,
        traceparent: undefined,
      };
      await gone.append({
        entryId: `ent_${callId}`,
        sessionId: 's',
        callId,
        expectedVersion: 0,
        events: [event],
      });
    }
    await gone.close();
    const { runtime, ran } = await comeAfter(['pay']);
    expect(await runtime.recover()).toMatchObject([
      { callId: 'asked', how: 'cancelled' },
      { callId: 'handed', how: 'resumed' },
    ]);
    expect(ran).toEqual(['handed']);
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('asked', 'pay'))).toMatchObject({
      code: 'tool.cancelled',
    });
    await expectSettledOnce(runtime);
  });
});

type Options = Omit<Parameters<typeof createRuntime>[0], 'ledger' | 'tools'>;

/** A process starts a call and dies without ending it, in the middle of its body or of a question. */
async function leaveOpen(tool: AnyTool, args: Record<string, unknown>, options: Options = {}): Promise<void> {
  const ledger = await openLedger(play.ledger, { spillBytes: 16_384 });
  const runtime = createRuntime({ ...options, ledger, tools: [tool] });
  void runtime
    .turn({ sessionId: 's' })
    .call(envelope('a', tool.name, args))
    .catch(() => undefined);
  while ((await findOpenCalls(ledger)).length === 0) await new Promise(setImmediate);
  await ledger.close();
}

async function returnWith(tool: AnyTool, options: Options = {}): Promise<Pick<Stage, 'runtime' | 'ledger'>> {
  const ledger = await openLedger(play.ledger, { spillBytes: 16_384 });
  const runtime = createRuntime({ ...options, ledger, tools: [tool] });
  closing.push(async () => {
    await runtime.close();
    await ledger.close();
  });
  return { runtime, ledger };
}

const never = (): Promise<never> => new Promise(() => undefined);

describe('[no-silent-rerun] a call that was left open', () => {
  it('[no-silent-rerun] stays held until a decision, runs with its hidden values, and leaves nothing sealed', async () => {
    const given: unknown[] = [];
    const remove = defineTool({
      name: 'delete_it',
      mode: 'destructive',
      run: (args) => given.push(args),
    });
    const args = { password: 'hunter2' };
    await leaveOpen(remove, args, { onConfirm: never });
    const { runtime, ledger } = await returnWith(remove);
    expect(await runtime.recover()).toMatchObject([{ callId: 'a', how: 'resumed' }]);
    for (let round = 0; round < 20; round++) await quiet(); // and delays nothing else
    expect(given).toEqual([]);
    expect(await readSealed(ledger, 's', 'a')).toMatch(/^v1\./);
    const [held] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    await runtime.confirmations.decide(held?.confirmationId ?? '', {
      decision: 'approve',
      by: 'Ada',
      inputDigest: held?.inputDigest ?? '',
    });
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('a', 'delete_it', args))).toMatchObject({
      type: 'ToolExecutionResult',
    });
    expect(given).toEqual([args]);
    expect(await readSealed(ledger, 's', 'a')).toBeUndefined();
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] is woken by a decision in another process, however much is written before it', async () => {
    const ran = deferred<unknown>();
    const remove = defineTool({ name: 'delete_it', mode: 'destructive', run: (args) => ran.resolve(args) });
    await leaveOpen(remove, { n: 1 }, { onConfirm: never });
    const { runtime } = await returnWith(remove);
    expect(await runtime.recover()).toMatchObject([{ callId: 'a', how: 'resumed' }]);
    const other = await returnWith(defineTool({ name: 'get_it', mode: 'read', run: () => 'got' }));
    const turn = other.runtime.turn({ sessionId: 'other' });
    await Promise.all(Array.from({ length: 1_500 }, (_, n) => turn.call(envelope(`r${n}`, 'get_it', { n }))));
    const [held] = (await other.runtime.confirmations.list({ status: 'pending' })).rows;
    await other.runtime.confirmations.decide(held?.confirmationId ?? '', {
      decision: 'approve',
      by: 'Ada',
      inputDigest: held?.inputDigest ?? '',
    });
    // No caller waits for it here.
    expect(await ran.promise).toEqual({ n: 1 });
    await runtime.turn({ sessionId: 's' }).call(envelope('a', 'delete_it', { n: 1 }));
    await expectSettledOnce(runtime);
  });

  it('[secrets-stay-out] runs with the values of a repair, and reveals none of them', async () => {
    const secret = 'sk-live-51Habcdefghijklmnopqrstu';
    const got: unknown[] = [];
    const open = async (onConfirm: OnConfirm): Promise<Stage> => {
      const ledger = await openLedger(play.ledger);
      const tool = defineTool({
        name: 'delete_it',
        input: z.object({ api_key: z.string() }),
        run: (args) => {
          got.push(args);
          return `used ${args.api_key}`;
        },
      });
      const repair = (): { api_key: string } => ({ api_key: secret });
      return { ledger, ran: [], runtime: createRuntime({ ledger, tools: [tool], onConfirm, repair }) };
    };
    const first = await open(() => new Promise(() => {}));
    void first.runtime.turn({ sessionId: 's' }).submit(envelope('a', 'delete_it', {}));
    while ((await findCalls(first.ledger, { status: 'held' })).rows.length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    await first.ledger.close();
    const second = await open(() => ({ decision: 'approve', by: 'ada' }));
    closing.push(async () => {
      await second.runtime.close();
      await second.ledger.close();
    });
    await second.runtime.recover();
    const outcome = await second.runtime.turn({ sessionId: 's' }).call(envelope('a', 'delete_it', {}));
    expect(got).toEqual([{ api_key: secret }]);
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: 'used [REDACTED]' });
  });

  it('[limits-hold] is charged what it had reserved', async () => {
    const pay = defineTool({ name: 'pay', mode: 'external', costMicros: 700, run: never });
    const budgets = [{ scope: 'session', costMicros: 10_000, toolCalls: 5 }] as const;
    await leaveOpen(pay, { password: 'hunter2' }, { budgets });
    const { runtime, ledger } = await returnWith(pay, { budgets });
    expect(await runtime.recover()).toMatchObject([{ how: 'indeterminate' }]);
    expect(await readCounters(ledger, ['session/"s"/cost_micros', 'session/"s"/tool_calls'])).toEqual([
      { used: 700, reserved: 0 },
      { used: 1, reserved: 0 },
    ]);
    // Its tool may still be asked. Once its end is known, nothing is left sealed.
    expect(await readSealed(ledger, 's', 'a')).toMatch(/^v1\./);
    await runtime.calls.reconcile({ sessionId: 's', callId: 'a' }, { resolution: 'failed', by: 'Ada' });
    expect(await readSealed(ledger, 's', 'a')).toBeUndefined();
  });

  it('[no-silent-rerun] is run again with the key of its tool', async () => {
    const keys: (string | undefined)[] = [];
    const put = (body: () => unknown): AnyTool =>
      defineTool({
        name: 'put',
        mode: 'external',
        idempotent: true,
        idempotencyKey: () => 'k',
        run: (_, { idempotencyKey }) => {
          keys.push(idempotencyKey);
          return body();
        },
      });
    await leaveOpen(put(never), {});
    const { runtime } = await returnWith(put(() => 'done'));
    expect(await runtime.recover()).toMatchObject([{ how: 'rerun' }]);
    expect(keys).toEqual(['k', 'k']);
  });

  it('[no-silent-rerun] is not run again with an input that its tool would now get in another form', async () => {
    const put = (type: 'string' | 'integer', run: () => unknown): AnyTool =>
      defineTool({
        name: 'put',
        mode: 'external',
        idempotent: true,
        input: { type: 'object', properties: { n: { type } }, required: ['n'] },
        run,
      });
    await leaveOpen(put('string', never), { n: '7' });
    let runs = 0;
    const { runtime } = await returnWith(put('integer', () => ++runs));
    expect(await runtime.recover()).toMatchObject([{ how: 'indeterminate' }]);
    expect(runs).toBe(0);
  });

  it('[secrets-stay-out] the text of a resolution is stored without its secrets', async () => {
    const secret = `sk-${'a1B2c3D4'.repeat(5)}`;
    const pay = defineTool({ name: 'pay', mode: 'external', run: never });
    await leaveOpen(pay, {});
    const { runtime, ledger } = await returnWith(pay);
    await runtime.recover();
    await runtime.calls.reconcile(
      { sessionId: 's', callId: 'a' },
      { resolution: 'succeeded', by: 'Ada', reason: `Seen with ${secret}.`, result: { seen: secret } },
    );
    const kept = JSON.stringify([await ledger.readSession('s'), await ledger.readEntries({ limit: 100 })]);
    expect(kept).toContain('Seen with ');
    expect(kept).not.toContain(secret);
  });

  it('[no-silent-rerun] is found by the first identical call, whether or not its owner left a trace', async () => {
    const pay = defineTool({ name: 'pay', mode: 'external', rerun: 'deny', run: never });
    await leaveOpen(pay, { sum: 5 });
    const { runtime, ledger } = await returnWith(pay);
    expect(await findGoneOwners(ledger)).toEqual([]);
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('b', 'pay', { sum: 5 }))).toMatchObject({
      type: 'ToolDenied',
      code: 'call.twin',
    });
  });
});
