/** Telemetry that breaks changes no outcome. */
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import type { RuntimeTrouble } from 'quittance/runtime';
import { createManualClock } from 'quittance/testing';
import type { CallTelemetry, Telemetry } from '@quittance/opentelemetry';
import { expect, test } from 'vitest';
import { z } from 'zod';

const fail = (): never => {
  throw new Error('The exporter is gone.');
};

const working: CallTelemetry = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  isRecording: true,
  attemptTraceparent: undefined,
  note: () => undefined,
  runBody: (run) => run(),
  end: () => undefined,
};

const rejects = (() => Promise.reject(new Error('Asynchronous.'))) as unknown as () => never;
/** Time stands still for the runtimes of this file, except in a slow telemetry. */
const clock = createManualClock();
const block = (ms: number): void => clock.advance(ms);

const broken: readonly (readonly [string, Telemetry])[] = [
  ['startCall throws', { startCall: fail }],
  ['startCall is asynchronous', { startCall: rejects }],
  ['note throws', { startCall: () => ({ ...working, note: fail }) }],
  ['note rejects', { startCall: () => ({ ...working, note: rejects }) }],
  ['runBody throws', { startCall: () => ({ ...working, runBody: fail }) }],
  ['runBody never runs the body', { startCall: () => ({ ...working, runBody: (() => 'other') as never }) }],
  [
    'runBody runs the body twice',
    {
      startCall: () => ({
        ...working,
        runBody: (run) => {
          run();
          return run();
        },
      }),
    },
  ],
  [
    'runBody throws after the body',
    {
      startCall: () => ({
        ...working,
        runBody: (run) => {
          run();
          return fail();
        },
      }),
    },
  ],
  ['runBody rejects', { startCall: () => ({ ...working, runBody: rejects }) }],
  [
    'runBody is asynchronous',
    { startCall: () => ({ ...working, runBody: (async (run: () => unknown) => run()) as never }) },
  ],
  ['end rejects', { startCall: () => ({ ...working, end: rejects }) }],
  ['end throws', { startCall: () => ({ ...working, end: fail }) }],
  ['the context is nonsense', { startCall: () => ({ ...working, traceparent: 'x\n' }) }],
  [
    'a getter throws',
    { startCall: () => Object.defineProperty({ ...working }, 'traceparent', { get: fail }) },
  ],
  ['noteTime throws', { startCall: () => working, noteTime: fail }],
  ['watchCounts throws', { startCall: () => working, watchCounts: fail }],
  ['what ends the counts throws', { startCall: () => working, watchCounts: () => fail }],
  ['the answer has no functions', { startCall: () => ({ isRecording: true }) as never }],
  [
    'everything is slow',
    {
      startCall: () => ({
        ...working,
        note: () => block(15),
        runBody: (run) => {
          block(40);
          const value = run();
          block(40);
          return value;
        },
        end: () => block(15),
      }),
      noteTime: () => block(15),
    },
  ],
];

test.for(broken)('[one-outcome] %s: outcomes and runs stay the same', async ([, telemetry]) => {
  const troubles: RuntimeTrouble[] = [];
  const answers = await outcomesOf((tools) =>
    createRuntime({ tools, clock, telemetry, onTrouble: (trouble) => void troubles.push(trouble) }),
  );
  expect(answers).toEqual(await outcomesOf((tools) => createRuntime({ tools, clock })));
  expect(troubles.filter(({ type }) => type !== 'telemetry.failed')).toEqual([]);
  // One report, however many calls it fails for. A failure of a body is not one of the telemetry.
  expect(troubles.length).toBeLessThanOrEqual(1);
  expect(troubles.filter(({ message }) => message.includes('mistake'))).toEqual([]);
});

test('a failure of the telemetry is reported once, without secrets', async () => {
  const troubles: RuntimeTrouble[] = [];
  const leak = `sk-${'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG'}`;
  await outcomesOf((tools) =>
    createRuntime({
      tools,
      telemetry: {
        startCall: () => {
          throw new Error(`No answer for ${leak}`);
        },
      },
      onTrouble: (trouble) => void troubles.push(trouble),
    }),
  );
  expect(troubles.map(({ type, message }) => [type, message.includes(leak)])).toEqual([
    ['telemetry.failed', false],
  ]);
});

type Tools = ReturnType<typeof makeTools>;

function makeTools(count: () => void) {
  const input = z.object({});
  // A slow telemetry must not use up this time.
  const timeoutMs = 30;
  return [
    defineTool({
      name: 'works',
      mode: 'external',
      timeoutMs,
      input,
      run: () => {
        count();
        return { done: true };
      },
    }),
    defineTool({
      name: 'waits',
      mode: 'external',
      timeoutMs: 5_000,
      input,
      run: async () => {
        await Promise.resolve();
        count();
        return { waited: true };
      },
    }),
    defineTool({
      name: 'throws',
      mode: 'external',
      timeoutMs,
      input,
      run: () => {
        count();
        throw new TypeError('Its own mistake.');
      },
    }),
    defineTool({
      name: 'fails_later',
      mode: 'external',
      timeoutMs: 5_000,
      input,
      run: async () => {
        await Promise.resolve();
        count();
        throw new TypeError('A late mistake.');
      },
    }),
  ] as const;
}

async function outcomesOf(create: (tools: Tools) => Pick<Runtime, 'turn' | 'close'>): Promise<unknown> {
  let runs = 0;
  const runtime = create(makeTools(() => runs++));
  const turn = runtime.turn({ sessionId: 's' });
  const outcomes: unknown[] = [];
  for (const name of ['works', 'waits', 'throws', 'fails_later', 'missing']) {
    const outcome = await turn.call({ id: name, name, arguments: {} });
    // The time differs, and so do the frames between the caller and the tool.
    const text = JSON.stringify(outcome, (key, value: unknown) =>
      key === 'elapsedMs' || key === 'traceback' ? undefined : value,
    );
    outcomes.push(JSON.parse(text));
  }
  await runtime.close();
  return { runs, outcomes };
}
