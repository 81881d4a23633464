/** No secret reaches a span or a metric, wherever it was: the promise `secrets-stay-out`. */
import { createRuntime, defineTool, ToolDecision, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { contractsFromYamlString } from 'quittance/contracts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { trace } from './traced.ts';

/** Made up here, so that no scanner mistakes this file for a leak. */
const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG';
const secret = (prefix: string, mark: string): string => `${prefix}${mark}${letters}${letters}`.slice(0, 46);
const mark = 'LEAKED';
const inArguments = secret('sk-', mark);
const inOutput = secret('ghp_', mark);
const inError = secret('sk_live_', mark);
const inName = secret('gsk_', mark);
/** Hidden by the name of its member only. */
const password = `${mark}-plain-password`;

const rules = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: rules }
defaults: { mode: enforce }
rules:
  - id: not-this
    type: pre
    tool: blocked
    when: { args.a: { gt: 0 } }
    then: { action: block, message: 'Not with {args.password}.' }
`;

test('[secrets-stay-out] spans, events, links and metrics hold no secret', async () => {
  const traced = trace({ consoleUrl: 'https://console.example.org' });
  const input = z.object({
    a: z.number().optional(),
    password: z.string().optional(),
    key: z.string().optional(),
  });
  const runtime = createRuntime({
    tools: [
      defineTool({
        name: 'leaks',
        mode: 'external',
        input,
        run: () => ({ token: inOutput, text: `x ${inOutput}` }),
      }),
      defineTool({
        name: 'throws',
        mode: 'external',
        input,
        run: ({ password: given }) => {
          throw new ToolError('tool.execution_error', `No: ${inError} ${String(given)}`);
        },
      }),
      defineTool({
        name: 'nests',
        mode: 'external',
        input,
        run: ({ password: given }) => {
          const cause = new Error(`deep ${inError} ${String(given)}`);
          cause.cause = new AggregateError([cause, new Error(inOutput)], `all of ${inArguments}`);
          throw new Error('No.', { cause });
        },
      }),
      defineTool({ name: 'hooked', mode: 'external', input, run: () => 1 }),
      defineTool({ name: 'blocked', mode: 'external', input, run: () => 1 }),
      defineTool({ name: inName, mode: 'external', input, run: () => 1 }),
    ],
    contracts: contractsFromYamlString(rules),
    onPreToolUse: ({ toolName }) =>
      toolName === 'hooked' ? ToolDecision.block(`Because of ${inError}`) : ToolDecision.allow,
    redaction: { patterns: [{ name: 'own', pattern: /OWN-[A-Z]+/ }] },
    telemetry: traced.telemetry,
  });
  const args = { a: 1, password, key: inArguments };
  const sessionId = secret('sk-', `${mark}session`);
  const turn = runtime.turn({ sessionId, turnId: secret('sk-', `${mark}turn`) });
  const names = [
    'leaks',
    'throws',
    'nests',
    `nothing ${'n'.repeat(900)}`,
    'blocked',
    'hooked',
    inName,
    `${inName}nothing`,
    `x ${password}`,
    'a\u0000b\u202E"{}',
    'OWN-SECRET',
  ];
  for (const [index, name] of names.entries())
    await turn.call(
      { id: secret('ghp_', `${mark}call${index}`), name, arguments: args },
      { attrs: { token: inArguments }, traceparent: `00-${password}-x-01` },
    );
  // The form of this id is harmless, but it repeats a secret of the arguments.
  await turn.call({ id: password, name: 'leaks', arguments: args });
  await turn.call({ id: password, name: 'leaks', arguments: args });
  const spans = traced.spans();
  expect(spans.filter(({ name }) => name.startsWith('execute_tool'))).toHaveLength(names.length + 2);
  const told = JSON.stringify(
    spans.map(({ name, attributes, events, links, status, resource }) => [
      name,
      attributes,
      events,
      links,
      status,
      resource.attributes,
    ]),
  );
  const measured = JSON.stringify(await traced.metrics());
  for (const text of [told, measured]) {
    expect(text).not.toContain(mark);
    expect(text).not.toContain('OWN-SECRET');
    expect(text).not.toContain('\u202E');
    expect(text).not.toContain('\u0000');
  }
  const values = spans.flatMap(({ name, attributes }) => [name, ...Object.values(attributes)]);
  expect(Math.max(...values.map((value) => String(value).length))).toBeLessThanOrEqual(220);
  // Ids that are shown masked make no link.
  expect(told).not.toContain('quittance.call.url');
  await runtime.close();
});

test('[secrets-stay-out] a process that resumes a call shows no id that repeats a secret of its arguments', async () => {
  const ledger = createMemoryLedger();
  const tools = [defineTool({ name: 'pay', mode: 'external', run: () => 1 })];
  const options = { tools, ledger, treatments: { external: 'ask' } } as const;
  const call = { id: `call ${password}`, name: 'pay', arguments: { password } };
  const ids = { sessionId: `session ${password}`, turnId: `turn ${password}` };
  const one = createRuntime(options);
  const answer = one.turn(ids).call(call);
  const { confirmationId, inputDigest } = await eventually(async () => {
    const [found] = (await one.confirmations.list({ status: 'pending' })).rows;
    if (found === undefined) throw new Error('No question yet.');
    return found;
  });
  await Promise.all([one.close(), answer.catch(() => undefined)]);
  const traced = trace({ consoleUrl: 'https://console.example.org' });
  const two = createRuntime({ ...options, telemetry: traced.telemetry });
  await two.confirmations.decide(confirmationId, { decision: 'approve', by: 'ada', inputDigest });
  await eventually(() => expect(traced.named('attempt')).toHaveLength(1));
  await two.close();
  const told = JSON.stringify(
    traced.spans().map(({ name, attributes, events, links }) => [name, attributes, events, links]),
  );
  expect(told).toContain('quittance.turn.id');
  expect(told).not.toContain(mark);
});
