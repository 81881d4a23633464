import type { ToolOutcome } from 'quittance';
import { defineTool, outcomeToModelContent, ToolDecision, ToolError, toolResult } from 'quittance';
import { describe, expect, it } from 'vitest';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { alterLedger } from '../alter-ledger.ts';
import { readWholeArtifact } from '../../packages/quittance/src/ledger/reads.ts';

type Body = (args: { readonly [key: string]: unknown }) => unknown;

const stageOf = (run: Body) =>
  setStage({
    inlineLimit: 500,
    tools: [
      defineTool({ name: 'get_it', run }),
      defineTool({ name: 'pay', mode: 'external', timeoutMs: 100, run }),
      defineTool({ name: 'delete_it', run }),
    ],
    onPreToolUse: ({ arguments: { stop } }) =>
      stop === true ? ToolDecision.block('stop was "true"\n') : ToolDecision.allow,
    onConfirm: () => ({ decision: 'deny', by: 'ada', reason: 'not "now"\n' }),
    budgets: [{ scope: 'session', toolCalls: 1 }],
  });

const cases: Readonly<
  Record<
    string,
    { type: ToolOutcome['type']; name?: string; args?: object | string; run?: Body; before?: Body }
  >
> = {
  'an output': {
    type: 'ToolExecutionResult',
    run: () => ({ b: 1, a: [null, 'ü\u2028💥', 1.5e300, -0, ''] }),
  },
  'an output of text': { type: 'ToolExecutionResult', run: () => 'a "text"\n' },
  'an output with lone surrogates': { type: 'ToolExecutionResult', run: () => ({ '\ud800': '\udfff' }) },
  'an output with a Date and a toJSON': {
    type: 'ToolExecutionResult',
    run: () => ({ at: new Date(0), url: new URL('https://example.org') }),
  },
  'an output with a __proto__': {
    type: 'ToolExecutionResult',
    run: () => JSON.parse('{"__proto__": {"polluted": true}}') as object,
  },
  'no output': { type: 'ToolExecutionResult', run: () => undefined },
  'a tool result': {
    type: 'ToolExecutionResult',
    run: () => toolResult({ success: true, extra: { z: 1, a: 2 } }),
  },
  'a failed tool result': { type: 'ToolFailure', run: () => toolResult({ success: false, error: 'no' }) },
  'a long output': { type: 'ToolArtifactReference', run: () => ({ text: '💥'.repeat(300) }) },
  'a thrown error': { type: 'ToolFailure', run: () => Promise.reject(new Error('broken "pipe"')) },
  'a ToolError': {
    type: 'ToolFailure',
    run: () => Promise.reject(new ToolError('tool.network_error', 'offline', { extras: { a: 1 } })),
  },
  'a wrong output': { type: 'ToolFailure', run: () => 10n },
  'a timeout': { type: 'ToolTimeout', run: () => new Promise(() => undefined) },
  'an unknown tool': { type: 'ToolFailure', name: 'nope' },
  'a validation denial': { type: 'ToolDenied', args: 'no json' },
  'a denial by a hook': { type: 'ToolDenied', args: { stop: true } },
  'a denial by a person': { type: 'ToolDenied', name: 'delete_it' },
};

describe('[told-equals-kept] the content that the model got is in the ledger, byte for byte', () => {
  it.each(Object.entries(cases))(
    '[told-equals-kept] the content that the model got is in the ledger, byte for byte for %s',
    async (_, { type, name, args, run }) => {
      const { clock, runtime, turn } = stageOf(run ?? (() => 'fine'));
      const call = envelope('c', name ?? 'pay', (args ?? {}) as never);
      const asked = turn.call(call);
      await quiet();
      clock.advance(100);
      const outcome = await asked;
      expect(outcome.type).toBe(type);
      const told = outcomeToModelContent(outcome);

      const [responded] = await eventsOf(runtime, 'tool.responded');
      expect(responded?.content).toBe(told);
      expect(JSON.stringify(responded?.outcome)).toBe(JSON.stringify(outcome));

      const again = await turn.call(call);
      expect(JSON.stringify(again)).toBe(JSON.stringify(outcome));
      expect(outcomeToModelContent(again)).toBe(told);
      const bound = turn.tools().find((tool) => tool.name === call.name);
      expect((await bound?.execute(call.arguments, { callId: 'c' })) ?? told).toBe(told);
      await expectSettledOnce(runtime);
    },
  );

  it('[told-equals-kept] the content that the model got is in the ledger, byte for byte for denials by an ended turn and a spent budget', async () => {
    const { runtime, turn } = stageOf(() => 'fine');
    await turn.call(envelope('a', 'pay'));
    const spent = await turn.call(envelope('b', 'pay', { n: 1 }));
    await turn.end();
    const ended = await turn.call(envelope('c', 'pay', { n: 2 }));
    const responded = await eventsOf(runtime, 'tool.responded');
    expect(responded.slice(1).map(({ content }) => content)).toEqual(
      [spent, ended].map(outcomeToModelContent),
    );
    expect([spent, ended].map((outcome) => 'reason' in outcome && outcome.reason)).toEqual([
      'budget',
      'ended',
    ]);
  });

  it('[told-equals-kept] the content that the model got is in the ledger, byte for byte and no caller gets an outcome before the ledger has it', async () => {
    const { ledger } = stageOf(() => 1);
    const kept = deferred();
    const slow = alterLedger(ledger, {
      append: async (entry) => {
        if (entry.events.some(({ type }) => type === 'tool.responded')) await kept.promise;
        return ledger.append(entry);
      },
    });
    const { turn } = setStage({ ledger: slow, tools: [defineTool({ name: 'pay', run: () => 'paid' })] });
    let told = false;
    const asked = turn.call(envelope('c', 'pay')).then(() => (told = true));
    await quiet();
    expect(told).toBe(false);
    kept.resolve();
    await asked;
    expect(told).toBe(true);
  });
});

