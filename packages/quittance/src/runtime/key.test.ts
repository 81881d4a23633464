import type { ToolSpec } from 'quittance';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { contractsFromYamlString } from 'quittance/contracts';
import { describe, expect, it } from 'vitest';
import {
  deferred,
  envelope,
  eventsOf,
  eventTypes,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';
import { readWholeArtifact } from '../ledger/reads.ts';

type Traits = Partial<
  Pick<
    ToolSpec<string, undefined, undefined, unknown>,
    'idempotent' | 'idempotencyScope' | 'rerun' | 'inlineLimit'
  >
>;

function keyed(run: (n: number) => unknown, traits: Traits = {}) {
  let runs = 0;
  const keys: string[] = [];
  const tool = defineTool({
    name: 'pay',
    idempotencyKey: ({ order }) => `order:${order as string}`,
    timeoutMs: 100,
    ...traits,
    run: (_, context) => {
      keys.push(context.idempotencyKey);
      return run(++runs);
    },
  });
  return { tool, keys, runs: () => runs };
}

describe('an idempotency key from the tool', () => {
  it('reaches the body; the default is session and call id', async () => {
    const { tool, keys } = keyed(() => 'paid');
    const own: string[] = [];
    const { turn } = setStage({
      tools: [tool, defineTool({ name: 'other', run: (_, context) => own.push(context.idempotencyKey) })],
    });
    await turn.call(envelope('a', 'pay', { order: '7' }));
    await turn.call(envelope('b/ü', 'other'));
    expect([keys, own]).toEqual([['order:7'], ['s/b%2F%C3%BC']]);
  });

  it('stays with the call that claimed it when later calls with it are denied', async () => {
    const { tool, runs } = keyed((n) => ({ receipt: n }));
    const { turn } = setStage({ tools: [tool] });
    const first = await turn.call(envelope('a', 'pay', { order: '7' }));
    for (const id of ['b', 'c'])
      expect(await turn.call(envelope(id, 'pay', { order: '7', cents: 5 }))).toMatchObject({
        code: 'call.conflict',
      });
    expect(await turn.call(envelope('d', 'pay', { order: '7' }))).toEqual({ ...first, callId: 'd' });
    expect(runs()).toBe(1);
  });

  it('answers a second call with a copy of the outcome: only the id differs', async () => {
    const { tool, runs } = keyed((n) => ({ receipt: n }));
    const { clock, runtime, turn } = setStage({ tools: [tool] });
    const first = await turn.call(envelope('a', 'pay', { order: '7' }));
    clock.advance(5_000);
    const copy = await runtime.turn({ sessionId: 's' }).call(envelope('b', 'pay', { order: '7' }));
    expect(JSON.stringify(copy)).toBe(JSON.stringify({ ...first, callId: 'b' }));
    expect(runs()).toBe(1);
    expect(await runtime.calls.audit({ sessionId: 's', callId: 'b' })).toMatchObject([
      { attempt: 0, toolSuccess: true, outcome: { kind: 'cached' } },
    ]);
    expect(await eventTypes(runtime, 'b')).toEqual([
      'tool.requested',
      'tool.decided',
      'tool.recalled',
      'tool.responded',
    ]);
    const calls = await runtime.calls.list({ sessionId: 's' });
    expect(calls.map(({ attempt, copiedFrom }) => [attempt, copiedFrom])).toEqual([
      [1, undefined],
      [0, 'a'],
    ]);
    expect(await turn.call(envelope('b', 'pay', { order: '7' }))).toEqual(copy);
    await expectSettledOnce(runtime);
  });

  it('makes a call with other arguments a conflict, which is that call’s outcome', async () => {
    const { tool, runs } = keyed(() => 'paid');
    const { runtime, turn } = setStage({ tools: [tool] });
    await turn.call(envelope('a', 'pay', { order: '7', cents: 5 }));
    expect(await turn.call(envelope('b', 'pay', { order: '7', cents: 6 }))).toMatchObject({
      type: 'ToolDenied',
      reason: 'conflict',
      details: expect.stringContaining('Nothing ran: call a ') as string,
    });
    expect(runs()).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('joins a running call: many calls at once run once', async () => {
    const body = deferred<string>();
    const { tool, runs } = keyed(() => body.promise);
    const { runtime, turn } = setStage({ tools: [tool] });
    const asked = Array.from({ length: 20 }, (_, n) => turn.call(envelope(`c${n}`, 'pay', { order: '7' })));
    await quiet();
    body.resolve('paid');
    const outcomes = await Promise.all(asked);
    expect(runs()).toBe(1);
    expect(outcomes.map(({ callId }) => callId)).toEqual(asked.map((_, n) => `c${n}`));
    expect(new Set(outcomes.map((outcome) => 'output' in outcome && outcome.output))).toEqual(
      new Set(['paid']),
    );
    await expectSettledOnce(runtime);
  });

  it('lets a call wait for the holder only until its turn ends or it is cancelled', async () => {
    const body = deferred<string>();
    const { tool } = keyed(() => body.promise, { idempotent: true });
    const { clock, runtime, turn } = setStage({ tools: [tool] });
    const first = turn.call(envelope('a', 'pay', { order: '7' }));
    await quiet();
    const short = runtime.turn({ sessionId: 's', timeoutMs: 50 }).call(envelope('b', 'pay', { order: '7' }));
    const given = turn.call(envelope('c', 'pay', { order: '7' }));
    await quiet();
    turn.cancel('c');
    clock.advance(50);
    expect(await short).toMatchObject({ reason: 'deadline' });
    expect(await given).toMatchObject({ code: 'tool.cancelled' });
    body.resolve('paid');
    expect(await first).toMatchObject({ output: 'paid' });
    await expectSettledOnce(runtime);
  });

  it.each<[string, Traits, () => unknown, number]>([
    [
      'free again after a retryable failure of a tool that may run again',
      { idempotent: true },
      () => Promise.reject(new Error('x')),
      2,
    ],
    ['free again after an error the tool reported', {}, () => ({ error: 'no money' }), 2],
    [
      'free again after a failure its author calls safe',
      {},
      () => Promise.reject(new ToolError('tool.network_error', 'x', { retryable: true })),
      2,
    ],
    ['taken after a success', {}, () => 'paid', 1],
  ])('is %s', async (_, traits, first, expected) => {
    const { tool, runs } = keyed((n) => (n === 1 ? first() : 'paid'), traits);
    const { runtime, turn } = setStage({ tools: [tool] });
    await turn.call(envelope('a', 'pay', { order: '7' }));
    expect(await turn.call(envelope('b', 'pay', { order: '7' }))).toMatchObject({ output: 'paid' });
    expect(runs()).toBe(expected);
    await expectSettledOnce(runtime);
  });

  it('asks a person when the effect of the first call is unknown, and moves to the new call on approval', async () => {
    const asked: string[] = [];
    const { tool, runs } = keyed((n) => (n === 1 ? new Promise(() => undefined) : { receipt: n }));
    const { clock, turn } = setStage({
      tools: [tool],
      onConfirm: ({ callId, asks }) => {
        asked.push(`${callId} ${asks.map(({ code }) => code).join()}`);
        return { decision: 'approve', by: 'ada' };
      },
    });
    const first = turn.call(envelope('a', 'pay', { order: '7' }));
    await quiet();
    clock.advance(100);
    expect(await first).toMatchObject({ type: 'ToolTimeout' });
    expect(await turn.call(envelope('b', 'pay', { order: '7' }))).toMatchObject({ output: { receipt: 2 } });
    expect(asked).toEqual(['b call.twin']);
    expect(runs()).toBe(2);
    expect(await turn.call(envelope('c', 'pay', { order: '7' }))).toMatchObject({ callId: 'c' });
    expect(runs()).toBe(2);
  });

  it('applies to one session unless the tool declares the scope of the whole ledger', async () => {
    for (const [scope, expected] of [
      ['session', 2],
      ['ledger', 1],
    ] as const) {
      const ledger = createMemoryLedger();
      const { tool, runs } = keyed((n) => ({ receipt: n }), { idempotencyScope: scope });
      const outcomes = await Promise.all(
        ['s1', 's2'].map((sessionId) =>
          createRuntime({ ledger, tools: [tool] })
            .turn({ sessionId })
            .call(envelope('c', 'pay', { order: '7' })),
        ),
      );
      expect(runs()).toBe(expected);
      expect(outcomes.every(({ type }) => type === 'ToolExecutionResult')).toBe(true);
    }
  });

  it('copies a large output into another session, and leaves the original in place', async () => {
    const { tool } = keyed(() => 'x'.repeat(100), { idempotencyScope: 'ledger', inlineLimit: 10 });
    const { runtime, turn } = setStage({ tools: [tool] });
    const other = runtime.turn({ sessionId: 'other' });
    const first = await turn.call(envelope('a', 'pay', { order: '7' }));
    const copy = await other.call(envelope('b', 'pay', { order: '7' }));
    expect(copy).toEqual({ ...first, callId: 'b' });
    const artifactId = 'artifactId' in first ? first.artifactId : '';
    for (const each of [turn, other])
      expect(await each.call(envelope('r', 'read_artifact', { artifactId }))).toMatchObject({
        output: { totalChars: 100 },
      });
  });

  it('copies files into another session too', async () => {
    const tool = defineTool({
      name: 'draw',
      idempotencyKey: () => 'k',
      idempotencyScope: 'ledger',
      run: (_, context) => context.attach({ mimeType: 'text/plain', content: 'a drawing' }),
    });
    const { ledger, runtime, turn } = setStage({ tools: [tool] });
    const first = await turn.call(envelope('a', 'draw'));
    await runtime.turn({ sessionId: 'other' }).call(envelope('b', 'draw'));
    const [file] = 'files' in first ? (first.files ?? []) : [];
    for (const sessionId of ['s', 'other'])
      expect(await readWholeArtifact(ledger, sessionId, file?.artifactId ?? '')).toMatchObject({
        content: 'a drawing',
      });
  });

  it('belongs to one tool, and cannot be forged by spelling out a scope', async () => {
    let runs = 0;
    const tools = ['pay', 'refund'].map((name) =>
      defineTool({ name, idempotencyKey: () => 'same', run: () => ++runs }),
    );
    const { turn } = setStage({ tools });
    await turn.call(envelope('a', 'pay'));
    await turn.call(envelope('b', 'refund'));
    expect(runs).toBe(2);
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no order');
      },
    ],
    ['is empty', () => ''],
    ['is no text', () => 7],
    ['is promised', () => Promise.resolve('later')],
  ])(
    'an idempotency key from the tool that %s denies the call: without a key nothing may run',
    async (_, idempotencyKey) => {
      let runs = 0;
      const { turn } = setStage({
        tools: [
          defineTool({ name: 'pay', idempotencyKey: idempotencyKey as () => string, run: () => ++runs }),
        ],
      });
      expect(await turn.call(envelope('c', 'pay'))).toMatchObject({
        type: 'ToolDenied',
        reason: 'validation',
      });
      expect(runs).toBe(0);
    },
  );

  it('is stored with the intent', async () => {
    const { tool } = keyed(() => 'paid');
    const { runtime, turn } = setStage({ tools: [tool] });
    await turn.call(envelope('a', 'pay', { order: '7' }));
    expect((await eventsOf(runtime, 'tool.started')).map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      'order:7',
    ]);
  });
});

