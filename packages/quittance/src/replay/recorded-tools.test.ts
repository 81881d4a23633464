import type { AnyTool, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, jsonSchema, toolResult } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { contractsFromYamlString } from 'quittance/contracts';
import { createManualClock } from 'quittance/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { envelope } from '../../../../test/stage.ts';
import type { Cassette } from './cassette.ts';
import { readCassette, sealCassette, writeCassette } from './write-cassette.ts';
import { recordCassette } from './record-cassette.ts';
import type { RecordedToolsOptions } from './recorded-tools.ts';
import { recordedTools } from './recorded-tools.ts';
import { readWholeArtifact } from '../ledger/reads.ts';

type Asked = readonly [id: string, name: string, args?: object];
type Extra = Partial<Parameters<typeof createRuntime>[0]>;

async function make(
  tools: readonly AnyTool[],
  ledger: OpenLedger,
  calls: readonly Asked[],
  extra: Extra = {},
) {
  const runtime = createRuntime({ ...extra, tools, ledger });
  const turn = runtime.turn({ sessionId: 's' });
  const outcomes: ToolOutcome[] = [];
  for (const [id, name, args = {}] of calls) outcomes.push(await turn.call(envelope(id, name, { ...args })));
  return outcomes;
}

async function record(
  tools: readonly AnyTool[],
  calls: readonly Asked[],
  extra: Extra = {},
  maxArtifactBytes?: number,
): Promise<Cassette> {
  const ledger = createMemoryLedger();
  await make(tools, ledger, calls, extra);
  const cassette = await recordCassette(
    ledger,
    { sessionId: 's' },
    { tools, ...(maxArtifactBytes !== undefined && { maxArtifactBytes }) },
  );
  return readCassette(writeCassette(cassette));
}

async function play(
  cassette: Cassette,
  tools: readonly AnyTool[],
  calls: readonly Asked[],
  options: RecordedToolsOptions = {},
  extra: Extra = {},
) {
  const recorded = recordedTools(cassette, tools, options);
  const ledger = createMemoryLedger();
  const outcomes = await make(recorded.tools, ledger, calls, { onConfirm: recorded.onConfirm, ...extra });
  return { outcomes, report: recorded.report(), recorded, ledger };
}

let count = 0;
const tick = defineTool({ name: 'tick', mode: 'read', loopLimit: 99, run: () => ({ tick: ++count }) });
const echo = defineTool({ name: 'echo', mode: 'external', run: (args) => args });

