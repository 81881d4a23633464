/** Invalid arguments of runtime methods, and the nearest valid ones. */
import type { RuntimeOptions } from 'quittance';
import type { HandoffNotes, HandoffReport, HandoffTerms, PersonDecision } from 'quittance/runtime';
import { createRuntime, defineTool } from 'quittance';
import { describe, expect, it } from 'vitest';
import { question } from '../../../../test/people/question.ts';
import { envelope, quiet, setStage } from '../../../../test/stage.ts';

const invalid = { code: 'config.invalid' };
const codeOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => 'taken',
    (error: unknown) => (error as { code?: unknown }).code,
  );

describe('turn.call', () => {
  it.each<[string, unknown]>([
    ['a text', 'return'],
    ['an unknown ifHeld', { ifHeld: 'wait' }],
    ['an ifHeld that is not a text', { ifHeld: true }],
  ])('refuses %s as its options, and makes no call', async (_, options) => {
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'delete_it', run: () => 'gone' })] });
    await expect(
      turn.call(envelope('c', 'delete_it'), options as { ifHeld: 'return' }),
    ).rejects.toMatchObject(invalid);
    expect(await runtime.calls.list({ sessionId: 's' })).toEqual([]);
  });
});

describe('a text with JSON that is nested far too deep', () => {
  const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
  const stage = () => setStage({ tools: [defineTool({ name: 'get_it', run: ({ body }) => body === deep })] });

  it('is an argument like any other', async () => {
    const { turn } = stage();
    const outcome = await turn.call(envelope('c', 'get_it', { body: deep }));
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: true });
  });

  it('is denied in place of the arguments', async () => {
    const { turn } = stage();
    const outcome = await turn.call({ id: 'c', name: 'get_it', arguments: deep });
    expect(outcome).toMatchObject({ type: 'ToolDenied', reason: 'validation' });
  });
});

describe('runtime.confirmations.decide', () => {
  const remove = defineTool({ name: 'delete_it', run: () => 'gone' });
  async function ask() {
    const stage = setStage({ tools: [remove] });
    void stage.turn.call(envelope('c', 'delete_it', { n: 1 })).catch(() => undefined);
    return { ...stage, open: await question(stage.runtime) };
  }

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'approve'],
    ['no decision', { by: 'ada' }],
    ['an unknown decision', { decision: 'allow', by: 'ada' }],
    ['no name', { decision: 'deny' }],
    ['an empty name', { decision: 'deny', by: ' ' }],
    ['a name that is a number', { decision: 'deny', by: 5 }],
    ['a reason that is not a text', { decision: 'deny', by: 'ada', reason: 5 }],
    ['a time that is not a number', { decision: 'deny', by: 'ada', receivedAt: Number.NaN }],
    ['an endless time', { decision: 'deny', by: 'ada', receivedAt: Number.POSITIVE_INFINITY }],
    ['an edit without arguments', { decision: 'edit', by: 'ada' }],
    ['an edit whose arguments are a list', { decision: 'edit', by: 'ada', arguments: [] }],
    ['a response without a text', { decision: 'respond', by: 'ada' }],
    ['a response with an empty text', { decision: 'respond', by: 'ada', response: '' }],
    ['a field it does not know', { decision: 'deny', by: 'ada', because: 'x' }],
  ])('refuses %s, and the question stays open', async (_, decision) => {
    const { runtime, open } = await ask();
    const decided = runtime.confirmations.decide(open.confirmationId, decision as PersonDecision);
    await expect(decided).rejects.toMatchObject(invalid);
    expect(await question(runtime)).toMatchObject({ confirmationId: open.confirmationId });
  });

  it.each<[string, object]>([
    ['a no with a reason and a time', { decision: 'deny', reason: 'no', receivedAt: 1 }],
    ['an edit', { decision: 'edit', arguments: { n: 2 } }],
    ['a response', { decision: 'respond', response: 'later' }],
    ['a yes', { decision: 'approve' }],
  ])('accepts %s', async (_, decision) => {
    const { runtime, open } = await ask();
    const { inputDigest } = open;
    const whole = { by: 'ada', inputDigest, ...decision } as PersonDecision;
    expect(await codeOf(runtime.confirmations.decide(open.confirmationId, whole))).toBe('taken');
  });

  it('names in the error the digest and revision found, and the ones that are held', async () => {
    const { runtime, open } = await ask();
    const decision = { decision: 'approve', by: 'ada' } as const;
    await expect(
      runtime.confirmations.decide(open.confirmationId, { ...decision, inputDigest: 'sha256:other' }),
    ).rejects.toMatchObject({
      code: 'confirmation.mismatch',
      facts: { found: 'sha256:other', expected: open.inputDigest },
    });
    await expect(
      runtime.confirmations.decide(open.confirmationId, {
        ...decision,
        inputDigest: open.inputDigest,
        revision: 3,
      }),
    ).rejects.toMatchObject({ code: 'confirmation.mismatch', facts: { found: '3', expected: '' } });
  });
});

