import type { PreToolUse, ToolUse } from 'quittance/runtime';
import { defineTool, ToolDecision } from 'quittance';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

const allow: PreToolUse = () => ToolDecision.allow;
const ask: PreToolUse = () => ToolDecision.requiresConfirmation('are you sure?');
const block: PreToolUse = function policeman() {
  return ToolDecision.block('not on a Sunday');
};

function hooked(onPreToolUse: PreToolUse | readonly PreToolUse[]) {
  const ran: unknown[] = [];
  const asked: string[] = [];
  const stage = setStage({
    tools: [
      defineTool({
        name: 'pay',
        input: z.object({ cents: z.number(), to: z.string().optional() }),
        run: (args) => ran.push(args),
      }),
    ],
    onPreToolUse,
    onConfirm: ({ description }) => {
      asked.push(description);
      return { decision: 'approve', by: 'ada' };
    },
  });
  return { ...stage, ran, asked };
}

describe('hooks', () => {
  it('deny the call when one blocks: the model sees its reason, and its name is recorded', async () => {
    const { ran, runtime, turn } = hooked(block);
    expect(await turn.call(envelope('c', 'pay', { cents: 5 }))).toMatchObject({
      type: 'ToolDenied',
      reason: 'pre_hook',
      code: 'policy.hook',
      details: 'not on a Sunday',
    });
    expect(ran).toEqual([]);
    const [record] = await runtime.calls.audit({ sessionId: 's' });
    expect(record).toMatchObject({
      decidedBy: { type: 'hook', name: 'policeman' },
      outcome: { kind: 'blocked' },
    });
  });

  it.each([
    ['block, ask, allow', [block, ask, allow], 'ToolDenied', 0],
    ['allow, ask, block', [allow, ask, block], 'ToolDenied', 0],
    ['ask, block', [ask, block], 'ToolDenied', 0],
    ['ask, allow', [ask, allow], 'ToolExecutionResult', 1],
    ['allow, ask', [allow, ask], 'ToolExecutionResult', 1],
    ['allow, allow', [allow, allow], 'ToolExecutionResult', 0],
    ['nobody', [], 'ToolExecutionResult', 0],
  ] as const)('are all asked, and block beats ask beats allow: %s', async (_, hooks, expected, questions) => {
    const { asked, turn } = hooked(hooks);
    expect(await turn.call(envelope('c', 'pay', { cents: 5 }))).toMatchObject({ type: expected });
    expect(asked).toHaveLength(questions);
  });

  it('hooks that ask twice make one question', async () => {
    const { asked, turn } = hooked([ask, () => ToolDecision.requiresConfirmation('really?')]);
    await turn.call(envelope('c', 'pay', { cents: 5 }));
    expect(asked).toEqual(['are you sure? really?']);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['true', true],
    ['text', 'allow'],
    ['an object of another shape', { decision: 'allow' }],
    ['an unknown type', { type: 'permit' }],
    ['an inherited type', Object.create({ type: 'Allow' })],
    ['an array', ['allow']],
  ])('block when they answer %s', async (_, answer) => {
    const { ran, runtime, turn } = hooked((() => answer) as PreToolUse);
    expect(await turn.call(envelope('c', 'pay', { cents: 5 }))).toMatchObject({
      reason: 'pre_hook',
      details: 'A check of the host gave no usable answer, so the call was not allowed.',
    });
    expect(JSON.stringify(await eventsOf(runtime, 'tool.responded'))).toContain('must return ToolDecision');
    expect(ran).toEqual([]);
  });

  it.each<[string, PreToolUse]>([
    [
      'throws',
      () => {
        throw new Error('no database');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no database'))],
    [
      'throws nothing',
      () => {
        throw undefined;
      },
    ],
    [
      'gives an answer that throws when read',
      () => ({
        get type(): never {
          throw new Error('no database');
        },
      }),
    ],
  ])('block when one %s', async (_, hook) => {
    const { ran, runtime, turn } = hooked([allow, hook]);
    expect(await turn.call(envelope('c', 'pay', { cents: 5 }))).toMatchObject({ reason: 'pre_hook' });
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it('see the effective arguments, after coercion, and the principal', async () => {
    const seen: ToolUse[] = [];
    const { runtime } = hooked((use) => {
      seen.push(use);
      return ToolDecision.allow;
    });
    const turn = runtime.turn({
      sessionId: 's',
      turnId: 't',
      principal: { role: 'clerk' },
      attrs: { trace: 1 },
    });
    await turn.call(envelope('c', 'pay', { cents: '5' }));
    await turn.call(envelope('d', 'pay', { cents: 6 }), { principal: { role: 'boss' }, attrs: { trace: 2 } });
    expect(seen).toMatchObject([
      {
        sessionId: 's',
        turnId: 't',
        callId: 'c',
        toolName: 'pay',
        mode: 'external',
        modeOrigin: 'default',
        arguments: { cents: 5 },
        principal: { role: 'clerk' },
        attrs: { trace: 1 },
      },
      { callId: 'd', principal: { role: 'boss' }, attrs: { trace: 2 } },
    ]);
  });

  it('decide but cannot edit: their writes to the input have no effect', async () => {
    const { ran, turn } = hooked((use) => {
      Reflect.set(use.arguments, 'cents', 1_000_000);
      Reflect.set(use, 'arguments', { cents: 1_000_000 });
      Reflect.defineProperty(use.arguments, 'to', { value: 'mallory', enumerable: true });
      return ToolDecision.allow;
    });
    await turn.call(envelope('c', 'pay', { cents: 5 }));
    expect(ran).toEqual([{ cents: 5 }]);
  });

  it('see secrets in plain text, to judge them, and cannot store them', async () => {
    const seen: unknown[] = [];
    const { turn } = setStage({
      tools: [defineTool({ name: 'login', run: () => 1 })],
      onPreToolUse: ({ arguments: { password } }) => {
        seen.push(password);
        return ToolDecision.allow;
      },
    });
    await turn.call(envelope('c', 'login', { password: 'hunter2' }));
    expect(seen).toEqual(['hunter2']);
  });

  it('are not asked about calls that other gates deny', async () => {
    let heard = 0;
    const { turn } = hooked(() => {
      heard++;
      return ToolDecision.allow;
    });
    await turn.call(envelope('a', 'nope'));
    await turn.call(envelope('b', 'pay', { cents: [] }));
    await turn.end();
    await turn.call(envelope('c', 'pay', { cents: 5 }));
    expect(heard).toBe(0);
  });

  it('hooks that wait leave their time on record', async () => {
    const answer = deferred<ToolDecision>();
    const { clock, runtime, turn } = hooked(() => answer.promise);
    const asked = turn.call(envelope('c', 'pay', { cents: 5 }));
    await quiet();
    clock.advance(30);
    answer.resolve(ToolDecision.allow);
    await asked;
    const [decided] = await eventsOf(runtime, 'tool.decided');
    expect(decided?.gates.find(({ gate }) => gate === 'policy')).toEqual({
      gate: 'policy',
      elapsedUs: 30_000,
    });
  });

  it('may wait, and the call can be cancelled meanwhile', async () => {
    const answer = deferred<ToolDecision>();
    const { ran, runtime, turn } = hooked(() => answer.promise);
    const asked = turn.call(envelope('c', 'pay', { cents: 5 }));
    await quiet();
    turn.cancel('c', 'changed my mind');
    expect(await asked).toMatchObject({
      code: 'tool.cancelled',
      error: expect.stringContaining('changed my mind') as string,
    });
    answer.resolve(ToolDecision.allow);
    await quiet();
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });
});
