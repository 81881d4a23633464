/** Many calls made at once leave turns of the event loop to others. Many held calls leave memory to others. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';

const folder = mkdtempSync(join(tmpdir(), 'quittance-many-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const callers = new AsyncLocalStorage<string>();

async function setUp(name: string) {
  const begun: { readonly call: string; readonly caller: string | undefined; readonly loopTurn: number }[] =
    [];
  let loopTurn = 0;
  let isOver = false;
  const count = (): void => {
    loopTurn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const look = defineTool({
    name: 'look',
    input: z.object({ call: z.string() }),
    mode: 'read',
    run: async ({ call }) => {
      begun.push({ call, caller: callers.getStore(), loopTurn });
      return { call };
    },
  });
  const ledger = await openLedger(`sqlite:${join(folder, `${name}.db`)}`);
  const runtime = createRuntime({ tools: [look], ledger });
  return {
    begun,
    turn: runtime.turn({ sessionId: 'session' }),
    close: async (): Promise<void> => {
      isOver = true;
      await runtime.close();
      await ledger.close();
    },
  };
}

const ids = Array.from({ length: 500 }, (_, n) => `call-${n}`);

test('they start in order, a part in each turn, each in the context of its caller', async () => {
  const { begun, turn, close } = await setUp('order');
  try {
    const outcomes = await Promise.all(
      ids.map((id) =>
        callers.run(`caller of ${id}`, () => turn.call({ id, name: 'look', arguments: { call: id } })),
      ),
    );
    expect(outcomes.filter(({ type }) => type !== 'ToolExecutionResult')).toEqual([]);
    expect(begun.map(({ call }) => call)).toEqual(ids);
    expect(begun.filter(({ call, caller }) => caller !== `caller of ${call}`)).toEqual([]);
    const inTurn = new Map<number, number>();
    for (const { loopTurn } of begun) inTurn.set(loopTurn, (inTurn.get(loopTurn) ?? 0) + 1);
    expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(64);
  } finally {
    await close();
  }
});

test('one that waits is joined by a repeat, and ends without running if it is cancelled', async () => {
  const { begun, turn, close } = await setUp('cancel');
  try {
    const call = (id: string) => turn.call({ id, name: 'look', arguments: { call: id } });
    const made = ids.map(call);
    const repeated = call('call-499');
    expect(turn.cancel('call-498', 'not needed')).toBe(true);
    expect(await repeated).toEqual(await made[499]);
    expect(await made[498]).toMatchObject({ type: 'ToolFailure', code: 'tool.cancelled' });
    await Promise.all(made);
    expect(begun).toHaveLength(499);
    expect(begun.map((each) => each.call)).not.toContain('call-498');
  } finally {
    await close();
  }
});

test('many calls that wait for a person keep little in memory, and their arguments only on record', async () => {
  setFlagsFromString('--expose-gc');
  // The function is only in contexts that were created after the flag was set.
  const collect = runInNewContext('gc') as () => void;
  const seen: string[] = [];
  const pay = defineTool({
    name: 'pay',
    input: z.object({ note: z.string() }),
    mode: 'destructive',
    run: ({ note }) => {
      seen.push(note);
      return 'paid';
    },
  });
  const ledger = await openLedger(`sqlite:${join(folder, 'held.db')}`);
  const runtime = createRuntime({ tools: [pay], ledger });
  const turn = runtime.turn({ sessionId: 'session' });
  const noteOf = (n: number): string => `${n} ${'payment '.repeat(1_500)}`;
  const callOf = (n: number) => ({ id: `call-${n}`, name: 'pay', arguments: { note: noteOf(n) } });
  const made: Promise<unknown>[] = [];
  /** Makes 200 calls, waits until they are held, and returns the bytes in use. */
  const hold = async (): Promise<number> => {
    const numbers = Array.from({ length: 200 }, (_, n) => made.length + n);
    made.push(...numbers.map((n) => turn.call(callOf(n)).catch(() => 'left')));
    for (const n of numbers) await turn.ask(callOf(n));
    await pause(0);
    collect();
    return process.memoryUsage().heapUsed;
  };
  const bytes = [await hold(), await hold(), await hold()] as const;
  // The lesser of two, because other code may take memory meanwhile. The arguments of a call are 12,000 characters.
  const bytesPerCall = Math.min(bytes[1] - bytes[0], bytes[2] - bytes[1]) / 200;
  // Measured: 3,500.
  expect(bytesPerCall).toBeLessThan(7_000);

  const { confirmationId = '' } = (await turn.ask(callOf(300))) ?? {};
  const [view] = (await runtime.confirmations.list({ confirmationId })).rows;
  const inputDigest = view?.inputDigest ?? '';
  await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'ada', inputDigest });
  expect(await made[300]).toMatchObject({ type: 'ToolExecutionResult', output: 'paid' });
  expect(seen).toEqual([noteOf(300)]);
  await runtime.close();
  await Promise.all(made);
  await ledger.close();
});