describe('recordings', () => {
  test('recordings of the same call are played in the order they were made', async () => {
    const cassette = await record(
      [tick],
      [
        ['a', 'tick'],
        ['b', 'tick'],
        ['c', 'tick'],
      ],
    );
    const first = count - 2;
    const { outcomes } = await play(
      cassette,
      [tick],
      [
        ['x', 'tick'],
        ['y', 'tick'],
        ['z', 'tick'],
        ['more', 'tick'],
      ],
    );
    expect(outcomes.map((outcome) => ('output' in outcome ? outcome.output : outcome))).toMatchObject([
      { tick: first },
      { tick: first + 1 },
      { tick: first + 2 },
      { code: 'tool.fixture_missing', payloadExtras: { why: 'used_up' } },
    ]);
  });

  test('may be played in any order, unless the order counts', async () => {
    const calls: Asked[] = [
      ['a', 'echo', { n: 1 }],
      ['b', 'tick'],
      ['c', 'echo', { n: 2 }],
    ];
    const cassette = await record([tick, echo], calls);
    expect((await play(cassette, [tick, echo], calls.toReversed())).report).toMatchObject({
      played: 3,
      missed: [],
    });
    const { outcomes, report } = await play(cassette, [tick, echo], calls.toReversed(), { mode: 'strict' });
    expect(outcomes[0]).toMatchObject({
      code: 'tool.fixture_missing',
      error:
        'This call of "echo" was recorded, but in another order: the next recorded call is "a" of "echo".',
      payloadExtras: { why: 'order', expected: { call_id: 'a' } },
    });
    expect(report.missed).not.toEqual([]);
  });

  test('are found by the request, whatever a schema makes of it', async () => {
    const when = defineTool({
      name: 'when',
      mode: 'read',
      input: z.object({ day: z.string().transform((day) => new Date(day)) }),
      output: z.object({ at: z.date() }).transform(({ at }) => ({ at: at.getTime() })),
      run: ({ day }) => ({ at: day }),
    });
    const calls: Asked[] = [['a', 'when', { day: '2026-01-02' }]];
    const { outcomes } = await play(await record([when], calls), [when], calls);
    expect(outcomes).toMatchObject([{ output: { at: Date.UTC(2026, 0, 2) } }]);
  });

  test('keep members named like prototypes apart', async () => {
    const args = JSON.parse('{"__proto__": {"a": 1}, "constructor": "x"}') as object;
    const raw = (text: string): Asked => ['a', 'echo', JSON.parse(text) as object];
    const cassette = await record([echo], [['a', 'echo', args]]);
    const same = await play(cassette, [echo], [raw('{"constructor": "x", "__proto__": {"a": 1}}')]);
    expect(same.report).toMatchObject({ played: 1, missed: [] });
    const other = await play(cassette, [echo], [raw('{"__proto__": {"a": 2}, "constructor": "x"}')]);
    expect(other.report.missed).toMatchObject([{ why: 'arguments' }]);
  });

  test('recordings of calls with a partly redacted input are found by its stored form', async () => {
    const calls = (password: string, user = 'ada'): Asked[] => [['a', 'echo', { user, password }]];
    const cassette = await record([echo], calls('correct horse battery'));
    expect(JSON.stringify(cassette)).not.toContain('correct horse');
    expect(cassette.calls).toMatchObject([{ hidden: ['$.password'] }]);
    expect((await play(cassette, [echo], calls('another secret one'))).report.missed).toEqual([]);
    const { outcomes } = await play(cassette, [echo], calls('hunter2 hunter2', 'bob'));
    expect(outcomes).toMatchObject([{ code: 'tool.fixture_missing' }]);
    expect(JSON.stringify(outcomes)).not.toContain('hunter2');
  });

  test('recordings of a tool with changed schemas are a miss that says so, unless drift is allowed', async () => {
    const cassette = await record([echo], [['a', 'echo', { n: 1 }]]);
    const changed = defineTool({
      name: 'echo',
      mode: 'external',
      input: jsonSchema<{ n: number }>({ type: 'object', required: ['n'] }),
      run: () => 0,
    });
    const { outcomes } = await play(cassette, [changed], [['a', 'echo', { n: 1 }]]);
    expect(outcomes).toMatchObject([
      {
        code: 'tool.fixture_missing',
        payloadExtras: {
          why: 'schema',
          schema_digest: { recorded: echo.schemaDigest, now: changed.schemaDigest },
        },
      },
    ]);
    const allowed = await play(cassette, [changed], [['a', 'echo', { n: 1 }]], { drift: 'allow' });
    expect(allowed.outcomes).toMatchObject([{ output: { n: 1 } }]);
  });
});

describe('a recorded denial', () => {
  const calls: Asked[] = [['a', 'echo', { n: 1 }]];
  const rules = contractsFromYamlString(`
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: no }
defaults: { mode: enforce }
rules:
  - { id: no, type: pre, tool: echo, when: { args.n: { equals: 1 } }, then: { action: block, message: No. } }
`);

  test('is decided again by the rules of the replay', async () => {
    const cassette = await record([echo], calls, { contracts: rules });
    const { outcomes, report } = await play(cassette, [echo], calls, {}, { contracts: rules });
    expect(outcomes).toMatchObject([{ type: 'ToolDenied', code: 'policy.contract' }]);
    expect(report).toEqual({ played: 0, unused: [], missed: [] });
  });

  test('a recorded denial that no rule denies any more has no output to play, and the miss says why', async () => {
    const { outcomes } = await play(await record([echo], calls, { contracts: rules }), [echo], calls);
    expect(outcomes).toMatchObject([
      {
        code: 'tool.fixture_missing',
        error:
          'This call of "echo" never ran when it was recorded (contract, policy.contract), so there is no output to play.',
      },
    ]);
  });

  test('a recorded denial by a person is repeated for that person, and an unrecorded confirmation is denied', async () => {
    const erase = defineTool({ name: 'erase', mode: 'destructive', run: () => 1 });
    const onConfirm = ({ arguments: args }: { arguments: object }) =>
      'yes' in args
        ? ({ decision: 'approve', by: 'ada' } as const)
        : ({ decision: 'deny', by: 'bob', reason: 'mine' } as const);
    const asked: Asked[] = [
      ['a', 'erase', { yes: 1 }],
      ['b', 'erase', {}],
    ];
    const cassette = await record([erase], asked, { onConfirm });
    const { outcomes } = await play(cassette, [erase], [...asked, ['c', 'erase', { new: 1 }]]);
    expect(outcomes).toMatchObject([
      { output: 1 },
      { details: 'Denied by bob: mine' },
      { details: 'Denied by the cassette: this confirmation was not recorded' },
    ]);
  });
});

