import type { ReasonCode } from 'quittance';
import { defineTool, ToolError, toolResult } from 'quittance';
import { describe, expect, it } from 'vitest';
import { envelope, quiet, setStage } from '../../../../test/stage.ts';

const throwing = (reason: ReasonCode, retryable?: boolean) =>
  setStage({
    tools: [
      defineTool({
        name: 'pay',
        rerun: 'allow',
        run: () => Promise.reject(new ToolError(reason, 'no', retryable === undefined ? {} : { retryable })),
      }),
      defineTool({ name: 'other', run: () => 1 }),
    ],
  });

describe('a tool that failed permanently', () => {
  it.each<[ReasonCode, boolean | undefined]>([
    ['tool.invalid_input', undefined],
    ['tool.execution_error', false],
    ['tool.network_error', false],
    ['tool.reported_error', false],
    ['tool.timeout', false],
  ])('is blocked for the rest of the turn after %s, retryable %s', async (reason, retryable) => {
    const { runtime, turn } = throwing(reason, retryable);
    await turn.call(envelope('a', 'pay', { n: 1 }));
    expect(await turn.call(envelope('b', 'pay', { n: 2 }))).toMatchObject({
      type: 'ToolDenied',
      reason: 'blocked',
      code: 'call.blocked',
      details: expect.stringContaining('call a') as string,
    });
    expect(await turn.call(envelope('c', 'other'))).toMatchObject({ type: 'ToolExecutionResult' });
    const later = runtime.turn({ sessionId: 's' });
    expect(await later.call(envelope('d', 'pay', { n: 3 }))).toMatchObject({ code: reason });
  });

  it.each<[ReasonCode, boolean | undefined]>([
    ['tool.network_error', undefined],
    ['tool.execution_error', undefined],
    ['tool.reported_error', undefined],
    ['tool.invalid_output', undefined],
    ['tool.invalid_output', true],
    ['tool.indeterminate', undefined],
  ])('is not blocked after %s, retryable %s', async (reason, retryable) => {
    const { turn } = throwing(reason, retryable);
    await turn.call(envelope('a', 'pay', { n: 1 }));
    expect(await turn.call(envelope('b', 'pay', { n: 2 }))).toMatchObject({
      type: 'ToolFailure',
      code: reason,
    });
  });

  it('is not blocked by denials', async () => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'pay', input: { type: 'object', required: ['to'] }, run: () => 1 })],
    });
    await turn.call(envelope('a', 'pay', {}));
    expect(await turn.call(envelope('b', 'pay', { to: 'ada' }))).toMatchObject({
      type: 'ToolExecutionResult',
    });
  });

  it('is not blocked by a wrong output: the tool ran, and may run with other arguments', async () => {
    const { turn } = setStage({ tools: [defineTool({ name: 'get_it', run: () => 10n })] });
    await turn.call(envelope('a', 'get_it'));
    expect(await turn.call(envelope('b', 'get_it'))).toMatchObject({ code: 'tool.invalid_output' });
  });

  it('is blocked by a timeout only if the tool declares timeouts not worth a retry', async () => {
    for (const [retryOnTimeout, expected] of [
      [true, 'ToolTimeout'],
      [false, 'ToolDenied'],
    ] as const) {
      const { clock, turn } = setStage({
        tools: [
          defineTool({
            name: 'get_it',
            timeoutMs: 10,
            retryOnTimeout,
            run: () => new Promise(() => undefined),
          }),
        ],
      });
      const outcomes = [];
      for (const id of ['a', 'b']) {
        const asked = turn.call(envelope(id, 'get_it'));
        await quiet();
        clock.advance(10);
        outcomes.push(await asked);
      }
      expect(outcomes.map(({ type }) => type)).toEqual(['ToolTimeout', expected]);
    }
  });

  it('is not blocked by an error that it reported to the model', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          run: () => toolResult({ success: false, needsFollowup: true, error: 'no' }),
        }),
      ],
    });
    await turn.call(envelope('a', 'get_it', { n: 1 }));
    expect(await turn.call(envelope('b', 'get_it', { n: 2 }))).toMatchObject({ code: 'tool.reported_error' });
  });
});
