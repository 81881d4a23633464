import { cpSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { AnyTool, Runtime, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { World } from '../../bench/crash/world.ts';
import type { Actor, Play } from '../durable/play.ts';
import { openPlay } from '../durable/play.ts';
import { envelope, expectSettledOnce } from '../stage.ts';
import { alterLedger } from '../alter-ledger.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

let play: Play;
const open: { runtime: Runtime; ledger: OpenLedger }[] = [];
beforeEach(async () => {
  play = await openPlay();
});
afterEach(async () => {
  for (const { runtime, ledger } of open.splice(0)) {
    await runtime.close();
    await ledger.close();
  }
  play.end();
});

/** A tool of this process, which counts its effects here. The world counts those of the process before. */
function counting(name: string, traits: object = {}): { tool: AnyTool; ran: string[]; keys: string[] } {
  const ran: string[] = [];
  const keys: string[] = [];
  const run: AnyTool['run'] = (_, { callId, idempotencyKey }) => {
    ran.push(callId);
    keys.push(idempotencyKey);
    return { ranAgain: callId };
  };
  return { tool: defineTool({ name, mode: 'external', ...traits, run }), ran, keys };
}

/** Another process on the same ledger: this one. */
async function comeAfter(
  tools: readonly AnyTool[],
  onConfirm?: Parameters<typeof createRuntime>[0]['onConfirm'],
): Promise<{ runtime: Runtime; ledger: OpenLedger }> {
  const ledger = await openLedger(play.ledger);
  const runtime = createRuntime({ tools, ledger, ...(onConfirm && { onConfirm }) });
  open.push({ runtime, ledger });
  return { runtime, ledger };
}

/** The files that dead processes have left. Every test gets its own copy. */
const left = new Map<string, Play>();
afterAll(() => {
  for (const scene of left.values()) scene.end();
});

/** The world in which that effect happened. */
let world: World;

/** A process that dies after the effect of its call, before it is recorded. */
async function dieAfterEffect(tool: string, args: Record<string, unknown> = {}): Promise<void> {
  const name = JSON.stringify([tool, args]);
  const scene = left.get(name) ?? (await openPlay());
  world = scene.world;
  if (!left.has(name)) {
    left.set(name, scene);
    const actor = await scene.start({ afterwards: 'hang', budget: 100 });
    void actor.call('a', tool, args).catch(() => undefined);
    await actor.reached;
    await actor.kill();
  }
  cpSync(scene.folder, play.folder, { recursive: true, filter: (path) => !path.endsWith('-shm') });
}

const unresolved = async (ledger: OpenLedger): Promise<string[]> =>
  (await findCalls(ledger, { unresolved: true })).rows.map(({ callId }) => callId);

const codeOf = (outcome: ToolOutcome): string => ('code' in outcome ? outcome.code : outcome.type);

describe('[no-silent-rerun] a process dies after the effect of its call', () => {
  it('[no-silent-rerun] a tool without declarations is not run again: its effect is unknown, and every caller learns that', async () => {
    await dieAfterEffect('pay');
    const { tool, ran } = counting('pay');
    const { runtime, ledger } = await comeAfter([tool]);
    expect(await runtime.recover()).toMatchObject([{ callId: 'a', how: 'indeterminate' }]);
    expect(await runtime.recover()).toEqual([]);
    const turn = runtime.turn({ sessionId: 's' });
    const told = await turn.call(envelope('a', 'pay'));
    expect(told).toMatchObject({ type: 'ToolFailure', code: 'tool.indeterminate', retryable: false });
    expect(JSON.stringify(await turn.call(envelope('a', 'pay')))).toBe(JSON.stringify(told));
    expect(await unresolved(ledger)).toEqual(['a']);
    expect([ran, world.count('a')]).toEqual([[], 1]);
    await expectSettledOnce(runtime);
  });

  it.each(['after recovery', 'without recovery'])(
    '[no-silent-rerun] the same call with another id is held for a person, %s',
    async (when) => {
      await dieAfterEffect('pay', { to: 'Ada' });
      const asked: string[] = [];
      const { tool, ran } = counting('pay');
      const { runtime } = await comeAfter([tool], ({ asks }) => {
        asked.push(...asks.map(({ code }) => code ?? ''));
        return { decision: 'deny', by: 'Ada' };
      });
      if (when === 'after recovery') await runtime.recover();
      const turn = runtime.turn({ sessionId: 's' });
      expect(codeOf(await turn.call(envelope('b', 'pay', { to: 'Ada' })))).toBe('confirmation.rejected');
      expect([asked, ran]).toEqual([['call.twin'], []]);
      // Another input is another effect.
      expect(codeOf(await turn.call(envelope('c', 'pay', { to: 'Bob' })))).toBe('ToolExecutionResult');
      expect([ran, world.count('a')]).toEqual([['c'], 1]);
      await expectSettledOnce(runtime);
    },
  );

  it('[no-silent-rerun] a process dies after the effect of its call and denied if the tool says so, also without recovery', async () => {
    await dieAfterEffect('pay', { to: 'Ada' });
    const { tool, ran } = counting('pay', { rerun: 'deny' });
    const { runtime } = await comeAfter([tool]);
    const told = await runtime.turn({ sessionId: 's' }).call(envelope('b', 'pay', { to: 'Ada' }));
    expect(told).toMatchObject({ type: 'ToolDenied', reason: 'duplicate', code: 'call.twin' });
    expect(ran).toEqual([]);
  });

  it('[no-silent-rerun] a key from the tool is not free either', async () => {
    await dieAfterEffect('order', { key: 'k' });
    const { tool, ran } = counting('order', {
      rerun: 'deny',
      idempotencyKey: () => 'k',
      idempotencyScope: 'ledger',
    });
    const { runtime } = await comeAfter([tool]);
    const told = await runtime.turn({ sessionId: 'other' }).call(envelope('b', 'order', { key: 'k' }));
    expect(codeOf(told)).toBe('call.twin');
    expect([ran, world.count('k')]).toEqual([[], 1]);
  });

  it('[no-silent-rerun] a repeat with its own id ends it first, without recovery', async () => {
    await dieAfterEffect('pay');
    const { tool, ran } = counting('pay');
    const { runtime } = await comeAfter([tool]);
    expect(codeOf(await runtime.turn({ sessionId: 's' }).call(envelope('a', 'pay')))).toBe(
      'tool.indeterminate',
    );
    expect(ran).toEqual([]);
  });

  it('[no-silent-rerun] a tool that is declared safe later does not make the lost attempt safe', async () => {
    await dieAfterEffect('pay');
    const { tool, ran } = counting('pay', { idempotent: true });
    const { runtime } = await comeAfter([tool]);
    expect(await runtime.recover()).toMatchObject([{ how: 'indeterminate' }]);
    expect(ran).toEqual([]);
  });

  it('[no-silent-rerun] a tool that was declared safe then and is not any more does not run either', async () => {
    await dieAfterEffect('put');
    const { tool, ran } = counting('put');
    const { runtime } = await comeAfter([tool]);
    expect(await runtime.recover()).toMatchObject([{ how: 'indeterminate' }]);
    expect(ran).toEqual([]);
  });

  it.each([
    ['idempotent', 'put', { idempotent: true }],
    ['reading under a limit', 'get_it', { mode: 'read', costMicros: 1 }],
  ])('[no-silent-rerun] one that is %s runs again, with the same key', async (_, name, traits) => {
    await dieAfterEffect(name);
    const { tool, ran, keys } = counting(name, traits);
    const { runtime, ledger } = await comeAfter([tool]);
    expect(await runtime.recover()).toMatchObject([{ callId: 'a', how: 'rerun' }]);
    expect([ran, keys]).toEqual([['a'], ['s/a']]);
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('a', name))).toMatchObject({
      output: { ranAgain: 'a' },
    });
    expect([ran, await unresolved(ledger)]).toEqual([['a'], []]);
    await expectSettledOnce(runtime);
  });
});

