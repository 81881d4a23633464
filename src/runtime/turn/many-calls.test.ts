/** Many calls made at once leave turns of the event loop to others. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
