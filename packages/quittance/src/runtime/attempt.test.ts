import type { ToolContext } from 'quittance';
import { defineTool, ToolError } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

/** A tool that exposes its context and then waits. */
function waiting(traits: { timeoutMs?: number; idleTimeoutMs?: number; mode?: 'read' } = {}) {
  const body = deferred<unknown>();
  const contexts: ToolContext[] = [];
  const stage = setStage({
    tools: [
      defineTool({
        name: 'work',
        timeoutMs: 1_000,
        ...traits,
        run: (_, context) => {
          contexts.push(context);
          return body.promise;
        },
      }),
    ],
  });
  return { ...stage, body, contexts };
}

describe('a body', () => {
  it('gets the caller, the reason, the attempt number and its signal', async () => {
    const { body, contexts, runtime } = waiting();
    const turn = runtime.turn({ sessionId: 's', turnId: 't', principal: { userId: 'ada' } });
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    const [context] = contexts;
    expect(context).toMatchObject({
      callId: 'c',
      sessionId: 's',
      turnId: 't',
      toolName: 'work',
      attempt: 1,
      idempotencyKey: 's/c',
      principal: { userId: 'ada' },
    });
    expect(context?.signal.aborted).toBe(false);
    body.resolve(1);
    await asked;
    expect(context?.signal.aborted).toBe(false);
  });

  it('may destructure its context', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'work',
          run: (_, context) => {
            const parts: Record<string, (...args: never[]) => unknown> = {};
            for (const name of ['log', 'progress', 'record', 'reached', 'charge', 'attach'] as const)
              parts[name] = context[name] as never;
            const call = (name: string, ...args: unknown[]): unknown => parts[name]?.(...(args as never[]));
            call('log', 'hello', { n: 1 });
            call('progress');
            call('record', { n: 1 });
            call('reached', 'moon');
            call('charge', 7);
            return call('attach', { mimeType: 'text/plain', content: 'hi' });
          },
        }),
      ],
    });
    expect(await turn.call(envelope('c', 'work'))).toMatchObject({
      type: 'ToolExecutionResult',
      files: [{ sizeBytes: 2 }],
    });
    expect(await eventsOf(runtime, 'tool.responded')).toMatchObject([
      {
        costMicros: 7,
        reached: ['moon'],
        log: [{ message: 'hello', fields: { n: 1 } }],
        payloadExtras: { partial: { n: 1 } },
      },
    ]);
  });

  it('is stopped at its timeout: the caller gets an answer and the signal is aborted', async () => {
    const { clock, contexts, runtime, turn } = waiting({ timeoutMs: 100 });
    const startedAt = clock.now();
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    clock.advance(99);
    await quiet();
    expect(contexts[0]?.signal.aborted).toBe(false);
    clock.advance(1);
    expect(await asked).toMatchObject({
      type: 'ToolTimeout',
      code: 'tool.timeout',
      deadlineMs: startedAt + 100,
      elapsedMs: 100,
      retryable: false,
      inDoubt: true,
    });
    expect(await asked).toHaveProperty('payloadExtras', { input: {} });
    expect(contexts[0]?.signal.reason).toMatchObject({ name: 'TimeoutError' });
    await expectSettledOnce(runtime);
  });

  it('is stopped after five minutes by default, or after the host’s time limit', async () => {
    for (const [options, limitMs] of [
      [{}, 300_000],
      [{ defaultTimeoutMs: 40 }, 40],
    ] as const) {
      const { clock, turn } = setStage({
        ...options,
        tools: [defineTool({ name: 'hang', run: () => new Promise(() => undefined) })],
      });
      const asked = turn.call(envelope('c', 'hang'));
      await quiet();
      clock.advance(limitMs);
      expect(await asked).toMatchObject({ type: 'ToolTimeout', elapsedMs: limitMs });
    }
  });

  it('is stopped on time even if it used part of its time before its first wait', async () => {
    const { clock, turn } = setStage({
      tools: [
        defineTool({
          name: 'work',
          timeoutMs: 100,
          run: () => {
            clock.advance(90);
            return new Promise(() => undefined);
          },
        }),
      ],
    });
    const startedAt = clock.now();
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    clock.advance(10);
    await quiet();
    expect(await asked).toMatchObject({ type: 'ToolTimeout', deadlineMs: startedAt + 100, elapsedMs: 100 });
  });

  it('a body that ends exactly at its timeout ends in time', async () => {
    const manual = createManualClock();
    let blockedMs = 0;
    const body = deferred<string>();
    const { turn } = setStage({
      clock: { ...manual, monotonicMs: () => manual.monotonicMs() + blockedMs },
      tools: [defineTool({ name: 'work', timeoutMs: 100, run: () => body.promise })],
    });
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    blockedMs = 100;
    body.resolve('just');
    expect(await asked).toMatchObject({ output: 'just' });
  });

  it('a body that is silent for too long is stopped; progress restarts this limit, but not the timeout', async () => {
    const { clock, contexts, turn } = waiting({ timeoutMs: 1_000, idleTimeoutMs: 100 });
    const updates: unknown[] = [];
    const asked = turn.call(envelope('c', 'work'), { onProgress: (update) => updates.push(update) });
    await quiet();
    for (let step = 1; step <= 5; step++) {
      clock.advance(99);
      contexts[0]?.progress({ message: `step ${step}`, fraction: step / 10 });
      await quiet();
    }
    clock.advance(99);
    await quiet();
    const silentUntil = clock.now() + 1;
    clock.advance(1);
    expect(await asked).toMatchObject({ type: 'ToolTimeout', elapsedMs: 595, deadlineMs: silentUntil });
    expect(updates).toHaveLength(5);
    expect(updates[4]).toEqual({ callId: 'c', message: 'step 5', fraction: 0.5 });
  });

  it('a body that always makes progress is still stopped at its timeout', async () => {
    const { clock, contexts, turn } = waiting({ timeoutMs: 1_000, idleTimeoutMs: 100 });
    const asked = turn.call(envelope('c', 'work'));
    await quiet();
    for (let n = 0; n < 20; n++) {
      clock.advance(50);
      contexts[0]?.progress();
    }
    expect(await asked).toMatchObject({ type: 'ToolTimeout', elapsedMs: 1_000 });
  });

  it('does not fail when a progress listener throws', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'work',
          run: (_, context) => {
            context.progress({ message: 'half' });
            return 'done';
          },
        }),
      ],
    });
    const onProgress = (): void => {
      throw new Error('the screen is gone');
    };
    expect(await turn.call(envelope('c', 'work'), { onProgress })).toMatchObject({ output: 'done' });
  });

  it('reports its progress when it fails or times out', async () => {
    const { clock, runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'fail',
          run: (_, context) => {
            context.record({ rows: 1, last: 'a' });
            context.record({ rows: 2 });
            throw new Error('broken');
          },
        }),
        defineTool({
          name: 'hang',
          timeoutMs: 10,
          run: (_, context) => {
            context.record({ rows: 3 });
            return new Promise(() => undefined);
          },
        }),
      ],
    });
    const failed = await turn.call(envelope('a', 'fail'));
    expect(failed).toMatchObject({
      payloadExtras: {
        partial: { rows: 2, last: 'a' },
        exception_type: 'Error',
        traceback: expect.stringContaining('Error: broken') as string,
      },
    });
    const asked = turn.call(envelope('b', 'hang'));
    await quiet();
    clock.advance(10);
    await asked;
    const responded = await eventsOf(runtime, 'tool.responded');
    expect(responded.map(({ payloadExtras }) => payloadExtras?.['partial'])).toEqual([
      { rows: 2, last: 'a' },
      { rows: 3 },
    ]);
  });

  it('keeps its author’s keys in extras: the runtime renames its own', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'fail',
          run: (_, context) => {
            context.record({ rows: 2 });
            throw new ToolError('tool.network_error', 'x', {
              extras: { partial: 'mine', output: 'mine too' },
            });
          },
        }),
      ],
    });
    const outcome = await turn.call(envelope('c', 'fail'));
    expect('payloadExtras' in outcome && outcome.payloadExtras).toEqual({
      partial: 'mine',
      output: 'mine too',
      recorded_partial: { rows: 2 },
      input: {},
    });
  });

  it('cannot flood the record: lines, targets and files are limited', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'flood',
          run: (_, context) => {
            for (let n = 0; n < 1_000; n++) {
              context.log('x'.repeat(10_000));
              context.reached('y'.repeat(10_000));
            }
            return 'done';
          },
        }),
      ],
    });
    await turn.call(envelope('c', 'flood'));
    expect(JSON.stringify(await runtime.events.list({ sessionId: 's' })).length).toBeLessThan(2_000_000);
  });

  it.each([Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, '5' as never])(
    'cannot charge %s',
    async (micros) => {
      const { turn } = setStage({
        tools: [defineTool({ name: 'pay', mode: 'read', run: (_, context) => context.charge(micros) })],
      });
      expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ code: 'tool.execution_error' });
    },
  );

  it('is a retryable failure when the network was at fault, even in a nested cause', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          run: () => {
            const socket = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
            throw new TypeError('fetch failed', { cause: new Error('wrapped', { cause: socket }) });
          },
        }),
      ],
    });
    expect(await turn.call(envelope('c', 'get_it'))).toMatchObject({
      code: 'tool.network_error',
      retryable: true,
      error: expect.stringContaining('fetch failed') as string,
    });
  });
});

