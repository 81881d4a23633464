/** A tool's own messages reach the model, the record and the developer. */
import {
  defineTool,
  isToolError,
  outcomeToModelContent,
  successChecks,
  ToolError,
  toolResult,
  unwrap,
} from 'quittance';
import { outcomeToToolResult } from 'quittance/wire';
import type { SuccessCheck, ToolOutcome } from 'quittance';
import { describe, expect, it } from 'vitest';
import { thrownBy } from '../../../../test/thrown-by.ts';
import {
  auditKinds,
  envelope,
  eventsOf,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';

const reply = (outcome: ToolOutcome): { error: string } =>
  JSON.parse(outcomeToModelContent(outcome)) as { error: string };

async function outcomeOf(value: unknown, traits: { successCheck?: SuccessCheck; inlineLimit?: number } = {}) {
  const stage = setStage({ tools: [defineTool({ name: 'get_it', ...traits, run: () => value })] });
  const outcome = await stage.turn.call(envelope('c', 'get_it'));
  await expectSettledOnce(stage.runtime);
  return { ...stage, outcome };
}

describe('a custom success check', () => {
  it.each<[string, SuccessCheck]>([
    ['with a reason', () => ({ ok: false, reason: 'The status is 500.' })],
    ['without one', () => false],
    ['that waits', async () => Promise.resolve({ ok: false, reason: 'later' })],
    [
      'that throws',
      () => {
        throw new Error('boom');
      },
    ],
    ['that is ready-made', successChecks.httpStatus],
  ])('%s does not hide the tool’s output', async (_, successCheck) => {
    const { outcome } = await outcomeOf({ status: 500, detail: { code: 'E_QUOTA' } }, { successCheck });
    expect(reply(outcome).error).toContain('{"status":500,"detail":{"code":"E_QUOTA"}}');
  });

  it('shows at most 2,000 characters of the output, and the reason before them', async () => {
    const { outcome } = await outcomeOf('x'.repeat(50_000), {
      successCheck: () => ({ ok: false, reason: 'Too long.' }),
    });
    expect(reply(outcome).error).toBe(`Too long. Output: ${'x'.repeat(1_999)}…`);
  });

  it('shows the output without its secrets, and without what the reason already contains', async () => {
    const secret = `sk-${'a1'.repeat(24)}`;
    const { outcome } = await outcomeOf({ key: secret, why: 'no' }, { successCheck: () => false });
    expect(reply(outcome).error).toContain('"why":"no"');
    expect(reply(outcome).error).not.toContain(secret);
    const { outcome: same } = await outcomeOf('no paper', {
      successCheck: (_, text) => ({ ok: false, reason: String(text) }),
    });
    expect(reply(same).error).toBe('no paper');
  });

  it('a custom success check of the runtime does not hide it either; the default check shows it if the tool has no message', async () => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'get_it', run: () => ({ rows: 0 }) })],
      successCheck: () => false,
    });
    expect(reply(await turn.call(envelope('c', 'get_it'))).error).toContain('{"rows":0}');
    expect(reply((await outcomeOf({ success: false, code: 'E7' })).outcome).error).toContain('"code":"E7"');
    expect(reply((await outcomeOf({ error: 'no luck', code: 'E7' })).outcome).error).toBe('no luck');
  });
});

describe('the message of a ToolResult', () => {
  const long = 'x'.repeat(20_000);
  it.each<[string, unknown]>([
    ['of a success', toolResult({ success: true, message: 'Event created.' })],
    ['of a plain success', { success: true, message: 'Event created.' }],
    [
      'of a long success',
      toolResult({ success: true, data: { long }, message: 'Event created.', more: long }),
    ],
    ['of a long plain success', { success: true, data: { long }, message: 'Event created.', more: long }],
    [
      'of a failure',
      toolResult({ success: false, needsFollowup: true, error: 'Invalid date', message: 'Event created.' }),
    ],
    [
      'of a failure without an error',
      toolResult({ success: false, needsFollowup: true, message: 'Event created.' }),
    ],
    ['of a plain failure', { success: false, error: 'Invalid date', message: 'Event created.' }],
    [
      'of a long failure',
      toolResult({
        success: false,
        needsFollowup: true,
        error: 'Invalid date',
        message: 'Event created.',
        data: { long },
      }),
    ],
  ])('%s reaches the model', async (_, value) => {
    const { outcome } = await outcomeOf(value);
    expect(`${outcomeToModelContent(outcome)} ${outcome.modelNote ?? ''}`).toContain('Event created.');
    expect(outcomeToModelContent(outcome)).not.toContain('Event created. Event created.');
  });

  it('reaches the model even if a custom check decides', async () => {
    const value = { success: false, data: { long }, message: 'Please retry with ISO-8601.' };
    const { outcome } = await outcomeOf(value, { successCheck: () => ({ ok: false, reason: 'no' }) });
    expect(reply(outcome).error).toMatch(/^no\. Please retry with ISO-8601\. Output: /);
  });
});

describe('a plain object that looks like a ToolResult', () => {
  it.each([
    [{ success: true, terminal: true, message: 'Done.', data: { id: 1 } }],
    [{ success: false, terminal: true, error: 'closed', message: 'Closed.' }],
    [{ success: false, error: 'closed', extra: [1] }],
  ])('%j ends no turn and is not wrapped again', async (value) => {
    const { outcome, turn, runtime } = await outcomeOf(value);
    const { terminal: _, ...kept } = value as Record<string, unknown>;
    expect(outcomeToToolResult(outcome)).toEqual({ ...kept, needsFollowup: true });
    const [record] = await runtime.calls.audit({ sessionId: 's', callId: 'c' });
    expect(record?.outcome).toMatchObject({ kind: 'completed', result: { ...kept, needsFollowup: true } });
    expect((await turn.call(envelope('d', 'get_it', { n: 2 }))).type).not.toBe('ToolDenied');
  });

  it('ends the turn when the tool made it with toolResult()', async () => {
    const { turn } = await outcomeOf(toolResult({ success: true, terminal: true }));
    expect(await turn.call(envelope('d', 'get_it', { n: 2 }))).toMatchObject({ code: 'turn.ended' });
  });
});