const throwing = (): never => {
  throw new Error('The service is down.');
};

describe('[no-silent-rerun] a tool with reconcile', () => {
  it.each<[string, () => unknown, string, string, boolean]>([
    [
      'it did',
      () => ({ status: 'succeeded', output: { paid: 5 } }),
      'reconciled',
      'ToolExecutionResult',
      false,
    ],
    [
      'it did not',
      () => ({ status: 'failed', reason: 'no money' }),
      'reconciled',
      'tool.execution_error',
      false,
    ],
    ['it cannot tell', () => ({ status: 'unknown' }), 'indeterminate', 'tool.indeterminate', true],
    ['it throws', throwing, 'indeterminate', 'tool.indeterminate', true],
    ['it gives junk', () => ({ status: 'perhaps' }), 'indeterminate', 'tool.indeterminate', true],
    ['it gives nothing', () => undefined, 'indeterminate', 'tool.indeterminate', true],
    ['it gives a text', () => 'succeeded', 'indeterminate', 'tool.indeterminate', true],
  ])('[no-silent-rerun] is asked, and never run: %s', async (_, reconcile, how, code, inDoubt) => {
    await dieAfterEffect('ask', { to: 'Ada' });
    const asked: unknown[] = [];
    const { tool, ran } = counting('ask', {
      reconcile: (attempt: { args: unknown; callId: string; attempt: number; idempotencyKey: string }) => {
        asked.push([attempt.args, attempt.callId, attempt.attempt, attempt.idempotencyKey]);
        return reconcile();
      },
    });
    const { runtime, ledger } = await comeAfter([tool]);
    expect(await runtime.recover()).toMatchObject([{ callId: 'a', how }]);
    const told = await runtime.turn({ sessionId: 's' }).call(envelope('a', 'ask', { to: 'Ada' }));
    expect(codeOf(told)).toBe(code);
    expect(asked).toEqual([[{ to: 'Ada' }, 'a', 1, 's/a']]);
    expect([ran, world.count('a'), await unresolved(ledger)]).toEqual([[], 1, inDoubt ? ['a'] : []]);
    await expectSettledOnce(runtime);
  });
});

