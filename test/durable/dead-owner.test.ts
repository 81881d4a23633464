/** The owner of a call is dead and the ledger cannot be written: the answer then, and the record later. */
import type { Runtime, ToolOutcome } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { envelope, expectSettledOnce, quiet } from '../stage.ts';
import type { LedgerFile } from './ledger-file.ts';
import { openLedgerFile } from './ledger-file.ts';
import type { Play } from './play.ts';
import { openPlay } from './play.ts';
import { alterLedger } from '../alter-ledger.ts';

let play: Play;
const closing: (() => Promise<void>)[] = [];
beforeEach(async () => {
  play = await openPlay();
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  play.end();
});

type Stage = { readonly runtime: Runtime; readonly file: LedgerFile; readonly ran: string[] };

/** A later process. `spillBytes`: by default too few to spill anything. */
function comeAfter(spillBytes = 64): Stage {
  const file = openLedgerFile(play.ledger, spillBytes);
  const ran: string[] = [];
  const run = (_: unknown, { callId }: { callId: string }): number => ran.push(callId);
  const tools = [
    defineTool({ name: 'pay', mode: 'external', run }),
    defineTool({
      name: 'order',
      mode: 'external',
      idempotencyKey: (args) => (args as { key: string }).key,
      idempotencyScope: 'ledger',
      run,
    }),
    defineTool({ name: 'put', mode: 'external', idempotent: true, run }),
    defineTool({
      name: 'ask',
      mode: 'external',
      reconcile: () => ({ status: 'succeeded', output: 'found out' }),
      run,
    }),
  ];
  const runtime = createRuntime({ ledger: file.ledger, tools });
  closing.push(async () => {
    await runtime.close();
    await file.ledger.close();
  });
  return { runtime, file, ran };
}

/** A call whose body had its effect, and whose owner was killed before its end. */
async function dieOver(tool: string): Promise<void> {
  const actor = await play.start({ afterwards: 'hang' });
  void actor.call('a', tool).catch(() => undefined);
  await actor.reached;
  await actor.kill();
}

const ask = (runtime: Runtime, tool: string): Promise<ToolOutcome> =>
  runtime.turn({ sessionId: 's' }).call(envelope('a', tool));

const isSaid = { type: 'ToolFailure', code: 'tool.indeterminate', retryable: false };
/**
 * For a model: the same call with another id would be held if this one may have run and must not run twice.
 */
const isUnsaid = (tool: string) => ({
  type: 'ToolFailure',
  code: 'ledger.unavailable',
  retryable: tool === 'put',
  error: expect.stringContaining('which another process started, is not known yet') as string,
});