it('a key whose first call is unresolved asks a person, even if the gates run twice', async () => {
  const contracts = contractsFromYamlString(`
apiVersion: quittance/v1
kind: Workflow
metadata: { name: release, version: "1" }
stages:
  - { id: review, approval: { message: Reviewed? } }
  - { id: push, tools: [pay] }
`);
  const { tool } = keyed(() => Promise.reject(new Error('lost')), { idempotencyScope: 'ledger' });
  const inner = createMemoryLedger();
  let moved = false;
  const ledger = alterLedger(inner, {
    append: async (entry) => {
      if (!moved && entry.events.some(({ type }) => type === 'tool.held')) {
        moved = true;
        await runtime.workflow({ sessionId: 's' }).setStage({ stageId: 'review', by: 'ada' });
      }
      return inner.append(entry);
    },
  });
  const runtime = createRuntime({ ledger, tools: [tool], contracts });
  await createRuntime({ ledger: inner, tools: [tool] })
    .turn({ sessionId: 'other' })
    .call(envelope('a', 'pay', { order: '7' }));
  void runtime.turn({ sessionId: 's' }).submit(envelope('b', 'pay', { order: '7' }));
  for (let n = 0; n < 5; n++) await quiet();
  const [open] = (await runtime.confirmations.list({ status: 'pending' })).rows;
  expect(moved).toBe(true);
  expect(open?.asks.map(({ code, stage }) => code ?? stage?.stageId)).toEqual(['review', 'call.twin']);
});