describe('a thrown value that is not an error', () => {
  it.each<[string, unknown]>([
    ['an object', { status: 502, reason: 'bad gateway' }],
    ['a list', [1, 2]],
    ['an empty object', {}],
    ['null', null],
    ['a symbol', Symbol('x')],
    [
      'a proxy',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no');
          },
        },
      ),
    ],
    ['a function', () => undefined],
  ])('is described: %s', async (_, thrown) => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          run: () => {
            throw thrown;
          },
        }),
      ],
    });
    const outcome = await turn.call(envelope('c', 'get_it'));
    expect(outcome).toMatchObject({ code: 'tool.execution_error' });
    expect(reply(outcome).error).toMatch(/^The tool threw .* instead of an error\.$/);
    expect(reply(outcome).error).not.toContain('[object ');
  });

  it('is stored in the extras, its secrets hidden in both places', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          run: () => {
            throw { status: 401, password: 'correct horse battery' };
          },
        }),
      ],
    });
    const outcome = await turn.call(envelope('c', 'get_it'));
    expect(outcome).toMatchObject({ payloadExtras: { thrown: { status: 401 } } });
    expect(JSON.stringify(outcome)).not.toContain('correct horse');
  });
});

describe('the ToolError of an outcome', () => {
  it.each<[string, string, Parameters<typeof defineTool>[0]['run']]>([
    [
      'a timeout',
      'tool.timeout',
      (_, context) => {
        context.record({ sent: 3 });
        return new Promise(() => undefined);
      },
    ],
    [
      'an exception',
      'tool.execution_error',
      (_, context) => {
        context.record({ sent: 3 });
        throw new Error('broken');
      },
    ],
    [
      'a reported error',
      'tool.reported_error',
      (_, context) => {
        context.record({ sent: 3 });
        return { error: 'no' };
      },
    ],
  ])(
    'the ToolError of an outcome of %s names its reason, says what to do, and has the input and the recorded data',
    async (_, code, run) => {
      const stage = setStage({ tools: [defineTool({ name: 'pay', mode: 'read', timeoutMs: 50, run })] });
      const asked = stage.turn.call(envelope('c', 'pay', { to: 'ada', password: 'correct horse battery' }));
      await quiet();
      stage.clock.advance(50);
      const outcome = await asked;
      const thrown = thrownBy(() => unwrap(outcome));
      if (!isToolError(thrown)) throw new Error('No ToolError was thrown.');
      expect(thrown.message.startsWith(`${code}: `)).toBe(true);
      expect(thrown.message.length).toBeGreaterThan(thrown.problem.length + code.length + 20);
      const extras = { input: { to: 'ada', password: expect.any(String) as string }, partial: { sent: 3 } };
      expect(thrown.payloadExtras).toMatchObject(extras);
      const [responded] = await eventsOf(stage.runtime, 'tool.responded');
      expect(responded?.payloadExtras).toMatchObject(extras);
      expect(JSON.stringify(await stage.runtime.events.list({ sessionId: 's' }))).not.toContain(
        'correct horse',
      );
    },
  );

  it('gives the model of another tool the problem, not the advice for developers', async () => {
    const { turn: inner } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          run: () => {
            throw new ToolError('tool.network_error', 'the line is gone');
          },
        }),
      ],
    });
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'get_both',
          run: async () => unwrap(await inner.call(envelope('inner', 'get_it'))),
        }),
      ],
    });
    const outcome = await turn.call(envelope('outer', 'get_both'));
    expect(reply(outcome).error).toBe('the line is gone');
    expect(outcome).toMatchObject({
      payloadExtras: {
        developer: expect.stringMatching(/^tool\.network_error: the line is gone\. /) as string,
      },
    });
  });

  it('leaves a very long input on the record of the call', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          run: () => {
            throw new Error('x');
          },
        }),
      ],
    });
    const outcome = await turn.call(envelope('c', 'get_it', { text: 'x'.repeat(20_000) }));
    expect(outcome).toMatchObject({
      payloadExtras: { input_omitted: expect.stringContaining('20,011'.replace(',', '')) as string },
    });
  });
});

describe('the record of a hold that ended without a run', () => {
  const held = async () => {
    const stage = setStage({ tools: [defineTool({ name: 'delete_it', run: () => 'gone' })] });
    const asked = stage.turn.call(envelope('c', 'delete_it'));
    await quiet();
    return { ...stage, asked };
  };

  it.each<[string, (stage: Awaited<ReturnType<typeof held>>) => unknown]>([
    ['was withdrawn', ({ turn }) => turn.end({ withdraw: true })],
    ['was cancelled', ({ turn }) => turn.cancel('c')],
    ['expired', ({ clock }) => clock.advance(86_400_000)],
  ])('is invalidated when it %s', async (_, end) => {
    const stage = await held();
    await end(stage);
    await stage.asked;
    expect(await auditKinds(stage.runtime, 'c')).toEqual(['requires_confirmation', 'invalidated']);
    await expectSettledOnce(stage.runtime);
  });
});