describe('runtime.calls.reconcile', () => {
  async function lose() {
    const pay = defineTool({
      name: 'pay',
      mode: 'external',
      reconcile: () => ({ status: 'failed' }),
      run: () => Promise.reject(new Error('cut off')),
    });
    const stage = setStage({ tools: [pay] });
    await stage.turn.call(envelope('c', 'pay'));
    return stage;
  }
  const ref = { sessionId: 's', callId: 'c' };

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['no name', { resolution: 'failed' }],
    ['an empty name', { resolution: 'failed', by: ' ' }],
    ['a name that is a number', { resolution: 'failed', by: 5 }],
    ['no resolution', { by: 'ada' }],
    ['an unknown resolution', { resolution: 'done', by: 'ada' }],
    ['a reason that is not a text', { resolution: 'failed', by: 'ada', reason: 5 }],
    ['a result that is not JSON', { resolution: 'succeeded', by: 'ada', result: () => 1 }],
    ['a field it does not know', { resolution: 'failed', by: 'ada', because: 'x' }],
    ['asking another party than the tool', { ask: 'bank', by: 'ada' }],
    ['asking without a name', { ask: 'tool' }],
    ['asking with an empty name', { ask: 'tool', by: ' ' }],
    ['asking with a field it does not know', { ask: 'tool', by: 'ada', because: 'x' }],
  ])('refuses %s, and the call stays unresolved', async (_, found) => {
    const { runtime } = await lose();
    await expect(runtime.calls.reconcile(ref, found as never)).rejects.toMatchObject(invalid);
    expect((await runtime.calls.list(ref))[0]?.resolution).toBeUndefined();
  });

  it.each<[string, object, string]>([
    ['a success with a result', { resolution: 'succeeded', by: 'ada', result: { id: 1 } }, 'succeeded'],
    ['a failure with a reason', { resolution: 'failed', by: 'ada', reason: 'no' }, 'failed'],
    ['that a retry is safe', { resolution: 'safe_to_retry', by: 'ada' }, 'safe_to_retry'],
    ['a question to the tool', { ask: 'tool', by: 'ada' }, 'failed'],
  ])('accepts %s', async (_, found, resolution) => {
    const { runtime } = await lose();
    expect((await runtime.calls.reconcile(ref, found as never)).resolution).toMatchObject({ resolution });
  });
});