describe('a large output', () => {
  const big = defineTool({
    name: 'big',
    mode: 'read',
    inlineLimit: 10,
    run: () => ({ text: 'x'.repeat(99) }),
  });
  const moan = defineTool({
    name: 'moan',
    mode: 'read',
    run: () => ({ error: 'no', text: 'y'.repeat(20_000) }),
  });
  const draw = defineTool({
    name: 'draw',
    mode: 'read',
    run: (_, context) => ({
      image: context.attach({ mimeType: 'image/png', content: Uint8Array.of(1, 2), name: 'i' }),
    }),
  });
  const tools = [big, moan, draw];
  const calls: Asked[] = [
    ['a', 'big'],
    ['b', 'moan'],
    ['c', 'draw'],
  ];

  test('comes with the cassette and becomes an artifact again', async () => {
    const { outcomes, ledger } = await play(await record(tools, calls), tools, calls);
    const [first, second, third] = outcomes;
    if (first?.type !== 'ToolArtifactReference' || third?.type !== 'ToolExecutionResult')
      throw new Error('no');
    expect(await readWholeArtifact(ledger, 's', first.artifactId)).toMatchObject({
      content: `{"text":"${'x'.repeat(99)}"}`,
    });
    expect(second).toMatchObject({ code: 'tool.reported_error', error: 'no' });
    const moaned = second?.type === 'ToolFailure' ? second.payloadExtras?.['output_artifact'] : undefined;
    expect(await readWholeArtifact(ledger, 's', moaned as string)).toMatchObject({
      content: expect.stringContaining('yyy') as string,
    });
    const file = third.files?.[0];
    expect(third.output).toEqual({ image: { $artifact: file?.artifactId } });
    expect(await readWholeArtifact(ledger, 's', file?.artifactId ?? '')).toMatchObject({
      content: Uint8Array.of(1, 2),
    });
  });

  test('is named by its digest if it is too large, and then missed', async () => {
    const cassette = await record(tools, calls, {}, 1);
    expect(cassette.artifacts.map(({ content }) => content)).toEqual([undefined, undefined, undefined]);
    const { outcomes } = await play(cassette, tools, calls);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        code: 'tool.fixture_missing',
        error: expect.stringMatching(/too large for the cassette/) as string,
      });
  });
});

describe('time', () => {
  const hang = defineTool({ name: 'hang', mode: 'read', timeoutMs: 15, run: () => new Promise(() => {}) });

  test('time of a recorded timeout passes at once on a real clock', async () => {
    // The test runs out of time if it waits for the timeout of the tool.
    const cassette = await record([hang], [['a', 'hang']]);
    const slow = defineTool({ name: 'hang', mode: 'read', timeoutMs: 3_600_000, run: () => 1 });
    const { outcomes } = await play(cassette, [slow], [['a', 'hang']]);
    expect(outcomes).toMatchObject([{ type: 'ToolTimeout', code: 'tool.timeout' }]);
  });

  test('time of recorded timeouts passes on the given clock, once for parallel calls', async () => {
    const calls: Asked[] = [
      ['a', 'hang', { n: 1 }],
      ['b', 'hang', { n: 2 }],
    ];
    const taken = await record([hang], calls);
    // A busy machine may have exceeded the deadline; that is not under test here.
    const text = writeCassette(taken).replaceAll(/"elapsed_ms": \d+/g, '"elapsed_ms": 15');
    const clock = createManualClock();
    const recorded = recordedTools(readCassette(sealCassette(text)), [hang], { clock });
    const turn = createRuntime({ tools: recorded.tools, clock }).turn({ sessionId: 's' });
    const outcomes = await turn.callAll(calls.map(([id, name, args]) => envelope(id, name, { ...args })));
    expect(outcomes).toMatchObject([
      { type: 'ToolTimeout', elapsedMs: 15 },
      { type: 'ToolTimeout', elapsedMs: 15 },
    ]);
    expect(clock.monotonicMs()).toBe(15);
  });

  test('time of a silent tool, and of one that may now take longer, still runs out', async () => {
    const idle = (timeoutMs: number): AnyTool =>
      defineTool({
        name: 'idle',
        mode: 'read',
        timeoutMs,
        idleTimeoutMs: 20,
        run: async (_, { progress }) => {
          for (let n = 0; n < 3; n++) {
            progress();
            await new Promise((resolve) => setTimeout(resolve, 10));
          }
          return new Promise(() => {});
        },
      });
    const cassette = await record(
      [idle(5_000), hang],
      [
        ['a', 'idle'],
        ['b', 'hang'],
      ],
    );
    const [first] = cassette.calls;
    const recordedMs = first !== undefined && 'elapsedMs' in first.outcome ? first.outcome.elapsedMs : 0;
    const clock = createManualClock();
    const slower = defineTool({ name: 'hang', mode: 'read', timeoutMs: 60_000, run: () => 1 });
    const { outcomes } = await play(
      cassette,
      [idle(5_000), slower],
      [
        ['a', 'idle'],
        ['b', 'hang'],
      ],
      { clock },
      { clock },
    );
    expect(outcomes).toMatchObject([{ type: 'ToolTimeout', elapsedMs: recordedMs }, { type: 'ToolTimeout' }]);
  });
});

