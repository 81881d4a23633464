/** The content for the model says about a repeat what the twin guard will do with it. */
import type { SuccessCheck, ToolContext, ToolOutcome } from 'quittance';
import {
  defineTool,
  isQuittanceError,
  outcomeBlocksTool,
  outcomeIsRetryable,
  outcomeToModelContent,
  ToolError,
} from 'quittance';
import { outcomeToToolResult } from 'quittance/wire';
import { describe, expect, it } from 'vitest';
import { envelope, expectSettledOnce, quiet, setStage } from '../../../test/stage.ts';

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

describe.each(Object.entries(kinds))('of %s', (_, traits) => {
  it.each(Object.entries(ends))('that %s, the content says what happens to a repeat', async (_end, end) => {
    const stage = await firstOf('pay', traits, end);
    const { first, turn } = stage;
    const content = reply(first);
    const stopped = await isStopped(stage, 'pay');
    const warned = /may have happened; do not repeat it/.test(content.error);
    expect([warned, 'inDoubt' in first]).toEqual([stopped, stopped]);
    expect([stopped && content.retryable, stopped && outcomeIsRetryable(first)]).toEqual([false, false]);
    // Other arguments pass unless the tool itself is at fault.
    const other = await turn.call(envelope('c', 'pay', { to: 'bob' }), { ifHeld: 'return' });
    expect(other.type).toBe(outcomeBlocksTool(first) ? 'ToolDenied' : 'ToolExecutionResult');
    const kept = (await stage.runtime.calls.list({ sessionId: 's', callId: 'a' }))[0]?.settled;
    expect([kept?.content, kept?.outcome]).toEqual([outcomeToModelContent(first), first]);
  });
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
  ['an output of no use', {}, () => 1n, true],
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
