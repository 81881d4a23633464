/** The content for the model says about a repeat what the twin guard will do with it. */
import type {
  JsonObject,
  Runtime,
  SuccessCheck,
  ToolContext,
  ToolDenied,
  ToolOutcome,
  Turn,
} from 'quittance';
import type { HandoffReport } from 'quittance/runtime';
import {
  defineTool,
  isQuittanceError,
  outcomeBlocksTool,
  outcomeIsRetryable,
  outcomeToModelContent,
  ToolError,
  toolResult,
} from 'quittance';
import { contracts } from 'quittance/contracts';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { outcomeToToolResult } from 'quittance/wire';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { alterLedger } from '../../../../test/alter-ledger.ts';
import { envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

const hang = (): Promise<never> => new Promise(() => undefined);
const fail =
  (error: unknown): (() => Promise<never>) =>
  () =>
    Promise.reject(error as Error);

/** Every way in which a body can end without success. */
const ends: Readonly<Record<string, (context: ToolContext) => unknown>> = {
  'runs out of time': hang,
  throws: fail(new Error('socket hang up')),
  'throws no error': fail({ status: 502 }),
  'loses the connection': fail(Object.assign(new Error('x'), { code: 'ECONNRESET' })),
  'does not know': fail(new ToolError('tool.indeterminate', 'x')),
  'says it is final': fail(new ToolError('tool.execution_error', 'x', { retryable: false })),
  'says it is safe to retry': fail(new ToolError('tool.network_error', 'x', { retryable: true })),
  'gives what JSON cannot hold': () => 1n,
  'reports an error': () => ({ error: 'no money' }),
  'throws a reported error': fail(new ToolError('tool.reported_error', 'no money')),
  'says the arguments are wrong': fail(new ToolError('tool.invalid_input', 'x')),
  'refuses before any effect': fail(new ToolError('tool.execution_error', 'x', { effect: 'none' })),
  'refuses for good before any effect': fail(
    new ToolError('tool.execution_error', 'x', { effect: 'none', retryable: false }),
  ),
  'fails with a result that ends the turn': () => toolResult({ success: false, error: 'no money' }),
  'fails with a result that lets the model go on': () =>
    toolResult({ success: false, needsFollowup: true, error: 'no money' }),
  'ends the turn with an explicit result': () =>
    toolResult({ success: false, terminal: true, error: 'no money' }),
};

type Traits = {
  readonly mode?: 'read' | 'external' | 'safe_write';
  readonly idempotent?: boolean;
  readonly rerun?: 'ask' | 'deny' | 'allow';
  readonly retryOnTimeout?: boolean;
  readonly successCheck?: SuccessCheck;
};

/** Every kind of tool. */
const kinds: Readonly<Record<string, Traits>> = {
  'an effect': { mode: 'external' },
  'an effect that denies repeats': { mode: 'external', rerun: 'deny' },
  'an effect that allows repeats': { mode: 'external', rerun: 'allow' },
  'an effect not to retry after a timeout': { mode: 'safe_write', retryOnTimeout: false },
  'an idempotent effect': { mode: 'external', idempotent: true },
  'a read': { mode: 'read' },
};

async function firstOf(name: string, traits: Traits, end: (context: ToolContext) => unknown) {
  let runs = 0;
  const stage = setStage({
    tools: [
      defineTool({
        name,
        timeoutMs: 100,
        ...traits,
        run: (_, context) => (runs++ === 0 ? end(context) : 'done'),
      }),
    ],
  });
  const asked = stage.turn.call(envelope('a', name, { to: 'ada' }));
  await quiet();
  stage.clock.advance(100);
  return { ...stage, first: await asked };
}

/** Makes the call again with another id in a new turn. */
async function isStopped(stage: Awaited<ReturnType<typeof firstOf>>, name: string): Promise<boolean> {
  const again = await stage.runtime
    .turn({ sessionId: 's' })
    .call(envelope('b', name, { to: 'ada' }), { ifHeld: 'return' });
  return again.type === 'pending' || (again.type === 'ToolDenied' && again.code === 'call.twin');
}

const reply = (outcome: ToolOutcome): { error: string; retryable: boolean } =>
  JSON.parse(outcomeToModelContent(outcome)) as { error: string; retryable: boolean };

/** Does the content say something else than what happened to a call with other arguments? */
function isLie(said: { error: string; retryable: boolean }, other: { type: string }): boolean {
  const runs = other.type === 'ToolExecutionResult';
  const saysRuns = said.retryable || /other arguments are not affected/.test(said.error);
  const saysBlocked = /cannot be used again in this turn/.test(said.error);
  return (saysRuns && !runs) || (saysBlocked && runs);
}

describe.each(Object.entries(kinds))('of %s', (_, traits) => {
  it.each(Object.entries(ends))('that %s, the content says what happens to a repeat', async (_end, end) => {
    const stage = await firstOf('pay', traits, end);
    const { first, turn } = stage;
    const content = reply(first);
    const stopped = await isStopped(stage, 'pay');
    const warned = /may have happened; do not repeat it/.test(content.error);
    expect([warned, 'inDoubt' in first]).toEqual([stopped, stopped]);
    expect([stopped && content.retryable, stopped && outcomeIsRetryable(first)]).toEqual([false, false]);
    // Other arguments pass unless the tool itself is at fault, and the content says which.
    const other = await turn.call(envelope('c', 'pay', { to: 'bob' }), { ifHeld: 'return' });
    const isOver = other.type === 'ToolDenied' && other.reason === 'ended';
    const expected = isOver || outcomeBlocksTool(first) ? 'ToolDenied' : 'ToolExecutionResult';
    expect([other.type, isLie(content, other)]).toEqual([expected, false]);
    const kept = (await stage.runtime.calls.list({ sessionId: 's', callId: 'a' }))[0]?.settled;
    expect([kept?.content, kept?.outcome]).toEqual([outcomeToModelContent(first), first]);
  });
});

/** Every way in which a worker can end a call without success. */
const reports: Readonly<Record<string, HandoffReport | 'nothing' | 'no claim' | 'a cancellation'>> = {
  'never claims': 'no claim',
  'runs out of time': 'nothing',
  'is cancelled': 'a cancellation',
  'reports a failure': { error: 'socket hang up' },
  'does not know': { error: 'x', code: 'tool.indeterminate' },
  'reports a final failure': { error: 'x', retryable: false },
  'reports that a retry is safe': { error: 'x', code: 'tool.network_error', retryable: true },
  'reports wrong arguments': { error: 'x', code: 'tool.invalid_input' },
  'reports a failure before any effect': { error: 'x', effect: 'none' },
  'reports a final failure before any effect': { error: 'x', effect: 'none', retryable: false },
  'reports an error': { output: { error: 'no money' } },
  'reports a result that ends the turn': toolResult({ success: false, error: 'no money' }),
  'reports a result that lets the model go on': toolResult({
    success: false,
    needsFollowup: true,
    error: 'no money',
  }),
};

describe.each(Object.entries(kinds))('of %s that a worker runs', (_, traits) => {
  it.each(Object.entries(reports))(
    'of a call that a worker %s, the content says what happens to a repeat',
    async (_end, report) => {
      const name = 'pay';
      const { runtime, turn, clock } = setStage({
        tools: [defineTool({ name, timeoutMs: 100, handoff: true, ...traits })],
      });
      const asked = turn.call(envelope('a', name, { to: 'ada' }));
      await quiet();
      const claim =
        report === 'no claim'
          ? undefined
          : await runtime.handoffs.claim({ sessionId: 's', callId: 'a' }, { worker: 'w' });
      if (report === 'a cancellation') turn.cancel('a');
      else if (typeof report === 'object') await runtime.handoffs.report(claim?.token ?? '', report);
      await quiet();
      clock.advance(100);
      const first = await asked;
      const content = reply(first);
      const again = await goesTo(runtime, runtime.turn({ sessionId: 's' }), 'b', { to: 'ada' });
      const stopped = again === 'a person' || (again !== 'a worker' && again.code === 'call.twin');
      const warned = /may have happened; do not repeat it/.test(content.error);
      expect([warned, 'inDoubt' in first]).toEqual([stopped, stopped]);
      expect([stopped && content.retryable, stopped && outcomeIsRetryable(first)]).toEqual([false, false]);
      const other = await goesTo(runtime, turn, 'c', { to: 'bob' });
      const isOver = typeof other === 'object' && other.reason === 'ended';
      expect(other === 'a worker').toBe(!isOver && !outcomeBlocksTool(first));
      expect(isLie(content, { type: other === 'a worker' ? 'ToolExecutionResult' : 'ToolDenied' })).toBe(
        false,
      );
    },
  );
});

/** What a new call of the worker's tool meets. */
async function goesTo(
  runtime: Runtime,
  turn: Pick<Turn, 'call'>,
  callId: string,
  args: JsonObject,
): Promise<ToolDenied | 'a worker' | 'a person'> {
  const asked = turn.call(envelope(callId, 'pay', args), { ifHeld: 'return' });
  for (let round = 0; round < 5; round++) await quiet();
  const waiting = await runtime.handoffs.list();
  if (waiting.some((handoff) => handoff.callId === callId)) return 'a worker';
  const answer = await asked;
  if (answer.type === 'pending') return 'a person';
  if (answer.type === 'ToolDenied') return answer;
  throw new Error(`Call ${callId} ended as ${answer.type}.`);
}

describe('a refusal before any effect leaves no doubt', () => {
  const none = { effect: 'none' } as const;

  it.each([
    ['retryable', none],
    ['final', { ...none, retryable: false }],
  ])('if the body throws it: %s', async (_, options) => {
    const end = fail(new ToolError('tool.execution_error', 'no such order', options));
    const stage = await firstOf('pay', { mode: 'external' }, end);
    expect(stage.first).not.toHaveProperty('inDoubt');
    expect(await isStopped(stage, 'pay')).toBe(false);
  });

  it('if a worker reports it', async () => {
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'pay', mode: 'external', handoff: true })],
    });
    const asked = turn.call(envelope('a', 'pay', { to: 'ada' }));
    await quiet();
    const { token } = await runtime.handoffs.claim({ sessionId: 's', callId: 'a' }, { worker: 'w' });
    await runtime.handoffs.report(token, { error: 'no such order', ...none });
    expect(await asked).not.toHaveProperty('inDoubt');
    expect(await goesTo(runtime, runtime.turn({ sessionId: 's' }), 'b', { to: 'ada' })).toBe('a worker');
  });
});