describe('[told-equals-kept] later events never change stored content', () => {
  it('[told-equals-kept] when the caller changes its arguments afterwards', async () => {
    const args = { list: [{ a: 1 }] };
    const call = { id: 'c', name: 'pay', arguments: args };
    const principal = { userId: 'ada', claims: { roles: ['user'] } };
    const attrs = { trace: { id: 't1' } };
    const provenance = { provider: 'p', model: 'm' };
    const seen: unknown[] = [];
    const { runtime } = stageOf(() => 1);
    const turnOptions = { sessionId: 's', principal, attrs, provenance };
    const turn = runtime.turn(turnOptions);
    const own = {
      principal: { role: 'own', claims: { a: [1] } },
      attrs: { own: { b: 1 } },
      provenance: { model: 'own' },
    };
    const asked = [turn.call(call), turn.call({ ...call, id: 'd', name: 'get_it' }, own)];
    args.list[0] = { a: 2 };
    call.name = 'get_it';
    principal.claims.roles.push('jwyxqthlkmvz');
    attrs.trace.id = 't2';
    provenance.model = 'wyxqthlkmvzj';
    own.principal.claims.a.push(2);
    own.attrs.own.b = 2;
    own.provenance.model = 'zjwyxqthlkmv';
    await Promise.all(asked);
    seen.push(...(await runtime.events.list({ sessionId: 's' })));
    const text = JSON.stringify(seen);
    for (const changed of ['"a":2', 'jwyxqthlkmvz', '"t2"', 'wyxqthlkmvzj', '[1,2]', '"b":2', 'zjwyxqthlkmv'])
      expect(text).not.toContain(changed);
    for (const kept of ['"a":1', '"user"', '"t1"', '"own"', '"b":1']) expect(text).toContain(kept);
  });

  it('[told-equals-kept] when the body changes its arguments, or its returned, recorded and attached values', async () => {
    const output = { rows: [{ n: 1 }] };
    const partial = { step: { n: 1 } };
    const fields = { deep: { n: 1 } };
    const bytes = new Uint8Array([1, 1, 1]);
    const { ledger, runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          run: (args, context) => {
            (args as { to: { name: string } }).to.name = 'mallory';
            context.record(partial);
            context.log('line', fields);
            context.attach({ mimeType: 'image/png', content: bytes });
            return output;
          },
        }),
      ],
    });
    const outcome = await turn.call(envelope('c', 'pay', { to: { name: 'ada' } }));
    const before = JSON.stringify([outcome, await runtime.events.list({ sessionId: 's' })]);
    output.rows.push({ n: 2 });
    partial.step.n = 2;
    fields.deep.n = 2;
    bytes.fill(2);
    expect(JSON.stringify([outcome, await runtime.events.list({ sessionId: 's' })])).toBe(before);
    expect(before).not.toContain('mallory');
    const [file] = 'files' in outcome ? (outcome.files ?? []) : [];
    const artifact = await readWholeArtifact(ledger, 's', file?.artifactId ?? '');
    expect(artifact?.content).toEqual(new Uint8Array([1, 1, 1]));
  });

  it('[told-equals-kept] when a receiver writes into a value it got', async () => {
    const { runtime, turn } = setStage({
      inlineLimit: 200,
      onConfirm: (request) => {
        meddle(request);
        return { decision: 'approve', by: 'ada' };
      },
      onPreToolUse: (use) => {
        meddle(use);
        return ToolDecision.allow;
      },
      tools: [
        defineTool({
          name: 'delete_it',
          input: { type: 'object', properties: { n: { type: 'number' }, list: { type: 'array' } } },
          run: (_, context) => {
            context.attach({ mimeType: 'text/plain', content: 'hello', name: 'hello.txt' });
            return { rows: [{ n: 1 }], deep: { er: { n: 1 } } };
          },
        }),
        defineTool({
          name: 'fail',
          run: () => Promise.reject(new ToolError('tool.network_error', 'x', { extras: { a: { b: 1 } } })),
        }),
      ],
    });
    const options = {
      principal: { claims: { roles: ['user'] } },
      attrs: { a: { b: 1 } },
      provenance: { model: 'm' },
    };
    const outcomes = [
      await turn.call(envelope('c', 'delete_it', { n: '1', list: [{ a: 1 }] }), options),
      await turn.call(envelope('d', 'fail'), options),
    ];
    const told = JSON.stringify(outcomes);
    for (const outcome of outcomes) meddle(outcome);
    const responded = await eventsOf(runtime, 'tool.responded');
    expect(JSON.stringify(responded.map(({ outcome }) => outcome))).toBe(told);
    const before = JSON.stringify(await runtime.events.list({ sessionId: 's' }));
    expect(before).not.toContain('meddled');
    for (const event of await runtime.events.list({ sessionId: 's' })) meddle(event);
    for (const event of await runtime.events.list({ sessionId: 's', callId: 'c' })) meddle(event);
    for (const record of await runtime.calls.audit({ sessionId: 's' })) meddle(record);
    for (const call of await runtime.calls.list({ sessionId: 's' })) meddle(call);
    expect(JSON.stringify(await runtime.events.list({ sessionId: 's' }))).toBe(before);
    expect(options.principal.claims.roles).toEqual(['user']);
  });
});

/** Tries to change everything in a value. Frozen objects refuse. */
function meddle(value: unknown, seen = new Set<unknown>()): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  for (const inner of Object.values(value)) meddle(inner, seen);
  for (const key of [...Object.keys(value), 'meddled']) Reflect.set(value, key, 'meddled');
}