describe('[told-equals-kept] about a call whose owner is dead, while nothing can be written', () => {
  it.each(['the same process', 'another process'])(
    '[told-equals-kept] the answer is what %s records later, if nothing more can be found out',
    async (who) => {
      await dieOver('pay');
      const first = comeAfter();
      first.file.protect();
      const told = await Promise.all([ask(first.runtime, 'pay'), ask(first.runtime, 'pay')]);
      expect(told).toEqual([expect.objectContaining(isSaid), expect.objectContaining(isSaid)]);
      first.file.release();
      const { runtime, ran } = who === 'the same process' ? first : comeAfter();
      expect(await runtime.recover()).toMatchObject([{ callId: 'a', how: 'indeterminate' }]);
      expect(JSON.stringify(await ask(runtime, 'pay'))).toBe(JSON.stringify(told[0]));
      expect([ran, play.world.count('a')]).toEqual([[], 1]);
      await expectSettledOnce(runtime);
      await runtime.calls.reconcile({ sessionId: 's', callId: 'a' }, { resolution: 'succeeded', by: 'Ada' });
      expect(await ask(runtime, 'pay')).toMatchObject({
        ...isSaid,
        modelNote: expect.stringContaining('it took effect') as string,
      });
    },
  );

  it.each([
    ['ask', 'the same process'],
    ['ask', 'another process'],
    ['put', 'the same process'],
    ['put', 'another process'],
  ])(
    '[told-equals-kept] about a call of %s, which may still be found out, the answer says nothing that %s could contradict',
    async (tool, who) => {
      await dieOver(tool);
      const first = comeAfter();
      first.file.protect();
      expect(await Promise.all([ask(first.runtime, tool), ask(first.runtime, tool)])).toMatchObject([
        isUnsaid(tool),
        isUnsaid(tool),
      ]);
      await expect(first.runtime.recover()).rejects.toThrow(/is read-only|neither the ledger nor its spill/);
      expect(first.ran).toEqual([]);
      first.file.release();
      const { runtime, ran } = who === 'the same process' ? first : comeAfter();
      expect(await ask(runtime, tool)).toMatchObject({
        type: 'ToolExecutionResult',
        output: tool === 'ask' ? 'found out' : 1,
      });
      expect(ran).toEqual(tool === 'ask' ? [] : ['a']);
      await expectSettledOnce(runtime);
    },
  );

  it('[told-equals-kept] a spilled outcome is returned as it will be recorded, even by others', async () => {
    await dieOver('pay');
    const first = comeAfter(100_000);
    first.file.protect();
    const told = await ask(first.runtime, 'pay');
    expect(told).toMatchObject(isSaid);
    expect(JSON.stringify(await ask(first.runtime, 'pay'))).toBe(JSON.stringify(told));
    first.file.release();
    expect(JSON.stringify(await ask(first.runtime, 'pay'))).toBe(JSON.stringify(told));
    expect(JSON.stringify(await ask(comeAfter().runtime, 'pay'))).toBe(JSON.stringify(told));
    await expectSettledOnce(first.runtime);
  });

  it('[told-equals-kept] a tool is asked only once the takeover of its call is on record', async () => {
    await dieOver('ask');
    const first = comeAfter(100_000);
    first.file.protect();
    expect(await ask(first.runtime, 'ask')).toMatchObject(isUnsaid('ask'));
    first.file.release();
    expect(await ask(first.runtime, 'ask')).toMatchObject({ output: 'found out' });
    expect((await first.runtime.events.list({ sessionId: 's' })).map(({ type }) => type)).toContain(
      'tool.taken_over',
    );
    await expectSettledOnce(first.runtime);
  });

  it('[told-equals-kept] about a hand-off the answer says nothing that its deadline could contradict', async () => {
    const clock = createManualClock();
    const memory = createMemoryLedger({ clock });
    let isBroken = false;
    const ledger = alterLedger(memory, {
      append: (entry) => (isBroken ? Promise.reject(new Error('disk I/O error')) : memory.append(entry)),
    });
    const ship = defineTool({ name: 'ship', mode: 'external', handoff: true, timeoutMs: 1_000 });
    const runtime = createRuntime({ clock, ledger, tools: [ship] });
    const turn = runtime.turn({ sessionId: 's' });
    turn.submit(envelope('a', 'ship'));
    while ((await runtime.handoffs.list()).length === 0) await quiet();
    isBroken = true;
    clock.advance(2_000);
    await expect(turn.call(envelope('a', 'ship'))).rejects.toThrow(/Ask again with the same id/);
    expect(await turn.call(envelope('a', 'ship'))).toMatchObject(isUnsaid('ship'));
    isBroken = false;
    expect(await turn.call(envelope('a', 'ship'))).toMatchObject({ type: 'ToolTimeout' });
    await expectSettledOnce(runtime);
  });

  it('[told-equals-kept] another call with the same key is not accepted, and waits for nothing', async () => {
    const actor = await play.start({ afterwards: 'hang' });
    void actor.call('a', 'order', { key: 'k' }).catch(() => undefined);
    await actor.reached;
    await actor.kill();
    const { runtime, file, ran } = comeAfter();
    file.protect();
    const asked = runtime.turn({ sessionId: 's' }).call(envelope('b', 'order', { key: 'k' }));
    expect(await asked).toMatchObject({ code: 'ledger.unavailable' });
    expect(ran).toEqual([]);
  });
});