describe('waiting for bodies', () => {
  it('leaves no timer behind once they are done', async () => {
    const manual = createManualClock();
    let running = 0;
    const { runtime } = setStage({
      clock: {
        ...manual,
        startTimer: (fire, delayMs) => {
          running++;
          const timer = manual.startTimer(fire, delayMs);
          let keeps = true;
          return {
            stop: () => {
              if (keeps) running--;
              keeps = false;
              timer.stop();
            },
            keepAlive: (keep) => {
              if (keep !== keeps) running += keep ? 1 : -1;
              keeps = keep;
            },
          };
        },
      },
      tools: [defineTool({ name: 'work', timeoutMs: 100, idleTimeoutMs: 50, run: async ({ n }) => n })],
    });
    const turn = runtime.turn({ sessionId: 's', timeoutMs: 10_000 });
    for (let n = 0; n < 20; n++) await turn.call(envelope(`c${n}`, 'work', { n }));
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => turn.call(envelope(`d${n}`, 'work', { n: `d${n}` }))),
    );
    expect(running).toBe(0);
  });

  it('stops bodies with very different timeouts each at its own time', async () => {
    const { clock, turn } = setStage({
      tools: [5, 50, 500, 5_000].map((timeoutMs) =>
        defineTool({ name: `hang_${timeoutMs}`, timeoutMs, run: () => new Promise(() => undefined) }),
      ),
    });
    const order: number[] = [];
    const asked = [5_000, 5, 500, 50].map((timeoutMs) =>
      turn.call(envelope(`c${timeoutMs}`, `hang_${timeoutMs}`)).then(() => order.push(timeoutMs)),
    );
    await quiet();
    for (const ms of [5, 45, 450, 4_500]) {
      clock.advance(ms);
      await quiet();
    }
    await Promise.all(asked);
    expect(order).toEqual([5, 50, 500, 5_000]);
  });
});
