/** Common problems in testing agents, each as a test through the public API. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool, ToolOutcome } from 'quittance';
import { createRuntime, defineTool, ToolError } from 'quittance';
import type { CassetteRun, WithCassetteOptions } from 'quittance/testing';
import { createManualClock, faultNames, injectFaults, withCassette } from 'quittance/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { envelope, quiet } from '../stage.ts';

let folder: string;
let charged: unknown[];
let tools: readonly AnyTool[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-evidence-'));
  charged = [];
  tools = [
    defineTool({
      name: 'charge',
      mode: 'external',
      rerun: 'allow',
      input: { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] },
      run: (args) => {
        charged.push(args);
        if (args['cents'] === 13) throw new ToolError('tool.network_error', 'no line');
        return { charged: args['cents'] ?? null };
      },
    }),
  ];
});
afterEach(() => rmSync(folder, { recursive: true }));

type Options = Partial<WithCassetteOptions<readonly AnyTool[]>>;

const run = (
  amounts: readonly number[],
  options: Options = {},
): Promise<{ readonly outcomes: readonly ToolOutcome[]; readonly recording: boolean }> =>
  withCassette(
    join(folder, 'charges.json'),
    { tools, environment: {}, ...options },
    async ({ runtime, sessionId, recording }: CassetteRun<readonly AnyTool[]>) => {
      const outcomes: ToolOutcome[] = [];
      for (const [index, cents] of amounts.entries())
        outcomes.push(await runtime.turn({ sessionId }).call(envelope(`c${index}`, 'charge', { cents })));
      return { outcomes, recording };
    },
  );

describe('recordings (mastra#17466, PR#17737)', () => {
  test('are made once and played from then on, failures as failures', async () => {
    const live = await run([1, 13], { record: 'once' });
    expect([live.recording, charged.length]).toEqual([true, 2]);
    const played = await run([1, 13], { record: 'once' });
    expect([played.recording, charged.length]).toEqual([false, 2]);
    const plain = (outcomes: readonly ToolOutcome[]): unknown =>
      outcomes.map(({ ...outcome }) => ({ ...outcome, elapsedMs: 0 }));
    expect(plain(played.outcomes)).toEqual(plain(live.outcomes));
    expect(played.outcomes[1]).toMatchObject({ type: 'ToolFailure', code: 'tool.network_error' });
  });

  test('never fall through to the live tool: not on other arguments, not on an extra call, not on another tool', async () => {
    await run([1], { record: 'once' });
    charged.length = 0;
    const { outcomes } = await run([2, 1, 1], { allowUnused: true });
    expect(outcomes.map((outcome) => ('code' in outcome ? outcome.code : outcome.type))).toEqual([
      'tool.fixture_missing',
      'ToolExecutionResult',
      'tool.fixture_missing',
    ]);
    const refund = defineTool({ name: 'refund', mode: 'external', run: (args) => charged.push(args) });
    await withCassette(
      join(folder, 'charges.json'),
      { tools: [...tools, refund], environment: {}, allowUnused: true },
      async ({ runtime, sessionId }) =>
        expect(await runtime.turn({ sessionId }).call(envelope('r', 'refund'))).toMatchObject({
          code: 'tool.fixture_missing',
          payloadExtras: { why: 'tool', recorded_tools: ['charge'] },
        }),
    );
    expect(charged).toEqual([]);
  });

  test('recordings (mastra#17466, PR#17737) that are missing fail a test if recording is not allowed, instead of running the tool', async () => {
    await expect(run([1], { record: true, environment: { CI: 'true' } })).rejects.toThrow(
      /no cassette .* nothing is recorded if CI is set/,
    );
    expect(charged).toEqual([]);
  });

  test('recordings (mastra#17466, PR#17737) that were not consumed are reported, and fail the test unless it says otherwise', async () => {
    await run([1, 2, 3], { record: 'once' });
    await expect(run([1])).rejects.toThrow(
      /2 calls of the cassette were not made:\n {2}charge \{"cents":2\} .*\n {2}charge \{"cents":3\}/,
    );
    await expect(run([1], { allowUnused: true })).resolves.toBeDefined();
  });

  test('show the nearest one on a miss, and the difference', async () => {
    await run([500, 900], { record: 'once' });
    const { outcomes } = await run([901], { allowUnused: true });
    expect(outcomes[0]).toMatchObject({
      code: 'tool.fixture_missing',
      error: expect.stringContaining('differs at $.cents'),
      payloadExtras: { why: 'arguments', nearest: { difference: [{ path: '$.cents', now: 901 }] } },
    });
  });

  test('recordings (mastra#17466, PR#17737) of a tool whose schema has changed are refused, not played for another tool', async () => {
    await run([1], { record: 'once' });
    const renamed = defineTool({
      name: 'charge',
      mode: 'external',
      input: { type: 'object', properties: { cents: { type: 'number' } }, required: ['cents'] },
      run: (args) => charged.push(args),
    });
    const before = charged.length;
    const { outcomes } = await run([1], { tools: [renamed], allowUnused: true });
    expect(outcomes[0]).toMatchObject({ code: 'tool.fixture_missing', payloadExtras: { why: 'schema' } });
    expect(charged).toHaveLength(before);
  });

  test('recordings (mastra#17466, PR#17737) that were edited by hand are refused until they are sealed', async () => {
    await run([1], { record: 'once' });
    const file = join(folder, 'charges.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"charged": 1', '"charged": 2'));
    await expect(run([1])).rejects.toThrow('quittance cassette seal FILE');
  });
});

describe('faults (openai-agents-python PR#2748)', () => {
  test.each(faultNames)('%s can be injected into any tool, and ends in one typed outcome', async (fault) => {
    const clock = createManualClock();
    const [tool] = tools as [AnyTool];
    const runtime = createRuntime({ tools: [injectFaults(tool, [{ on: 1, fault }])], clock });
    const turn = runtime.turn({ sessionId: 's' });
    const asked = turn.call(envelope('faulty', 'charge', { cents: 1 }));
    let settled = false;
    void asked.then(() => (settled = true));
    for (let round = 0; round < 20 && !settled; round++) {
      await quiet();
      clock.advance(60_000);
    }
    const outcome = await asked;
    const expected: { readonly [name: string]: object } = {
      timeout: { type: 'ToolTimeout' },
      network_error: { code: 'tool.network_error', retryable: true },
      network_error_after: { code: 'tool.network_error' },
      invalid_output: { code: 'tool.invalid_output' },
      late_result: { type: 'ToolTimeout' },
      crash: { type: 'ToolTimeout' },
      throws_undefined: { code: 'tool.execution_error' },
      settles_twice: { type: 'ToolExecutionResult' },
      reported_error: { code: 'tool.reported_error' },
    };
    expect(outcome).toMatchObject(expected[fault] ?? { type: 'nothing is expected of this fault yet' });
    // The next run is the tool itself again.
    expect(
      await runtime.turn({ sessionId: 'next' }).call(envelope('fine', 'charge', { cents: 2 })),
    ).toMatchObject({ type: 'ToolExecutionResult', output: { charged: 2 } });
  });

  test('have fixed names: an unknown name is refused with the known ones', () => {
    const [tool] = tools as [AnyTool];
    expect(() => injectFaults(tool, [{ fault: 'time_out' as never }])).toThrow(/timeout/);
  });
});