test('a terminal result of a tool also ends the turn in a replay', async () => {
  const done = defineTool({
    name: 'done',
    mode: 'read',
    run: () => toolResult({ success: true, terminal: true }),
  });
  const calls: Asked[] = [
    ['a', 'done'],
    ['b', 'echo', { n: 1 }],
  ];
  const { outcomes } = await play(await record([done, echo], calls), [done, echo], calls);
  expect(outcomes).toMatchObject([{ toolResult: { terminal: true } }, { code: 'turn.ended' }]);
});

describe('the schema a call was made under', () => {
  const version = (type: string): AnyTool =>
    defineTool({
      name: 'v',
      mode: 'read',
      input: { type: 'object', properties: { n: { type } } },
      run: () => ({ type }),
    });

  test('is in the ledger: a cassette detects a change even without the tools', async () => {
    const ledger = createMemoryLedger();
    await make([version('integer')], ledger, [['a', 'v', { n: 1 }]]);
    const cassette = readCassette(writeCassette(await recordCassette(ledger, { sessionId: 's' })));
    expect(cassette.calls[0]?.schemaDigest).toBe(version('integer').schemaDigest);
    const drifted = await play(cassette, [version('number')], [['a', 'v', { n: 1 }]]);
    expect(drifted.outcomes).toMatchObject([
      {
        code: 'tool.fixture_missing',
        payloadExtras: {
          why: 'schema',
          schema_digest: {
            recorded: version('integer').schemaDigest,
            now: version('number').schemaDigest,
          },
        },
      },
    ]);
    const allowed = await play(cassette, [version('number')], [['a', 'v', { n: 1 }]], { drift: 'allow' });
    expect(allowed.outcomes).toMatchObject([{ output: { type: 'integer' } }]);
  });

  test('distinguishes calls of one session before and after it changed', async () => {
    const ledger = createMemoryLedger();
    await make([version('integer')], ledger, [['a', 'v', { n: 1 }]]);
    await make([version('number')], ledger, [['b', 'v', { n: 1 }]]);
    const cassette = readCassette(writeCassette(await recordCassette(ledger, { sessionId: 's' })));
    for (const type of ['integer', 'number'])
      expect((await play(cassette, [version(type)], [['x', 'v', { n: 1 }]])).outcomes).toMatchObject([
        { output: { type } },
      ]);
  });

  test('is missing for a tool without a JSON Schema, and for a missing tool', async () => {
    const own = {
      '~standard': { version: 1 as const, vendor: 'own', validate: (value: unknown) => ({ value }) },
    };
    const opaque = defineTool({ name: 'opaque', mode: 'read', input: own as never, run: () => 1 });
    const ledger = createMemoryLedger();
    await make([opaque], ledger, [
      ['a', 'opaque'],
      ['b', 'nothing'],
    ]);
    const asked = (await ledger.readSession('s')).filter(({ type }) => type === 'tool.requested');
    expect(asked).toMatchObject([{ schemaDigest: undefined }, { schemaDigest: undefined }]);
  });
});
