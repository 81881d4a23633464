/** The trace of a call that a worker in another process runs. Two runtimes on one ledger stand for the processes. */
import { context, trace as traceApi } from '@opentelemetry/api';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { HandoffClaim, HandoffTerms } from 'quittance/runtime';
import { createManualClock } from 'quittance/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { trace } from './traced.ts';

const sent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const spec = {
  name: 'render',
  mode: 'external',
  input: z.object({ scene: z.string() }),
  output: z.object({ frames: z.number() }),
  handoff: true,
  timeoutMs: 60_000,
} as const;
const render = defineTool(spec);
const request = { id: 'c', name: 'render', arguments: { scene: 'dawn' } };

const claimFrom = (runtime: Pick<Runtime, 'handoffs'>, terms: HandoffTerms): Promise<HandoffClaim> =>
  eventually(async () => {
    const found = await runtime.handoffs.claim({ toolName: 'render' }, terms);
    if (found === undefined) throw new Error('The call does not wait yet.');
    return found;
  });

test('a worker gets the trace of the call, and its report is a span of that trace', async () => {
  const ledger = createMemoryLedger();
  const [asking, working] = [trace(), trace()];
  const agent = createRuntime({ tools: [render], ledger, telemetry: asking.telemetry });
  const farm = createRuntime({ tools: [render], ledger, telemetry: working.telemetry });
  const told = agent.turn({ sessionId: 's' }).call(request, { traceparent: sent });
  const claim = await claimFrom(farm, { worker: 'farm-1' });

  const [, claimedTrace = '', claimedSpan = ''] = claim.traceparent?.split('-') ?? [];
  const parent = { traceId: claimedTrace, spanId: claimedSpan, traceFlags: 1, isRemote: true };
  const within = traceApi.setSpanContext(context.active(), parent);
  working.provider.getTracer('the worker').startSpan('render frames', {}, within).end();
  await farm.handoffs.report(claim.token, { output: { frames: 96 } });
  expect((await told).type).toBe('ToolExecutionResult');

  const call = asking.one('execute_tool render');
  const { traceId, spanId } = call.spanContext();
  expect(traceId).toBe('0af7651916cd43dd8448eb211c80319c');
  expect(claim.traceparent).toBe(`00-${traceId}-${spanId}-01`);
  expect(working.one('render frames').parentSpanContext).toMatchObject({ traceId, spanId });
  expect(call.attributes).toMatchObject({
    'quittance.outcome': 'ToolExecutionResult',
    'quittance.attempts': 1,
  });
  expect(asking.one('attempt').parentSpanContext?.spanId).toBe(spanId);
  expect(asking.one('attempt').attributes).toEqual({ 'quittance.attempt': 1 });

  const reported = working.one('execute_tool render');
  expect(reported.parentSpanContext).toMatchObject({ traceId, spanId });
  expect(reported.links.map((link) => link.context.spanId)).toEqual([spanId]);
  expect(reported.attributes).toMatchObject({
    'quittance.resumed': true,
    'quittance.outcome': 'ToolExecutionResult',
  });
  expect(working.one('settle').parentSpanContext?.spanId).toBe(reported.spanContext().spanId);
  await Promise.all([agent.close(), farm.close()]);

  // Two processes have spans of the call. One of them counts it.
  const counted = [...(await asking.metrics()), ...(await working.metrics())]
    .filter(({ descriptor }) => descriptor.name === 'quittance.calls')
    .flatMap(({ dataPoints }) => dataPoints.map(({ value }) => value));
  expect(counted).toEqual([1]);
});

test('each worker that has the call is an attempt, from its claim on', async () => {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const traced = trace();
  const mayRepeat = defineTool({ ...spec, idempotent: true });
  const runtime = createRuntime({ tools: [mayRepeat], ledger, clock, telemetry: traced.telemetry });
  const told = runtime.turn({ sessionId: 's' }).call(request);
  await claimFrom(runtime, { worker: 'silent', leaseMs: 10 });
  clock.advance(20);
  const second = await claimFrom(runtime, { worker: 'farm-2', leaseMs: 1_000 });
  await runtime.handoffs.report(second.token, { error: 'No such scene.', code: 'tool.reported_error' });
  expect((await told).type).toBe('ToolFailure');
  expect(traced.named('attempt').map(({ attributes }) => attributes)).toEqual([
    { 'quittance.attempt': 1 },
    { 'quittance.attempt': 2, 'error.type': 'tool.reported_error' },
  ]);
  // The process that waits has the span of the call. A report in the same process adds no other.
  const call = traced.one('execute_tool render');
  expect(call.attributes['error.type']).toBe('tool.reported_error');
  expect(traced.one('settle').parentSpanContext?.spanId).toBe(call.spanContext().spanId);
  await runtime.close();
});

test('a call without a trace has none for its worker', async () => {
  const runtime = createRuntime({ tools: [render] });
  const told = runtime.turn({ sessionId: 's' }).call(request);
  const claim = await claimFrom(runtime, { worker: 'farm-1' });
  expect([claim.traceparent, traceApi.getSpan(context.active())]).toEqual([undefined, undefined]);
  await runtime.handoffs.report(claim.token, { output: { frames: 1 } });
  await told;
  await runtime.close();
});
