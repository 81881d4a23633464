/** Failures that other tools hide, each as a test through the public API. */
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, outcomeToModelContent, ToolError } from 'quittance';
import type { LoadedContracts } from 'quittance/contracts';
import { contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { envelope, quiet } from '../stage.ts';
import { readWholeArtifact } from '../../packages/quittance/src/ledger/reads.ts';

const rules = (text: string): LoadedContracts =>
  contractsFromYamlString(
    `apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: silence}\ndefaults: {mode: enforce}\nrules:\n${text}`,
  );

describe('output schemas that are never checked (vercel/ai#10222)', () => {
  test.each([
    ['a JSON Schema', { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }],
    ['a validator', z.object({ id: z.number() })],
  ])('are checked, whether given as %s: the model never sees a mismatch', async (_, output) => {
    const tool = defineTool({
      name: 'look_up',
      mode: 'read',
      output: output as never,
      run: (({ id }: { id: unknown }) => ({ id })) as never,
    });
    const turn = createRuntime({ tools: [tool] }).turn({ sessionId: 's' });
    expect(await turn.call(envelope('good', 'look_up', { id: 7 }))).toMatchObject({ output: { id: 7 } });
    const bad = await turn.call(envelope('bad', 'look_up', { id: 'seven' }));
    expect(bad).toMatchObject({ type: 'ToolFailure', code: 'tool.invalid_output', retryable: false });
    expect(JSON.parse(outcomeToModelContent(bad))).toMatchObject({ status: 'error' });
  });

  test('output schemas that are never checked (vercel/ai#10222) and a validator that throws denies', async () => {
    const tool = defineTool({
      name: 'look_up',
      mode: 'read',
      output: {
        '~standard': {
          version: 1,
          vendor: 'own',
          validate: async () => Promise.reject(new Error('validator broke')),
        },
      },
      run: () => ({ id: 1 }),
    });
    const outcome = await createRuntime({ tools: [tool] })
      .turn({ sessionId: 's' })
      .call(envelope('c', 'look_up'));
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.invalid_output' });
  });
});

describe('errors that vanish from events (langgraphjs#1831)', () => {
  test.each([
    ['an error', () => new Error('it broke')],
    ['a rejection', () => Promise.reject(new Error('it broke'))],
    ['a text', () => 'it broke'],
    ['nothing at all', () => undefined],
    [
      'something that throws when it is looked at',
      () =>
        new Proxy(
          {},
          {
            get: () => {
              throw new Error('hands off');
            },
          },
        ),
    ],
  ])('are in the events, the audit and the errors of the runtime, thrown as %s', async (_, make) => {
    const tool = defineTool({
      name: 'breaks',
      mode: 'external',
      run: () => {
        const thrown: unknown = make();
        if (thrown instanceof Promise) return thrown as Promise<unknown>;
        throw thrown;
      },
    });
    const runtime = createRuntime({ tools: [tool] });
    const outcome = await runtime.turn({ sessionId: 's' }).call(envelope('c', 'breaks'));
    expect(outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.execution_error' });
    const responded = (await runtime.events.list({ sessionId: 's' })).filter(
      (event) => event.type === 'tool.responded',
    );
    expect(responded).toMatchObject([
      { final: true, outcome: { code: 'tool.execution_error' }, error: { reason: 'tool.execution_error' } },
    ]);
    expect((await runtime.calls.audit({ sessionId: 's' })).map(({ outcome: { kind } }) => kind)).toEqual([
      'completed',
    ]);
    expect(await runtime.calls.errors({ sessionId: 's' })).toMatchObject([
      { whoseMove: "the tool's author", count: 1, codes: [{ code: 'tool.execution_error' }] },
    ]);
  });
});

describe('a redaction rule that returned the secret unredacted', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quittance-silence-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const key = 'KEY-20481234';
  const contracts = rules(
    '  - {id: keys, type: post, tool: leak, when: {output.text: {matches: "KEY-[0-9]+"}}, then: {action: redact, message: A key.}}\n',
  );
  const ways: { readonly [way: string]: (context: { record: (o: object) => void }) => unknown } = {
    'in a result': () => ({ text: `it is ${key}.` }),
    'deep in a result': () => ({ a: [{ b: { c: [`${key}`] } }] }),
    'in a key of a result': () => ({ [key]: 1 }),
    'in an error that is reported': () => ({ error: `no use for ${key}` }),
    'in an error that is thrown': () => {
      throw new Error(`no use for ${key}`);
    },
    'in what a body put on record before it broke': (context) => {
      context.record({ tried: key });
      throw new Error('broke');
    },
    'in a large output': () => ({ text: `${key} ${'x'.repeat(20_000)}` }),
  };

  test.each(Object.keys(ways))('%s reaches no caller and is nowhere on disk', async (way) => {
    const ledger: OpenLedger = await openLedger(join(folder, 'ledger.db'));
    const tool = defineTool({
      name: 'leak',
      mode: 'external',
      run: (_args, context) => ways[way]?.(context as never),
    });
    const runtime = createRuntime({ tools: [tool], ledger, contracts });
    const outcome = await runtime.turn({ sessionId: 's' }).call(envelope('c', 'leak'));
    const told = [JSON.stringify(outcome), outcomeToModelContent(outcome)].join('\n');
    const seen = JSON.stringify([
      await runtime.events.list({ sessionId: 's' }),
      await runtime.calls.audit({ sessionId: 's' }),
      await runtime.calls.errors(),
    ]);
    const aside =
      outcome.type === 'ToolArtifactReference'
        ? String((await readWholeArtifact(ledger, 's', outcome.artifactId))?.content)
        : '';
    await runtime.close();
    await ledger.close();
    for (const text of [told, seen, aside]) expect(text).not.toContain(key);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((it) => it.isFile());
    expect(files).not.toEqual([]);
    const leaks = files.filter((it) => readFileSync(join(it.parentPath, it.name)).includes(key));
    expect(leaks.map(({ name }) => name)).toEqual([]);
  });
});

describe('ten parallel calls under a limit of three, all executed', () => {
  test.each([
    ['a budget', { budgets: [{ scope: 'session', toolCalls: 3 }] }, 'budget.tool_calls_exhausted'],
    [
      'a contract',
      {
        contracts: rules(
          '  - {id: three, type: session, limits: {max_tool_calls: 3}, then: {action: block, message: Three.}}\n',
        ),
      },
      'policy.contract',
    ],
  ] as const)('run three times under %s, in one batch or each in a turn', async (_, limit, code) => {
    for (const manner of ['batch', 'turns'] as const) {
      let [running, ran] = [0, 0];
      const tool = defineTool({
        name: 'send',
        mode: 'external',
        resourceKeys: (args) => [JSON.stringify(args)],
        run: async () => {
          ran++;
          running++;
          await quiet();
          running--;
          return 'sent';
        },
      });
      const runtime = createRuntime({ tools: [tool], concurrency: 10, ...limit });
      const ten = Array.from({ length: 10 }, (__, n) => envelope(`c${n}`, 'send', { n }));
      const outcomes =
        manner === 'batch'
          ? await runtime.turn({ sessionId: 's' }).callAll(ten)
          : await Promise.all(ten.map((call) => runtime.turn({ sessionId: 's' }).call(call)));
      const ends = outcomes.map((outcome) => ('code' in outcome ? outcome.code : outcome.type));
      expect(ran).toBe(3);
      expect(running).toBe(0);
      expect(ends.filter((end) => end === 'ToolExecutionResult')).toHaveLength(3);
      expect(ends.filter((end) => end === code)).toHaveLength(7);
    }
  });
});

describe('a timeout that is only a hint', () => {
  test('ends the call, whatever the body does with its signal, and a late result is stored', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const late = Promise.withResolvers<unknown>();
    const tool = defineTool({ name: 'deaf', mode: 'external', timeoutMs: 1_000, run: () => late.promise });
    const runtime = createRuntime({ tools: [tool], ledger, clock });
    const asked = runtime.turn({ sessionId: 's' }).call(envelope('c', 'deaf'));
    await quiet();
    clock.advance(999);
    await quiet();
    expect(await Promise.race([asked, quiet()])).toBeUndefined();
    clock.advance(1);
    const outcome = await asked;
    expect(outcome).toMatchObject({ type: 'ToolTimeout', elapsedMs: 1_000 });
    late.resolve({ too: 'late' });
    await expect
      .poll(async () => (await runtime.events.list({ sessionId: 's' })).map(({ type }) => type))
      .toContain('tool.late');
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect(call?.settled?.outcome).toEqual(outcome);
  });

  test('also counts for a body that blocked the thread past it', async () => {
    const clock = createManualClock();
    const tool = defineTool({
      name: 'busy',
      mode: 'read',
      timeoutMs: 100,
      run: () => {
        clock.advance(101);
        return 'done';
      },
    });
    const outcome = await createRuntime({ tools: [tool], clock })
      .turn({ sessionId: 's' })
      .call(envelope('c', 'busy'));
    expect(outcome).toMatchObject({ type: 'ToolTimeout' });
  });

  test('has a default: nothing hangs for ever', async () => {
    const clock = createManualClock();
    const tool = defineTool({ name: 'hangs', mode: 'read', run: () => new Promise(() => {}) });
    const asked = createRuntime({ tools: [tool], clock })
      .turn({ sessionId: 's' })
      .call(envelope('c', 'hangs'));
    await quiet();
    clock.advance(300_000);
    expect(await asked).toMatchObject({ type: 'ToolTimeout' });
  });
});