describe('a hand-off', () => {
  async function handOver() {
    const pay = defineTool({ name: 'pay', mode: 'external', handoff: true });
    const stage = setStage({ tools: [pay] });
    const reply = stage.turn.call(envelope('c', 'pay'));
    reply.catch(() => undefined);
    await quiet();
    return { ...stage, told: reply };
  }
  const ref = { sessionId: 's', callId: 'c' };

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['no worker', {}],
    ['a worker that is a number', { worker: 5 }],
    ['an empty worker', { worker: ' ' }],
    ['a worker of 201 characters', { worker: 'w'.repeat(201) }],
    ['a lease of nothing', { worker: 'w', leaseMs: 0 }],
    ['a lease that is not a number', { worker: 'w', leaseMs: '5' }],
    ['a lease of NaN', { worker: 'w', leaseMs: Number.NaN }],
    ['a requestId that is a number', { worker: 'w', requestId: 5 }],
    ['an empty requestId', { worker: 'w', requestId: '' }],
    ['a requestId of 201 characters', { worker: 'w', requestId: 'q'.repeat(201) }],
    ['reclaim that is a text', { worker: 'w', reclaim: 'q1' }],
    ['reclaim with an empty id', { worker: 'w', reclaim: ['q1', ''] }],
    ['a field it does not know', { worker: 'w', forMs: 5 }],
  ])('is not claimed with %s', async (_, terms) => {
    const { runtime } = await handOver();
    await expect(runtime.handoffs.claim(ref, terms as HandoffTerms)).rejects.toMatchObject(invalid);
    expect(await runtime.handoffs.list()).toMatchObject([{ status: 'waiting' }]);
  });

  it.each<[string, HandoffTerms]>([
    ['a worker of 200 characters', { worker: 'w'.repeat(200) }],
    ['a lease of a millisecond', { worker: 'w', leaseMs: 1 }],
    ['a requestId of 200 characters', { worker: 'w', requestId: 'q'.repeat(200) }],
    ['reclaim of claims that it never made', { worker: 'w', requestId: 'q2', reclaim: ['q0', 'q1'] }],
  ])('is claimed with %s', async (_, terms) => {
    const { runtime } = await handOver();
    expect(await runtime.handoffs.claim(ref, terms)).toMatchObject({ callId: 'c' });
  });

  it.each<[string, unknown, unknown?]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'done'],
    ['neither output nor error', {}],
    ['an output and more', { output: 1, cost: 5 }],
    ['an error that is not a text', { error: 5 }],
    ['a code that is not a text', { error: 'e', code: 5 }],
    ['retryable that is not a boolean', { error: 'e', retryable: 'yes' }],
    ['an error and more', { error: 'e', cost: 5 }],
    ['notes that are null', { output: 1 }, null],
    ['notes that are a text', { output: 1 }, 'log'],
    ['a note it does not know', { output: 1 }, { logs: [] }],
    ['a log that is not a list', { output: 1 }, { log: { message: 'm' } }],
    ['a line without a message', { output: 1 }, { log: [{ fields: {} }] }],
    ['a line that is null', { output: 1 }, { log: [null] }],
    ['a line that is a text', { output: 1 }, { log: ['m'] }],
    ['a good line before a bad one', { output: 1 }, { log: [{ message: 'm' }, {}] }],
    ['reached that is not a list', { output: 1 }, { reached: 'bank' }],
    ['reached with a number', { output: 1 }, { reached: ['bank', 5] }],
    ['half a micro', { output: 1 }, { costMicros: 0.5 }],
    ['a negative cost', { output: 1 }, { costMicros: -1 }],
    ['a cost that is a text', { output: 1 }, { costMicros: '5' }],
  ])('is not ended by a report of %s', async (_, report, notes = {}) => {
    const { runtime } = await handOver();
    const { token } = await runtime.handoffs.claim(ref, { worker: 'w' });
    const reported = runtime.handoffs.report(token, report as HandoffReport, notes as HandoffNotes);
    await expect(reported).rejects.toMatchObject(invalid);
    expect((await runtime.calls.list(ref))[0]?.status).toBe('running');
  });

  it.each([0.5, -1, Number.NaN])('gets an error that explains a cost of %d', async (costMicros) => {
    const { runtime } = await handOver();
    const { token } = await runtime.handoffs.claim(ref, { worker: 'w' });
    await expect(runtime.handoffs.report(token, { output: 1 }, { costMicros })).rejects.toThrow(
      /costMicros must be a whole number of at least 0/,
    );
  });

  it.each<[string, HandoffReport, HandoffNotes | undefined, object]>([
    ['an output of null', { output: null }, undefined, { type: 'ToolExecutionResult', output: null }],
    ['an error', { error: 'e' }, undefined, { code: 'tool.execution_error', error: 'e' }],
    [
      'an error with all it may say',
      { error: 'e', code: 'tool.network_error', retryable: true, extras: { tries: 3 } },
      undefined,
      { code: 'tool.network_error', retryable: true },
    ],
    ['a cost of nothing', { output: 1 }, { costMicros: 0 }, { output: 1 }],
    [
      'a log and places',
      { output: 1 },
      { log: [{ message: 'm' }, { message: 'n', fields: { at: 1 } }], reached: ['bank', 'mail'] },
      { output: 1 },
    ],
  ])('is ended by a report of %s', async (_, report, notes, outcome) => {
    const { runtime, told: reply } = await handOver();
    const { token } = await runtime.handoffs.claim(ref, { worker: 'w' });
    await runtime.handoffs.report(token, report, notes);
    expect(await reply).toMatchObject(outcome);
  });

  it('stores what a worker reports besides the end: extras of an error, its log, and its delivery', async () => {
    const { runtime } = await handOver();
    const { token } = await runtime.handoffs.claim(ref, { worker: 'w' });
    await runtime.handoffs.report(
      token,
      { error: 'e', code: 'tool.network_error', extras: { tries: 3 } },
      { log: [{ message: 'm', fields: { at: 1 } }], reached: ['bank'], costMicros: 7 },
    );
    const ended = (await runtime.events.list(ref)).find(({ type }) => type === 'tool.responded');
    expect(ended).toMatchObject({
      payloadExtras: { tries: 3 },
      log: [{ message: 'm', fields: { at: 1 } }],
      reached: ['bank'],
      costMicros: 7,
    });
  });
});

