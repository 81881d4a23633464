/** Metrics of calls, with the real SDK. */
import type { DataPoint, Histogram, MetricData } from '@opentelemetry/sdk-metrics';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { trace } from './traced.ts';

const find = (metrics: readonly MetricData[], name: string): MetricData => {
  const found = metrics.find(({ descriptor }) => descriptor.name === name);
  if (found === undefined)
    throw new Error(`${name} is not among ${metrics.map(({ descriptor }) => descriptor.name).join(', ')}`);
  return found;
};
const counts = (metric: MetricData): readonly unknown[] =>
  metric.dataPoints.map(({ attributes, value }) => [
    attributes,
    typeof value === 'number' ? value : (value as Histogram).count,
  ]);

const input = z.object({});

test('durations by tool and outcome; invented tool names share one series', async () => {
  const traced = trace();
  const runtime = createRuntime({
    tools: [
      defineTool({ name: 'works', mode: 'read', input, run: () => 1 }),
      defineTool({
        name: 'fails',
        mode: 'read',
        input,
        run: () => {
          throw new ToolError('tool.network_error', 'No.');
        },
      }),
    ],
    telemetry: traced.telemetry,
  });
  const turn = runtime.turn({ sessionId: 's' });
  for (const id of ['1', '2']) await turn.call({ id, name: 'works', arguments: {} });
  await turn.call({ id: '3', name: 'fails', arguments: {} });
  for (let index = 0; index < 50; index++)
    await turn.call({ id: `u${index}`, name: `invented_${index}`, arguments: {} });
  const metrics = await traced.metrics();
  expect(counts(find(metrics, 'quittance.tool.duration'))).toEqual([
    [{ tool: 'works', outcome: 'ToolExecutionResult' }, 2],
    [{ tool: 'fails', outcome: 'ToolFailure' }, 1],
  ]);
  expect(counts(find(metrics, 'quittance.calls'))).toEqual([
    [{ tool: 'works', outcome: 'ToolExecutionResult', code: '' }, 2],
    [{ tool: 'fails', outcome: 'ToolFailure', code: 'tool.network_error' }, 1],
    [{ tool: '(unknown)', outcome: 'ToolFailure', code: 'tool.unknown' }, 50],
  ]);
  expect(find(metrics, 'quittance.tool.duration').descriptor.unit).toBe('s');
  await runtime.close();
});

test('held and unresolved calls are read from the ledger', async () => {
  const traced = trace();
  const runtime = createRuntime({
    tools: [
      defineTool({ name: 'asks', mode: 'local', input, run: () => 1 }),
      defineTool({
        name: 'unsure',
        mode: 'external',
        input,
        run: () => {
          throw new ToolError('tool.indeterminate', 'The line went dead.');
        },
      }),
    ],
    telemetry: traced.telemetry,
  });
  const turn = runtime.turn({ sessionId: 's' });
  await turn.call({ id: 'held', name: 'asks', arguments: {} }, { ifHeld: 'return' });
  await turn.call({ id: 'unsure', name: 'unsure', arguments: {} });
  const gauges = async (): Promise<readonly unknown[]> => {
    const metrics = await traced.metrics();
    return ['quittance.confirmations.pending', 'quittance.calls.unresolved'].map(
      (name) => find(metrics, name).dataPoints[0]?.value,
    );
  };
  expect(await gauges()).toEqual([1, 1]);
  const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
  await runtime.confirmations.decide(question!.confirmationId, {
    decision: 'deny',
    by: 'ada',
    inputDigest: question!.inputDigest,
  });
  await eventually(async () => expect(await gauges()).toEqual([0, 1]));
  await runtime.close();
});

test('the ledger is not read for gauges once the runtime is closed', async () => {
  const stop = vi.fn<() => void>();
  const runtime = createRuntime({
    tools: [],
    telemetry: { startCall: () => undefined, watchCounts: () => stop },
  });
  expect(stop).not.toHaveBeenCalled();
  await runtime.close();
  expect(stop).toHaveBeenCalledTimes(1);
});

test('every append is a commit time, and every call of a batch that waits a queue time', async () => {
  const traced = trace();
  const clock = createManualClock();
  const first = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const run = (): Promise<void> => {
    begun.resolve();
    return first.promise;
  };
  const runtime = createRuntime({
    clock,
    tools: [defineTool({ name: 'writes', mode: 'external', input, run })],
    telemetry: traced.telemetry,
  });
  const heard: string[] = [];
  const stop = runtime.onTime((what) => heard.push(what));
  const answer = runtime
    .turn({ sessionId: 's' })
    .callAll(['1', '2'].map((id) => ({ id, name: 'writes', arguments: {} })));
  await begun.promise;
  clock.advance(30);
  first.resolve();
  expect((await answer).map(({ type }) => type)).toEqual(['ToolExecutionResult', 'ToolExecutionResult']);
  stop();
  const metrics = await traced.metrics();
  const [queue] = find(metrics, 'quittance.queue.duration').dataPoints as DataPoint<Histogram>[];
  const [commit] = find(metrics, 'quittance.commit.duration').dataPoints as DataPoint<Histogram>[];
  // The second call waited for the first one.
  expect([queue?.value.count, queue?.value.max]).toEqual([2, 0.03]);
  expect(commit?.value.count).toBe(4);
  expect(heard.filter((what) => what === 'queue')).toHaveLength(2);
  await runtime.close();
});
