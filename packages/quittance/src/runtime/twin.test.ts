import type { ToolContext } from 'quittance';
import type { ConfirmationRequest } from 'quittance/runtime';
import { defineTool, ToolError } from 'quittance';
import { describe, expect, it } from 'vitest';
import {
  auditKinds,
  envelope,
  eventsOf,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';

type Traits = { mode?: 'read' | 'destructive'; idempotent?: boolean; rerun?: 'ask' | 'deny' | 'allow' };

/** A tool whose first run ends as given and whose other runs succeed. */
function twins(first: (context: ToolContext) => unknown, traits: Traits = {}, approve = true) {
  const asked: ConfirmationRequest[] = [];
  let runs = 0;
  const stage = setStage({
    cancelGraceMs: 0,
    tools: [
      defineTool({
        name: 'pay',
        mode: 'external',
        timeoutMs: 100,
        ...traits,
        run: (_, context) => (runs++ === 0 ? first(context) : 'paid'),
      }),
      defineTool({ name: 'pay_too', run: () => 'paid' }),
    ],
    onConfirm: (request) => {
      asked.push(request);
      return { decision: approve ? 'approve' : 'deny', by: 'ada' };
    },
  });
  const start = async (id = 'a', args: object = { to: 'ada' }): Promise<string> => {
    const outcome = stage.turn.call(envelope(id, 'pay', { ...args }));
    await quiet();
    stage.clock.advance(100);
    const settled = await outcome;
    return 'code' in settled ? settled.code : settled.type;
  };
  return { ...stage, asked, start, runs: () => runs };
}

const hang = (): unknown => new Promise(() => undefined);

describe('a repeat of a call whose effect is unknown', () => {
  it.each<[string, () => unknown, string]>([
    ['timed out', hang, 'tool.timeout'],
    ['threw', () => Promise.reject(new Error('socket hang up')), 'tool.execution_error'],
    [
      'lost the connection',
      () => Promise.reject(new ToolError('tool.network_error', 'x')),
      'tool.network_error',
    ],
    [
      'does not know itself',
      () => Promise.reject(new ToolError('tool.indeterminate', 'x')),
      'tool.indeterminate',
    ],
    [
      'failed for good',
      () => Promise.reject(new ToolError('tool.execution_error', 'x', { retryable: false })),
      'tool.execution_error',
    ],
  ])('is held for a person when the first %s', async (_, first, code) => {
    const { asked, runtime, start, runs } = twins(first);
    expect(await start()).toBe(code);
    const again = runtime.turn({ sessionId: 's' });
    expect(await again.call(envelope('b', 'pay', { to: 'ada' }))).toMatchObject({ output: 'paid' });
    expect(asked).toMatchObject([
      {
        callId: 'b',
        description: expect.stringContaining('Call a ') as string,
        asks: [{ code: 'call.twin' }],
      },
    ]);
    expect(runs()).toBe(2);
    expect(await auditKinds(runtime, 'b')).toEqual(['requires_confirmation', 'completed']);
    await expectSettledOnce(runtime);
  });

  it('is held when the first was cancelled while it ran', async () => {
    const { asked, clock, turn, runs } = twins(hang);
    const first = turn.call(envelope('a', 'pay', { to: 'ada' }));
    await quiet();
    turn.cancel('a');
    clock.advance(0);
    expect(await first).toMatchObject({ code: 'tool.indeterminate' });
    await turn.call(envelope('b', 'pay', { to: 'ada' }));
    expect([asked.length, runs()]).toEqual([1, 2]);
  });

  it('is not held when the first was cancelled before it ran', async () => {
    const { asked, turn } = twins(() => 'paid');
    const first = turn.call(envelope('a', 'pay', { to: 'ada' }));
    turn.cancel('a');
    expect(await first).toMatchObject({ code: 'tool.cancelled' });
    await turn.call(envelope('b', 'pay', { to: 'ada' }));
    expect(asked).toEqual([]);
  });

  it.each<[string, () => unknown]>([
    ['reported its error', () => ({ error: 'no money' })],
    ['threw an error as reported', () => Promise.reject(new ToolError('tool.reported_error', 'no money'))],
    [
      'was marked as safe to try again by its author',
      () => Promise.reject(new ToolError('tool.network_error', 'x', { retryable: true })),
    ],
    ['succeeded', () => 'paid'],
  ])('runs without an approval when the first %s', async (_, first) => {
    const { asked, start, runs } = twins(first);
    await start();
    await start('b');
    expect([asked, runs()]).toEqual([[], 2]);
  });

  it.each<[string, Traits]>([
    ['reads', { mode: 'read' }],
    ['is idempotent', { idempotent: true }],
    ['allows it', { rerun: 'allow' }],
  ])('runs without an approval when the tool %s', async (_, traits) => {
    const { asked, start, runs } = twins(hang, traits);
    await start();
    await start('b');
    expect([asked, runs()]).toEqual([[], 2]);
  });

  it('is denied when the tool says so', async () => {
    const { asked, turn, start, runs } = twins(hang, { rerun: 'deny' });
    await start();
    expect(await turn.call(envelope('b', 'pay', { to: 'ada' }))).toMatchObject({
      type: 'ToolDenied',
      reason: 'duplicate',
      code: 'call.twin',
    });
    expect([asked, runs()]).toEqual([[], 1]);
  });

  it('is denied when the person denies it', async () => {
    const { turn, start, runs } = twins(hang, {}, false);
    await start();
    expect(await turn.call(envelope('b', 'pay', { to: 'ada' }))).toMatchObject({
      code: 'confirmation.rejected',
    });
    expect(runs()).toBe(1);
  });

  it('is held, and says why, when the host has no decider', async () => {
    const { clock, runtime, turn } = setStage({
      tools: [defineTool({ name: 'pay', timeoutMs: 10, run: hang })],
    });
    const first = turn.call(envelope('a', 'pay'));
    await quiet();
    clock.advance(10);
    await first;
    void turn.call(envelope('b', 'pay'));
    await quiet();
    const { rows } = await runtime.confirmations.list({ status: 'pending' });
    expect(rows).toMatchObject([
      {
        callId: 'b',
        asks: [{ code: 'call.twin', description: expect.stringContaining('Call a ') as string }],
        risk: expect.arrayContaining(['may have happened already']) as string[],
      },
    ]);
  });

  it('is a different call with other arguments, another tool or in another session', async () => {
    const { asked, runtime, start, turn } = twins(hang);
    await start();
    await turn.call(envelope('b', 'pay', { to: 'bob' }));
    await turn.call(envelope('c', 'pay_too', { to: 'ada' }));
    await runtime.turn({ sessionId: 'other' }).call(envelope('d', 'pay', { to: 'ada' }));
    expect(asked).toEqual([]);
  });

  it('is held once, with both reasons, for a tool that needs an approval anyway', async () => {
    const { asked, start, runs } = twins(hang, { mode: 'destructive' });
    await start();
    await start('b');
    expect(asked.map(({ asks }) => asks.map(({ by }) => by.name))).toEqual([['mode'], ['twin', 'mode']]);
    expect(runs()).toBe(2);
  });

  it('is announced in the content of the first call: do not repeat it', async () => {
    const { runtime, start } = twins(hang);
    await start();
    const [responded] = await eventsOf(runtime, 'tool.responded');
    expect(responded?.content).toContain('do not repeat it');
    expect(responded?.unsettledEffect).toBe(true);
  });
});

it.each([
  ['find_payee', 0],
  ['look_up_payee', 0],
  ['find_and_update_payee', 1],
])(
  'a tool that is a read only by its name (%s) stores its intent and is asked about %d times',
  async (name, asked) => {
    const asks: ConfirmationRequest[] = [];
    let runs = 0;
    const { runtime, turn, clock } = setStage({
      cancelGraceMs: 0,
      tools: [defineTool({ name, timeoutMs: 100, run: () => (runs++ === 0 ? hang() : 'ada') })],
      onConfirm: (request) => {
        asks.push(request);
        return { decision: 'approve', by: 'ada' };
      },
    });
    const first = turn.call(envelope('a', name));
    await quiet();
    expect(await eventsOf(runtime, 'tool.started')).toMatchObject([{ callId: 'a', mayRerun: false }]);
    clock.advance(100);
    expect(await first).toMatchObject({ code: 'tool.timeout' });
    expect(await turn.call(envelope('b', name))).toMatchObject({ output: 'ada' });
    expect([asks.length, runs]).toEqual([asked, 2]);
  },
);