describe('budgets', () => {
  const create = (budgets: unknown) =>
    createRuntime({ tools: [], budgets: budgets as NonNullable<RuntimeOptions<never>['budgets']> });

  it.each<[string, unknown]>([
    ['that are not a list', { scope: 'turn', toolCalls: 1 }],
    ['with null', [null]],
    ['without a scope', [{ toolCalls: 1 }]],
    ['with an empty scope', [{ scope: '', toolCalls: 1 }]],
    ['that limit nothing', [{ scope: 'turn' }]],
    ['per hour', [{ scope: 'turn', per: 'hour', toolCalls: 1 }]],
    ['with half a call', [{ scope: 'turn', toolCalls: 0.5 }]],
    ['with fewer than no calls', [{ scope: 'turn', toolCalls: -1 }]],
    ['with a cost that is a text', [{ scope: 'turn', costMicros: '5' }]],
    ['with one wrong number of two', [{ scope: 'turn', toolCalls: 1, costMicros: Number.NaN }]],
    ['with an unknown field', [{ scope: 'turn', toolCalls: 1, calls: 1 }]],
    ['of which the second is wrong', [{ scope: 'turn', toolCalls: 1 }, { scope: 'turn' }]],
  ])('%s are refused when the runtime is created', (_, budgets) => {
    expect(() => create(budgets)).toThrow(expect.objectContaining(invalid));
  });

  it.each<[string, unknown]>([
    ['of nothing', []],
    ['of no calls', [{ scope: 'turn', toolCalls: 0 }]],
    ['of a cost alone', [{ scope: 'session', costMicros: 5 }]],
    ['per day, under a name', [{ scope: 'user:42', per: 'day', toolCalls: 1, costMicros: 5 }]],
  ])('%s are accepted', (_, budgets) => {
    expect(() => create(budgets)).not.toThrow();
  });
});