/** A text that only an exception contains. */
const mark = 'qwxyzvutsrpo';
const broken = (): never => {
  throw new Error(mark);
};
const isRejected = (): Promise<never> => Promise.reject(new Error(mark));

type AfterBody = {
  readonly traits?: Traits & { readonly output?: unknown };
  readonly result?: unknown;
  readonly rule?: () => never | Promise<never>;
  readonly put?: () => Promise<never>;
};

/** Every way in which the work after a body can fail. */
const checks: Readonly<Record<string, AfterBody>> = {
  'a success check that throws': { traits: { successCheck: broken } },
  'a success check that rejects': { traits: { successCheck: isRejected } },
  'a success check that never answers': { traits: { successCheck: hang } },
  'a success check that answers nothing': { traits: { successCheck: () => undefined as never } },
  'a success check that answers with text': { traits: { successCheck: () => 'yes' as never } },
  'an output schema that throws': { traits: { output: z.unknown().refine(broken) } },
  'an output schema that rejects': { traits: { output: z.unknown().refine(isRejected) } },
  'an output schema that never answers': { traits: { output: z.unknown().refine(hang) } },
  'an output schema that answers with nothing': {
    traits: { output: { '~standard': { version: 1, vendor: 'odd', validate: () => undefined as never } } },
  },
  'an output schema that does not fit': { traits: { output: z.object({ paid: z.literal(true) }) } },
  'an output that JSON cannot hold': { result: 1n },
  'a rule on results that throws': { rule: broken },
  'a rule on results that rejects': { rule: isRejected },
  'a rule on results that never answers': { rule: hang },
  'an artifact that cannot be stored': { result: 'x'.repeat(20_000), put: isRejected },
  'an artifact whose write never ends': { result: 'x'.repeat(20_000), put: hang },
  'an output that throws while it is read': {
    result: Object.defineProperty({}, 'id', { enumerable: true, get: broken }),
  },
};