describe('[no-silent-rerun] a slow process is not dead', () => {
  it('[no-silent-rerun] the call of a stopped process stays untouched, and settles when the process continues', async () => {
    const actor: Actor = await play.start({ afterwards: 'hang' });
    const told = actor.call('a', 'put');
    await actor.reached;
    await actor.stop();
    const { tool, ran } = counting('put', { idempotent: true });
    const { runtime } = await comeAfter([tool]);
    try {
      expect(await runtime.recover()).toEqual([]);
      const joined = runtime.turn({ sessionId: 's' }).call(envelope('a', 'put'));
      expect(await Promise.race([joined, delay(400, 'waits')])).toBe('waits');
      expect(await runtime.recover()).toEqual([]);
      actor.goOn();
      void actor.tell({ type: 'release' });
      expect(JSON.stringify(await joined)).toBe(JSON.stringify(await told));
    } finally {
      actor.goOn();
    }
    expect([ran, play.world.count('a')]).toEqual([[], 1]);
    await expectSettledOnce(runtime);
  });

  it('[no-silent-rerun] one that was overtaken anyway keeps its result as late', async () => {
    const owner = await openLedger(play.ledger);
    const effect = Promise.withResolvers<object>();
    const begun = Promise.withResolvers<undefined>();
    const slow = createRuntime({
      ledger: owner,
      tools: [
        defineTool({
          name: 'pay',
          mode: 'external',
          run: () => {
            begun.resolve(undefined);
            return effect.promise;
          },
        }),
      ],
    });
    const told = slow.turn({ sessionId: 's' }).call(envelope('a', 'pay'));
    await begun.promise;
    // A process that takes the owner for dead, as after its lock file was removed by hand.
    const { tool, ran } = counting('pay');
    const ledger = await openLedger(play.ledger);
    const hasty = alterLedger(ledger, { statusOf: async () => 'gone' });
    const runtime = createRuntime({ ledger: hasty, tools: [tool] });
    open.push({ runtime, ledger });
    expect(await runtime.recover()).toMatchObject([{ callId: 'a', how: 'indeterminate' }]);
    effect.resolve({ paid: 5 });
    expect(codeOf(await told)).toBe('tool.indeterminate');
    await slow.close();
    await owner.close();
    const [call] = await runtime.calls.list({ sessionId: 's', callId: 'a' });
    expect(call?.late).toMatchObject([{ result: { type: 'returned', output: { paid: 5 } } }]);
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });
});

