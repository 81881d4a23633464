/**
 * Follows one call from end to end. An agent with a trace makes it, and it is held. A message about it arrives in a chat.
 * A person signs in on the page of its link, and approves. The spans, the console and the message lead to each other.
 */
import { context, trace as traceApi } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { createRuntime, defineTool } from 'quittance';
import type { Runtime } from 'quittance';
import { openTelemetry } from '@quittance/opentelemetry';
import { readNotifications, startNotifications } from '@quittance/server/notifications';
import type { StartedNotifications } from '@quittance/server/notifications';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import type { Receiver } from '../notifications/receiver.ts';
import { openReceiver } from '../notifications/receiver.ts';
import { signInOptions } from '../sign-in/start-sign-in.ts';
import type { TestProvider } from '../sign-in/test-provider.ts';
import { startProvider } from '../sign-in/test-provider.ts';
import type { Traced } from '../telemetry/traced.ts';
import { trace } from '../telemetry/traced.ts';
import { sendFrom, signInAs } from './sign-in-server.ts';
import type { Stage } from './stage.ts';
import { openStage } from './stage.ts';

let provider: TestProvider;
let chat: Receiver;
let bank: Receiver;
/** Takes spans over OTLP, and shows traces. */
let collector: Receiver;
let stage: Stage;
let traced: Traced;
let agent: Runtime;
let notifications: StartedNotifications;

beforeAll(async () => {
  provider = await startProvider();
  provider.people.set('u-ada', { name: 'Ada Lovelace', groups: ['payments'] });
  [chat, bank, collector] = [await openReceiver(), await openReceiver(), await openReceiver()];
  stage = await openStage({
    fill: () => Promise.resolve(),
    server: { signIn: signInOptions(provider), traceUrl: `${collector.url}/trace/{traceId}` },
  });
  provider.serve(stage.server.url);
  const exporter = new OTLPTraceExporter({ url: `${collector.url}/v1/traces` });
  traced = trace({ processors: [new SimpleSpanProcessor({ exporter })] });
  agent = createAgent();
  const settings = readNotifications(
    `apiVersion: quittance/v1
kind: Notifications
targets: { ops: { type: slack, url: '${chat.url}/hook', allowPrivate: true } }
rules: [{ on: [held], tell: [ops] }]`,
    'notifications.yaml',
    () => undefined,
  );
  notifications = startNotifications({ runtime: stage.runtime, settings, publicUrl: stage.server.url });
});

afterAll(async () => {
  await notifications.close();
  await agent.close();
  await stage.close();
  await Promise.all([provider, chat, bank, collector].map((each) => each.close()));
});

/** The agent's own process: another runtime than the server's, on the same ledger. */
function createAgent(): Runtime {
  const own = traced.provider.getTracer('http client');
  const pay = defineTool({
    name: 'pay',
    mode: 'destructive',
    input: z.object({ to: z.string(), cents: z.number() }),
    // What the instrumentation of an HTTP client does.
    async run({ cents }, { traceparent }) {
      const span = own.startSpan('POST /payments');
      await fetch(`${bank.url}/payments`, {
        method: 'POST',
        headers: { ...(traceparent !== undefined && { traceparent }) },
        body: String(cents),
      });
      span.end();
      return { paid: cents };
    },
  });
  const telemetry = openTelemetry({ tracerProvider: traced.provider, consoleUrl: stage.server.url });
  return createRuntime({ tools: [pay], ledger: stage.ledger, telemetry });
}

const idOf = (span: ReadableSpan): string => span.spanContext().spanId;

test('[bound-approval] one call is followed from the agent to the chat, the decision, the run and its trace', async () => {
  // The agent works in a trace.
  const working = traced.provider.getTracer('the agent').startSpan('invoke_agent');
  const { traceId } = working.spanContext();
  const answer = context.with(traceApi.setSpan(context.active(), working), () =>
    agent
      .turn({ sessionId: 'order-7' })
      .call({ id: 'call_1', name: 'pay', arguments: { to: 'Bolt', cents: 4_500 } }),
  );

  // A message arrives in the chat. Opening its link decides nothing: chat programs open links.
  const [message] = await chat.waitFor(1);
  const [link = ''] = /https?:[^|>"\\\s]+\/decide#[^|>"\\\s]+/.exec(message?.body ?? '') ?? [];
  expect(link).toContain(`${stage.server.url}/decide#`);
  expect((await fetch(link)).status).toBe(200);
  expect((await agent.confirmations.list({ status: 'pending' })).rows).toHaveLength(1);
  expect(bank.received).toEqual([]);

  // A person signs in on the page and approves.
  const browser = await stage.browser.newContext({ viewport: { width: 1_280, height: 900 } });
  browser.setDefaultTimeout(60_000);
  const page = await browser.newPage();
  await page.goto(link);
  await signInAs(page, 'u-ada');
  await page.getByText('You decide as Ada Lovelace (signed in).').waitFor();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  expect((await answer).type).toBe('ToolExecutionResult');
  working.end();
  expect(bank.received).toHaveLength(1);

  // The tree of spans: agent, call, and in it the hold, the attempt with the request, and the settlement.
  const call = traced.one('execute_tool pay');
  const parents = Object.fromEntries(
    traced.spans().map((span) => [span.name, span.parentSpanContext?.spanId]),
  );
  const [hold, attempt, settle] = [traced.one('hold'), traced.one('attempt'), traced.one('settle')];
  expect(parents).toEqual({
    invoke_agent: undefined,
    'execute_tool pay': working.spanContext().spanId,
    hold: idOf(call),
    attempt: idOf(call),
    settle: idOf(call),
    'POST /payments': idOf(attempt),
  });
  expect(new Set(traced.spans().map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
  expect(hold.attributes['quittance.decision']).toBe('approved');
  expect(settle.attributes['quittance.final']).toBe(true);
  expect(call.attributes).toMatchObject({
    'quittance.outcome': 'ToolExecutionResult',
    'quittance.held': true,
  });
  expect(JSON.stringify(traced.spans().map(({ attributes, events }) => [attributes, events]))).not.toContain(
    'Ada Lovelace',
  );
  // The bank was sent the context of the attempt.
  expect(bank.received[0]?.headers['traceparent']).toBe(`00-${traceId}-${idOf(attempt)}-01`);

  // From the trace to the console.
  const url = String(call.attributes['quittance.call.url']);
  expect(url).toBe(`${stage.server.url}/calls/order-7/call_1`);
  await page.goto(url);
  await page.getByText(`verified by ${provider.issuer} as u-ada`).first().waitFor();
  // From the console to the trace: the id is the one that the collector has.
  await traced.provider.forceFlush();
  const exported = collector.received.filter(({ path }) => path === '/v1/traces').map(({ body }) => body);
  expect(exported.every((body) => body.includes(traceId))).toBe(true);
  expect(exported.join('')).toContain('execute_tool pay');
  const [shown] = await Promise.all([
    browser.waitForEvent('page'),
    page.getByRole('link', { name: traceId }).click(),
  ]);
  expect(shown.url()).toBe(`${collector.url}/trace/${traceId}`);
  await eventually(() => expect(collector.received.map(({ path }) => path)).toContain(`/trace/${traceId}`));
  // From the call to its message: the delivery is on its record.
  await notifications.caughtUp();
  const detail = await sendFrom(page, '/v1/sessions/order-7/calls/call_1');
  const { events } = detail.body as { events: { type: string; data?: { target?: string } }[] };
  expect(events.filter(({ type }) => type === 'notification.sent').map(({ data }) => data?.target)).toEqual([
    'ops',
  ]);
  await browser.close();
});