describe.each(Object.entries(checks))('after the body, %s', (_, { traits, result = 'paid', rule, put }) => {
  const start = (idempotent: boolean) => {
    let runs = 0;
    const clock = createManualClock();
    const memory = createMemoryLedger({ clock });
    const stage = setStage({
      clock,
      ledger: put === undefined ? memory : alterLedger(memory, { putArtifact: put }),
      tools: [
        defineTool({
          name: 'pay',
          mode: 'external',
          idempotent,
          timeoutMs: 100,
          ...traits,
          run: () => (runs++ === 0 ? result : 'paid again'),
        } as never),
      ],
      ...(rule !== undefined && { contracts: contracts({ rules: [{ id: 'odd', after: rule }] }) }),
    });
    const call = async (id: string, to: string) => {
      const asked = stage.turn.call(envelope(id, 'pay', { to }), { ifHeld: 'return' });
      for (let round = 0; round < 4; round++) {
        await quiet();
        stage.clock.advance(1_000);
      }
      return asked;
    };
    return { ...stage, call, runs: () => runs };
  };

  it('fails, invites no repeat, and holds one for a person', async () => {
    const { call, runs } = start(false);
    const first = await call('a', 'ada');
    expect(first).toMatchObject({ type: 'ToolFailure', retryable: false, inDoubt: true });
    if (first.type === 'pending') throw new Error('It is held.');
    expect(outcomeBlocksTool(first)).toBe(false);
    expect(reply(first)).toEqual({
      status: 'error',
      error: expect.stringMatching(/do not repeat it.*other arguments are not affected/) as string,
      retryable: false,
    });
    expect(JSON.stringify(first)).not.toContain(mark);
    expect(await call('b', 'ada')).toMatchObject({ type: 'pending' });
    expect(runs()).toBe(1);
    await call('c', 'bob');
    expect(runs()).toBe(2);
  });

  it('is not worth a retry even if the tool may run again', async () => {
    const { call } = start(true);
    expect(await call('a', 'ada')).toMatchObject({ type: 'ToolFailure', retryable: false });
  });
});