describe('[no-silent-rerun] a person resolves it', () => {
  it.each([
    ['succeeded', 'it took effect', false],
    ['failed', 'it did not take effect', true],
    ['safe_to_retry', 'it may be asked for again', true],
  ] as const)(
    '[no-silent-rerun] a person resolves it as %s: the outcome stays, the first resolution counts, an identical call may run: %s, %s',
    async (resolution, words, mayRun) => {
      await dieAfterEffect('pay', { to: 'Ada' });
      const { tool, ran } = counting('pay', { rerun: 'deny' });
      const { runtime, ledger } = await comeAfter([tool]);
      const turn = runtime.turn({ sessionId: 's' });
      const before = await turn.call(envelope('a', 'pay', { to: 'Ada' }));
      const call = { sessionId: 's', callId: 'a' };
      await runtime.calls.reconcile(call, {
        resolution,
        by: 'Ada',
        reason: 'Looked it up.',
        result: { receipt: 7 },
      });
      const second = runtime.calls.reconcile(call, { resolution: 'succeeded', by: 'Bob' });
      await expect(second).rejects.toMatchObject({
        code: 'call.resolved',
        message: expect.stringContaining('Ada'),
      });
      const { modelNote, ...told } = await turn.call(envelope('a', 'pay', { to: 'Ada' }));
      expect(told).toEqual(before);
      expect(modelNote).toContain(words);
      expect(modelNote).toContain('{"receipt":7}');
      expect(await unresolved(ledger)).toEqual([]);
      const again = await runtime.turn({ sessionId: 's' }).call(envelope('b', 'pay', { to: 'Ada' }));
      expect(codeOf(again)).toBe(mayRun ? 'ToolExecutionResult' : 'call.twin');
      expect(ran).toEqual(mayRun ? ['b'] : []);
      await expectSettledOnce(runtime);
    },
  );

  it('[no-silent-rerun] a person resolves it of two processes that resolve at once one is first, and the other learns who', async () => {
    await dieAfterEffect('pay');
    const { tool } = counting('pay');
    const runtimes = [await comeAfter([tool]), await comeAfter([tool])].map(({ runtime }) => runtime);
    await Promise.all(runtimes.map((runtime) => runtime.recover()));
    const found = await Promise.allSettled(
      runtimes.map((runtime, index) =>
        runtime.calls.reconcile(
          { sessionId: 's', callId: 'a' },
          { resolution: index === 0 ? 'failed' : 'succeeded', by: `person ${index}` },
        ),
      ),
    );
    expect(found.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const winner = found.findIndex(({ status }) => status === 'fulfilled');
    const loser = found.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
    expect(String(loser.reason)).toContain(`person ${winner}`);
  });

  it('[no-silent-rerun] a call resolved as safe releases the key of the tool', async () => {
    await dieAfterEffect('order', { key: 'k' });
    const { tool, ran } = counting('order', {
      rerun: 'deny',
      idempotencyKey: () => 'k',
      idempotencyScope: 'ledger',
    });
    const { runtime } = await comeAfter([tool]);
    await runtime.recover();
    await runtime.calls.reconcile(
      { sessionId: 's', callId: 'a' },
      { resolution: 'safe_to_retry', by: 'Ada' },
    );
    const told = await runtime.turn({ sessionId: 'other' }).call(envelope('b', 'order', { key: 'k' }));
    expect([codeOf(told), ran]).toEqual(['ToolExecutionResult', ['b']]);
  });
});
