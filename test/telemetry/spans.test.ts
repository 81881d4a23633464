/** Spans of calls, with the real SDK. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context, SpanKind, SpanStatusCode, trace as traceApi } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { AlwaysOffSampler, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool, retry, ToolDecision, ToolError } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { trace } from './traced.ts';

const idsOf = (span: ReadableSpan): string =>
  `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`;
const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;

const callOf = async (runtime: Pick<Runtime, 'calls'>, callId: string) =>
  (await runtime.calls.list({ sessionId: 's' })).find((call) => call.callId === callId);

const asked = (runtime: Pick<Runtime, 'confirmations'>) =>
  eventually(async () => {
    const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    if (question === undefined) throw new Error('No question yet.');
    return question;
  });

async function approve(runtime: Pick<Runtime, 'confirmations'>): Promise<void> {
  const { confirmationId, inputDigest } = await asked(runtime);
  await runtime.confirmations.decide(confirmationId, {
    decision: 'approve',
    by: 'jwyxqthlkmvz',
    inputDigest,
  });
}

const add = defineTool({
  name: 'add',
  mode: 'read',
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
});
const pay = defineTool({
  name: 'pay',
  mode: 'external',
  input: z.object({ amount: z.number() }),
  run: ({ amount }) => ({ paid: amount }),
});

test('a call is a span by the conventions, with its attempt and settlement inside', async () => {
  const traced = trace({ consoleUrl: 'https://console.example.org/' });
  const own = traced.provider.getTracer('the host');
  const work = defineTool({
    name: 'work',
    mode: 'external',
    input: z.object({}),
    run: async () => {
      await Promise.resolve();
      own.startSpan('request of the tool').end();
      return 1;
    },
  });
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [work], ledger, telemetry: traced.telemetry });
  const agent = own.startSpan('agent');
  const outcome = await context.with(traceApi.setSpan(context.active(), agent), () =>
    runtime.turn({ sessionId: 's/1', turnId: 't1' }).call({ id: 'c1', name: 'work', arguments: {} }),
  );
  agent.end();
  expect(outcome.type).toBe('ToolExecutionResult');
  const call = traced.one('execute_tool work');
  expect(call.kind).toBe(SpanKind.INTERNAL);
  expect(call.status.code).toBe(SpanStatusCode.UNSET);
  expect(call.attributes).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'work',
    'gen_ai.tool.call.id': 'c1',
    'gen_ai.tool.type': 'function',
    'gen_ai.conversation.id': 's/1',
    'quittance.session.id': 's/1',
    'quittance.turn.id': 't1',
    'quittance.mode': 'external',
    'quittance.outcome': 'ToolExecutionResult',
    'quittance.attempts': 1,
    'quittance.call.url': 'https://console.example.org/calls/s%2F1/c1',
  });
  expect(parentOf(call)).toBe(agent.spanContext().spanId);
  const attempt = traced.one('attempt');
  const settle = traced.one('settle');
  expect([parentOf(attempt), parentOf(settle)]).toEqual([
    call.spanContext().spanId,
    call.spanContext().spanId,
  ]);
  expect(attempt.attributes).toEqual({ 'quittance.attempt': 1 });
  expect(parentOf(traced.one('request of the tool'))).toBe(attempt.spanContext().spanId);
  expect(traced.spans()).toHaveLength(5);
  expect(nanos(attempt.endTime)).toBeLessThanOrEqual(nanos(settle.endTime));
  // The console finds the trace by what is stored with the call.
  const stored = await ledger.readCall('s/1', 'c1');
  const [requested] = stored?.events.filter(({ type }) => type === 'tool.requested') ?? [];
  expect(requested).toMatchObject({ traceparent: idsOf(call) });
  await runtime.close();
});

const nanos = ([seconds, rest]: readonly [number, number]): bigint =>
  BigInt(seconds) * 1_000_000_000n + BigInt(rest);

const sent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test('the context that the caller sends is the parent, and a malformed one is ignored', async () => {
  const traced = trace();
  const runtime = createRuntime({ tools: [add], telemetry: traced.telemetry });
  const turn = runtime.turn({ sessionId: 's' });
  const call = { name: 'add', arguments: { a: 1, b: 2 } };
  await turn.call({ id: 'sent', ...call }, { traceparent: sent });
  const first = traced.one('execute_tool add');
  expect(first.parentSpanContext).toMatchObject({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    isRemote: true,
  });
  const malformed = [
    '',
    'x',
    sent.toUpperCase(),
    `${sent}-more`,
    `${sent}\n`,
    ` ${sent}`,
    sent.replace('00-', 'ff-'),
    sent.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    sent.replace('b7ad6b7169203331', '0'.repeat(16)),
    `${sent.slice(0, -2)}zz`,
    '01-' + 'a'.repeat(600),
    7,
    null,
    {},
    ['00'],
  ];
  for (const [index, traceparent] of malformed.entries()) {
    const outcome = await turn.call({ id: `m${index}`, ...call }, { traceparent: traceparent as string });
    expect([traceparent, outcome.type]).toEqual([traceparent, 'ToolExecutionResult']);
    expect([traceparent, traced.spans().at(-1)?.parentSpanContext]).toEqual([traceparent, undefined]);
  }
  // A later version may have more fields.
  await turn.call({ id: 'later', ...call }, { traceparent: `01${sent.slice(2)}-more` });
  expect(traced.named('execute_tool add').at(-1)?.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
  // The turn's context serves calls without their own.
  await runtime.turn({ sessionId: 's', traceparent: sent }).call({ id: 'turn', ...call });
  expect(traced.named('execute_tool add').at(-1)?.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
});

test('an active span of the same trace is nearer than the sent one, another is linked', async () => {
  const traced = trace();
  const runtime = createRuntime({ tools: [add], telemetry: traced.telemetry });
  const turn = runtime.turn({ sessionId: 's' });
  const server = traced.provider.getTracer('the host').startSpan('server');
  const within = traceApi.setSpan(context.active(), server);
  const call = { name: 'add', arguments: { a: 1, b: 2 } };
  const { traceId, spanId } = server.spanContext();
  const same = `00-${traceId}-b7ad6b7169203331-01`;
  await context.with(within, () => turn.call({ id: 'same', ...call }, { traceparent: same }));
  const [nested] = traced.named('execute_tool add');
  expect([nested?.parentSpanContext?.spanId, nested?.links]).toEqual([spanId, []]);
  await context.with(within, () => turn.call({ id: 'other', ...call }, { traceparent: sent }));
  const [, other] = traced.named('execute_tool add');
  expect(other?.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
  expect(other?.links.map((link) => link.context.spanId)).toEqual([spanId]);
});

test('without telemetry the sent context is still stored with the call', async () => {
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [add], ledger });
  const turn = runtime.turn({ sessionId: 's' });
  const call = { name: 'add', arguments: { a: 1, b: 2 } };
  await turn.call({ id: 'with', ...call }, { traceparent: sent });
  await turn.call({ id: 'malformed', ...call }, { traceparent: 'Bearer sk-live-0123456789abcdef' });
  const contextOf = async (callId: string): Promise<unknown> => (await callOf(runtime, callId))?.traceparent;
  expect(await contextOf('with')).toBe(sent);
  expect(await contextOf('malformed')).toBeUndefined();
});

test('a held call has the hold as a child, and an approval ends it', async () => {
  const traced = trace();
  const runtime = createRuntime({
    tools: [pay],
    telemetry: traced.telemetry,
    treatments: { external: 'ask' },
  });
  const answer = runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'pay', arguments: { amount: 1 } });
  await asked(runtime);
  expect(traced.spans()).toEqual([]);
  await approve(runtime);
  expect((await answer).type).toBe('ToolExecutionResult');
  const call = traced.one('execute_tool pay');
  const hold = traced.one('hold');
  expect(parentOf(hold)).toBe(call.spanContext().spanId);
  expect(hold.attributes).toEqual({ 'quittance.decision': 'approved' });
  expect(call.attributes).toMatchObject({
    'quittance.held': true,
    'quittance.outcome': 'ToolExecutionResult',
  });
  expect(rulings(call)).toEqual([
    ['quittance.gate.asked', { 'quittance.decider.type': 'gate', 'quittance.decider.name': 'mode' }],
  ]);
  expect(JSON.stringify(traced.spans().map(plain))).not.toContain('jwyxqthlkmvz');
});

test('a call resumed in another process is in the same trace, linked to its first span', async () => {
  const ledger = createMemoryLedger();
  const first = trace();
  const options = { tools: [pay], ledger, treatments: { external: 'ask' } } as const;
  const one = createRuntime({ ...options, telemetry: first.telemetry });
  const call = { id: 'c', name: 'pay', arguments: { amount: 1 } };
  const answer = one.turn({ sessionId: 's' }).call(call, { traceparent: sent });
  await asked(one);
  await Promise.all([one.close(), answer.catch(() => undefined)]);
  const left = first.one('execute_tool pay');
  expect(left.attributes['quittance.outcome']).toBe('pending');
  expect(first.one('hold').endTime).toBeDefined();

  const second = trace();
  const two = createRuntime({ ...options, telemetry: second.telemetry });
  await approve(two);
  const outcome = await two.turn({ sessionId: 's' }).call(call);
  expect(outcome.type).toBe('ToolExecutionResult');
  const resumed = await eventually(() => {
    const found = second
      .named('execute_tool pay')
      .find((span) => span.attributes['quittance.resumed'] === true);
    expect(found).toBeDefined();
    return found;
  });
  expect(resumed?.spanContext().traceId).toBe('0af7651916cd43dd8448eb211c80319c');
  expect(resumed?.parentSpanContext?.spanId).toBe(left.spanContext().spanId);
  expect(resumed?.links.map((link) => link.context.spanId)).toEqual([left.spanContext().spanId]);
  expect(parentOf(second.one('attempt'))).toBe(resumed?.spanContext().spanId);
  await two.close();
});

const rules = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: rules }
defaults: { mode: enforce }
rules:
  - { id: no-large-payment, type: pre, tool: pay, when: { args.amount: { gt: 100 } }, then: { action: block, message: Too much. } }
`;

test('a denial names its gate and code without an error status, which a failure has', async () => {
  const traced = trace();
  const fails = defineTool({
    name: 'fails',
    mode: 'external',
    input: z.object({}),
    run: () => {
      throw new ToolError('tool.network_error', 'The bank hung up.');
    },
  });
  const runtime = createRuntime({
    tools: [pay, fails],
    contracts: contractsFromYamlString(rules),
    telemetry: traced.telemetry,
  });
  const turn = runtime.turn({ sessionId: 's' });
  await turn.call({ id: 'denied', name: 'pay', arguments: { amount: 101 } });
  const denied = traced.one('execute_tool pay');
  expect(denied.attributes).toMatchObject({
    'quittance.outcome': 'ToolDenied',
    'error.type': 'policy.contract',
    'quittance.attempts': 0,
    'quittance.policy.version': expect.stringMatching(/./),
  });
  expect(denied.status.code).toBe(SpanStatusCode.UNSET);
  expect(rulings(denied)).toEqual([
    [
      'quittance.gate.denied',
      { 'quittance.decider.type': 'rule', 'quittance.decider.name': 'no-large-payment' },
    ],
  ]);
  expect(traced.named('attempt')).toEqual([]);
  expect(parentOf(traced.one('settle'))).toBe(denied.spanContext().spanId);
  await turn.call({ id: 'failed', name: 'fails', arguments: {} });
  const failed = traced.one('execute_tool fails');
  expect(failed.attributes['error.type']).toBe('tool.network_error');
  expect(failed.status).toEqual({ code: SpanStatusCode.ERROR, message: 'tool.network_error' });
  expect(traced.one('attempt').status.code).toBe(SpanStatusCode.ERROR);
});

test('every attempt of a retried call is a span', async () => {
  const traced = trace();
  let runs = 0;
  const flaky = defineTool({
    name: 'flaky',
    mode: 'read',
    input: z.object({}),
    run: () => {
      runs++;
      if (runs === 1) throw new ToolError('tool.network_error', 'Once.');
      return runs;
    },
  });
  const runtime = createRuntime({
    tools: [flaky],
    telemetry: traced.telemetry,
    behaviors: [retry({ initialMs: 1, jitter: 0 })],
  });
  const outcome = await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'flaky', arguments: {} });
  expect(outcome.type).toBe('ToolExecutionResult');
  expect(
    traced
      .named('attempt')
      .map(({ attributes }) => [attributes['quittance.attempt'], attributes['error.type']]),
  ).toEqual([
    [1, 'tool.network_error'],
    [2, undefined],
  ]);
  expect(traced.one('execute_tool flaky').attributes['quittance.attempts']).toBe(2);
  await runtime.close();
});

test('a repeated request is a span of its own, linked to the first', async () => {
  const traced = trace();
  const runtime = createRuntime({ tools: [pay], telemetry: traced.telemetry });
  const ask = (): Promise<unknown> =>
    runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'pay', arguments: { amount: 1 } });
  await ask();
  await ask();
  const [first, again] = traced.named('execute_tool pay');
  expect(again?.attributes['quittance.recalled']).toBe('cached');
  expect(again?.links.map((link) => link.context.spanId)).toEqual([first?.spanContext().spanId]);
  expect(traced.named('attempt')).toHaveLength(1);
  const calls = (await traced.metrics()).find(({ descriptor }) => descriptor.name === 'quittance.calls');
  expect(calls?.dataPoints.map(({ value }) => value)).toEqual([1]);
});

test('a call that is sampled out makes no children, and passes its context on', async () => {
  const sampler = new AlwaysOffSampler();
  const asked = vi.spyOn(sampler, 'shouldSample');
  const traced = trace({ sampler });
  let active: string | undefined;
  const look = defineTool({
    name: 'look',
    mode: 'external',
    input: z.object({}),
    run: () => {
      active = traceApi.getSpanContext(context.active())?.traceId;
      return null;
    },
  });
  const runtime = createRuntime({ tools: [look], telemetry: traced.telemetry });
  await runtime
    .turn({ sessionId: 's' })
    .call({ id: 'c', name: 'look', arguments: {} }, { traceparent: sent });
  expect(asked).toHaveBeenCalledTimes(1);
  expect(traced.spans()).toEqual([]);
  expect(active).toBe('0af7651916cd43dd8448eb211c80319c');
  const view = await callOf(runtime, 'c');
  // The trace of the caller: no span of the call can be found.
  expect(view?.traceparent).toBe(sent);
  await runtime.turn({ sessionId: 's' }).call({ id: 'alone', name: 'look', arguments: {} });
  expect((await callOf(runtime, 'alone'))?.traceparent).toBeUndefined();
  expect(active).toMatch(/^[0-9a-f]{32}$/);
});

test('spans arrive at a collector over OTLP/HTTP', async () => {
  const received: unknown[] = [];
  const collector = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      received.push([request.method, request.url, JSON.parse(text)]);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo; // it listens on a port
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });
  const traced = trace({ processors: [new SimpleSpanProcessor({ exporter })] });
  const runtime = createRuntime({ tools: [add], telemetry: traced.telemetry });
  await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'add', arguments: { a: 1, b: 2 } });
  await traced.provider.forceFlush();
  const sentSpans = (received as [string, string, Otlp][]).flatMap(([method, url, body]) => {
    expect([method, url]).toEqual(['POST', '/v1/traces']);
    return body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
  });
  expect(sentSpans.map(({ name }) => name).toSorted()).toEqual(['attempt', 'execute_tool add', 'settle']);
  const root = sentSpans.find(({ name }) => name === 'execute_tool add');
  expect(root?.attributes).toContainEqual({ key: 'gen_ai.tool.name', value: { stringValue: 'add' } });
  collector.close();
});

type Otlp = {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly { readonly name: string; readonly attributes: readonly unknown[] }[];
    }[];
  }[];
};

/** The events of a span without the waits: how many gates wait depends on the ledger. */
const rulings = ({ events }: ReadableSpan): readonly unknown[] =>
  events
    .filter(({ name }) => name !== 'quittance.gate.waited')
    .map(({ name, attributes }) => [name, attributes]);

test('a gate that waits is an event with its time', async () => {
  const traced = trace();
  const clock = createManualClock();
  const runtime = createRuntime({
    tools: [pay],
    clock,
    telemetry: traced.telemetry,
    onPreToolUse: async () => {
      clock.advance(20);
      return ToolDecision.allow;
    },
  });
  await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'pay', arguments: { amount: 1 } });
  const events = traced.one('execute_tool pay').events.map(({ name, attributes }) => [name, attributes]);
  expect(events).toContainEqual([
    'quittance.gate.waited',
    { 'quittance.gate': 'policy', 'quittance.elapsed_us': 20_000 },
  ]);
});

const plain = ({ name, attributes, events, status, links }: ReadableSpan): unknown => ({
  name,
  attributes,
  events,
  status,
  links,
});