describe('a retry documented on an event that is never delivered', () => {
  test('the behavior gets the failed attempt, the call is retried, and its caller gets the end', async () => {
    const heard: string[] = [];
    let runs = 0;
    const flaky = defineTool({
      name: 'get_it',
      mode: 'read',
      run: () => {
        if (runs++ === 0) throw new ToolError('tool.network_error', 'no route');
        return 'it';
      },
    });
    const runtime = createRuntime({ tools: [flaky] });
    runtime.events.on(
      {
        name: 'mine',
        on: 'tool.responded',
        retries: true,
        where: { 'error.reason': ['tool.network_error'] },
      },
      (event, context) => {
        heard.push(event.error?.reason ?? 'none');
        context.emit('retry.requested', { forEvent: event.id });
      },
    );
    const outcome = await runtime.turn({ sessionId: 's' }).call(envelope('c', 'get_it'));
    expect(heard).toEqual(['tool.network_error']);
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: 'it' });
    expect(runs).toBe(2);
    await runtime.close();
  });

  test('a retry documented on an event that is never delivered for an event that a behavior failed to handle, the behavior gets it again', async () => {
    const attempts: number[] = [];
    const tool = defineTool({ name: 'get_it', mode: 'read', run: () => 'it' });
    const runtime = createRuntime({ tools: [tool] });
    const report = runtime.events.on({ name: 'report', on: 'tool.responded' }, (_, context) => {
      attempts.push(context.attempt);
      if (context.attempt === 1) throw new ToolError('tool.timeout', 'slow');
    });
    const again = runtime.events.on(
      {
        name: 'tool_retry',
        on: ['behavior.failed'],
        where: { reason: ['tool.timeout', 'tool.network_error'] },
      },
      (event, context) => {
        const attempt = event.attempt + 1;
        if (attempt > 3) return;
        context.emit('retry.requested', { forEvent: event.triggeringEventId, attempt });
      },
    );
    await runtime.turn({ sessionId: 's' }).call(envelope('c', 'get_it'));
    for (const behavior of [report, again, report]) await behavior.caughtUp();
    expect(attempts).toEqual([1, 2]);
    await runtime.close();
  });
});