it('records why a success check failed, for the developer only', async () => {
  const { runtime, turn } = setStage({
    tools: [defineTool({ name: 'pay', mode: 'external', successCheck: broken, run: () => 'paid' })],
  });
  const outcome = await turn.call(envelope('a', 'pay'));
  expect(JSON.stringify(outcome)).not.toContain(mark);
  const [ended] = await eventsOf(runtime, 'tool.responded');
  expect(JSON.stringify(ended?.log)).toContain(mark);
});

it.each<[string, Traits, (context: ToolContext) => unknown, boolean]>([
  ['a timeout', {}, hang, false],
  ['an exception', {}, fail(new Error('x')), false],
  ['a timeout of a tool that says so', { retryOnTimeout: false }, hang, true],
  [
    'an error its author calls final',
    {},
    fail(new ToolError('tool.network_error', 'x', { retryable: false })),
    true,
  ],
  ['an output of no use', {}, () => 1n, false],
])('an unknown effect of one call does not block its tool: %s', async (_, traits, end, closes) => {
  const { first, turn } = await firstOf('pay', { mode: 'external', ...traits }, end);
  expect(first).toMatchObject({ retryable: false, inDoubt: true });
  expect(outcomeBlocksTool(first)).toBe(closes);
  expect(outcomeToToolResult(first)).toMatchObject({ success: false, nextAction: 'await_person' });
  const other = await turn.call(envelope('c', 'pay', { to: 'bob' }));
  expect(other).toMatchObject(closes ? { code: 'call.blocked' } : { output: 'done' });
});

describe('a held twin', () => {
  it('says what it waits for while it is held, and after no person decided', async () => {
    const { clock, runtime, turn } = await firstOf('pay', { mode: 'external' }, hang);
    const twin = envelope('b', 'pay', { to: 'ada' });
    const pending = await turn.call(twin, { ifHeld: 'return' });
    expect(pending).toMatchObject({
      type: 'pending',
      waitsFor: expect.stringMatching(/Call a .*took effect/) as string,
    });
    const short = runtime.turn({ sessionId: 's', timeoutMs: 10 });
    const [listed, thrown] = await Promise.all([
      short.callAll([twin]),
      short.call(twin).catch((error: unknown) => error),
      quiet().then(() => clock.advance(10)),
    ]);
    expect(listed).toEqual([pending]);
    if (!isQuittanceError(thrown, 'call.pending'))
      throw new Error('It did not say that the call is pending.');
    expect(thrown.message).toMatch(/Call a .*took effect.*Do not make it again/);
    const asked = turn.call(twin);
    await quiet();
    clock.advance(86_400_000);
    const outcome = await asked;
    expect(outcome).toMatchObject({ code: 'confirmation.expired' });
    expect(outcomeToModelContent(outcome)).toMatch(/waited for a person: Call a /);
    await expectSettledOnce(runtime);
  });
});
