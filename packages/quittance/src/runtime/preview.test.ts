import type {
  AnyTool,
  CancelledOperation,
  PreviewedOperation,
  PreviewRevision,
  ToolContext,
} from 'quittance';
import { defineTool, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  auditKinds,
  deferred,
  envelope,
  eventsOf,
  eventTypes,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';

type Shown = (args: { readonly text: string }) => ReturnType<NonNullable<AnyTool['preview']>>;

const draft = (text: string, more: Partial<PreviewRevision> = {}): PreviewRevision =>
  ({ kind: 'text', text, snapshot: { text }, ...more }) as PreviewRevision;

/** A tool that writes a text, and a list of everything it received. */
function writer(preview: Shown, mode: 'safe_write' | 'destructive' | 'local' = 'local') {
  const ran: { readonly text: string; readonly approved: PreviewedOperation | undefined }[] = [];
  const contexts: ToolContext[] = [];
  const cancelled: CancelledOperation[] = [];
  const tool = defineTool({
    name: 'write',
    mode,
    input: z.object({ text: z.string() }),
    redact: { snapshot: ['$.key'] },
    resourceKeys: ({ text }) => [text],
    preview,
    cancel: (operation) => void cancelled.push(operation),
    run: ({ text }, context) => {
      contexts.push(context);
      ran.push({ text, approved: context.approved });
      return `wrote ${text}`;
    },
  });
  return { tool, ran, contexts, cancelled };
}

const call = (text = 'a') => envelope('c', 'write', { text });

describe('a preview', () => {
  it('is stored, and a safe write runs with it without an approval', async () => {
    const { tool, ran, contexts, cancelled } = writer(({ text }) => draft(text), 'safe_write');
    const { turn, runtime } = setStage({ tools: [tool] });
    expect((await turn.call(call())).type).toBe('ToolExecutionResult');
    expect(await eventTypes(runtime, 'c')).toEqual([
      'tool.requested',
      'tool.previewed',
      'tool.decided',
      'tool.started',
      'tool.responded',
    ]);
    expect(ran).toEqual([{ text: 'a', approved: undefined }]);
    expect(contexts[0]?.previewed).toMatchObject({ revision: 1, snapshot: { text: 'a' } });
    expect(cancelled).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it('is what a person approves, and the body gets its snapshot', async () => {
    const { tool, ran, cancelled } = writer(({ text }) => draft(text, { snapshot: { plan: [text, 1] } }));
    const { turn, runtime } = setStage({ tools: [tool] });
    const outcome = turn.call(call());
    await quiet();
    const [asked] = (await runtime.confirmations.list()).rows;
    expect(asked).toMatchObject({
      preview: {
        revision: 1,
        ready: true,
        preview: { kind: 'text', text: 'a' },
        snapshot: { plan: ['a', 1] },
      },
    });
    const [held] = await eventsOf(runtime, 'tool.held');
    expect(held?.revision).toBe(1);
    const { confirmationId = '', inputDigest = '' } = asked ?? {};
    const approve = { decision: 'approve', by: 'ada', inputDigest } as const;
    await expect(runtime.confirmations.decide(confirmationId, approve)).rejects.toThrow(/revision/);
    await expect(runtime.confirmations.decide(confirmationId, { ...approve, revision: 2 })).rejects.toThrow(
      /revision/,
    );
    await runtime.confirmations.decide(confirmationId, { ...approve, revision: 1 });
    expect((await outcome).type).toBe('ToolExecutionResult');
    expect(ran).toHaveLength(1);
    expect(ran[0]?.approved).toMatchObject({ revision: 1, snapshot: { plan: ['a', 1] } });
    expect(Object.isFrozen(ran[0]?.approved?.snapshot['plan'])).toBe(true);
    expect(cancelled).toEqual([]);
    const [record] = await runtime.calls.audit({ sessionId: 's' });
    expect(record?.outcome).toMatchObject({
      kind: 'requires_confirmation',
      listenContext: { revision: 1, snapshot: { plan: ['a', 1] } },
    });
    await expectSettledOnce(runtime);
  });

  it('is never made for a call that is blocked', async () => {
    let made = 0;
    const { tool } = writer(({ text }) => (made++, draft(text)));
    const { turn } = setStage({ tools: [tool], onPreToolUse: () => ToolDecision.block('not today') });
    expect(await turn.call(call())).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook' });
    expect(made).toBe(0);
  });

  it('is shown to policy, which may still block or ask', async () => {
    const seen: unknown[] = [];
    const { tool, ran, cancelled } = writer(
      ({ text }) => draft(text, { snapshot: { rows: text.length } }),
      'safe_write',
    );
    const { turn, runtime } = setStage({
      tools: [tool],
      onPreToolUse: ({ snapshot }) => {
        seen.push(snapshot);
        return Number(snapshot?.['rows'] ?? 0) > 1 ? ToolDecision.block('too many rows') : ToolDecision.allow;
      },
    });
    expect(await turn.call(call('aa'))).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook' });
    expect(seen).toEqual([undefined, { rows: 2 }]);
    expect(ran).toEqual([]);
    expect(cancelled).toMatchObject([
      { callId: 'c', revision: 1, snapshot: { rows: 2 }, reason: 'too many rows' },
    ]);
    await expectSettledOnce(runtime);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no such file');
      },
      /threw: .*no such file/,
    ],
    ['rejects', () => Promise.reject(new Error('no such file')), /threw: .*no such file/],
    ['gives no version', async function* () {}, /gave no version/],
    ['returns a string', () => 'x', /returned "x" instead of a version/],
    ['returns an unknown kind', () => ({ kind: 'video' }), /kind other than text/],
    ['gives a text without text', () => ({ kind: 'text' }), /without "text"/],
    ['gives a diff without a path', () => ({ kind: 'diff', diff: 'x' }), /without "path"/],
    ['gives a table without names', () => ({ kind: 'fields', fields: [null] }), /without a name/],
    [
      'gives a snapshot JSON cannot hold',
      () => ({ kind: 'text', text: 'x', snapshot: { a: Number.NaN } }),
      /JSON cannot hold/,
    ],
    ['returns a list as its snapshot', () => ({ kind: 'text', text: 'x', snapshot: [] }), /not an object/],
    [
      'gives a snapshot without end',
      () => ({ kind: 'text', text: 'x', snapshot: { a: 'x'.repeat(300_000) } }),
      /300008 characters/,
    ],
    ['returns an invalid expiry', () => ({ kind: 'text', text: 'x', expiresAt: 'soon' }), /milliseconds/],
    ['is stale when it is ready', () => draft('x', { expiresInMs: 0 }), /stale/],
    [
      'returns endless versions',
      async function* () {
        for (;;) yield draft('x');
      },
      /more than 10000 versions/,
    ],
  ] as readonly (readonly [string, () => unknown, RegExp])[])(
    'a preview that %s ends the call, and nothing runs',
    async (_, preview, details) => {
      const { tool, ran } = writer(preview as Shown);
      const { turn, runtime } = setStage({ tools: [tool] });
      const outcome = await turn.call(call());
      expect(outcome).toMatchObject({
        type: 'ToolDenied',
        reason: 'expired',
        details: expect.stringMatching(details),
      });
      expect(ran).toEqual([]);
      expect(await auditKinds(runtime, 'c')).toEqual(['invalidated']);
      await expectSettledOnce(runtime);
    },
  );

  it('may come in versions, of which the first, the last and some in between are stored', async () => {
    const clock = createManualClock();
    const { tool, ran } = writer(async function* () {
      for (let at = 0; at < 50; at++) {
        yield draft(`v${at}`);
        clock.advance(100);
      }
    }, 'safe_write');
    const { turn, runtime } = setStage({ tools: [tool], clock });
    await turn.call(call());
    const kept = await eventsOf(runtime, 'tool.previewed');
    expect(kept.map(({ revision }) => revision)).toEqual(kept.map((_, at) => at + 1));
    expect(kept.map(({ ready }) => ready)).toEqual(kept.map((_, at) => at === kept.length - 1));
    expect(kept.map(({ snapshot }) => snapshot['text'])).toEqual([
      'v0',
      'v5',
      'v10',
      'v15',
      'v20',
      'v25',
      'v30',
      'v35',
      'v40',
      'v45',
      'v49',
    ]);
    expect(ran).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('is aborted when it takes longer than its tool’s timeout', async () => {
    const aborted = deferred();
    const tool = defineTool({
      name: 'write',
      timeoutMs: 1_000,
      preview: (_, { signal }) => {
        signal.addEventListener('abort', () => aborted.resolve());
        return new Promise<PreviewRevision>(() => undefined);
      },
      run: () => 'x',
    });
    const { turn, clock } = setStage({ tools: [tool] });
    const outcome = turn.call(envelope('c', 'write'));
    await quiet();
    clock.advance(1_001);
    expect(await outcome).toMatchObject({
      code: 'preview.failed',
      details: expect.stringContaining('1000 ms'),
    });
    await aborted.promise;
  });

  it('is aborted with its call', async () => {
    let closed = false;
    const { tool, cancelled } = writer(async function* () {
      try {
        yield draft('first');
        await new Promise(() => undefined);
      } finally {
        closed = true;
      }
    });
    const { turn, runtime } = setStage({ tools: [tool] });
    const outcome = turn.call(call());
    await quiet();
    expect(await eventTypes(runtime, 'c')).toEqual(['tool.requested', 'tool.previewed']);
    turn.cancel('c', 'changed my mind');
    expect(await outcome).toMatchObject({ type: 'ToolFailure', code: 'tool.cancelled' });
    expect(cancelled).toMatchObject([{ revision: 1, snapshot: { text: 'first' } }]);
    expect(closed).toBe(false); // it hangs inside its own wait
    await expectSettledOnce(runtime);
  });
});

describe('the preview of a held call', () => {
  async function held(more: Partial<PreviewRevision> = {}) {
    const made: string[] = [];
    const written = writer(({ text }) => (made.push(text), draft(text, more)));
    const stage = setStage({ tools: [written.tool] });
    const outcome = stage.turn.call(call());
    await quiet();
    const [asked] = (await stage.runtime.confirmations.list()).rows;
    if (asked === undefined) throw new Error('nobody was asked');
    const { confirmationId, inputDigest } = asked;
    return { ...stage, ...written, made, outcome, confirmationId, inputDigest };
  }

  it('expires with its deadline: nothing runs, and the tool releases it', async () => {
    const { clock, outcome, ran, cancelled, runtime } = await held({ expiresInMs: 5_000 });
    clock.advance(5_000);
    expect(await outcome).toMatchObject({ type: 'ToolDenied', reason: 'expired' });
    expect(ran).toEqual([]);
    expect(cancelled).toHaveLength(1);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'invalidated']);
    await expectSettledOnce(runtime);
  });

  it.each([
    ['denied', { decision: 'deny', by: 'ada' }],
    ['answered', { decision: 'respond', by: 'ada', response: 'no need' }],
  ] as const)('is released when the call is %s', async (_, decision) => {
    const { outcome, ran, cancelled, runtime, confirmationId } = await held();
    await runtime.confirmations.decide(confirmationId, decision);
    expect((await outcome).type).toBe('ToolDenied');
    expect(ran).toEqual([]);
    expect(cancelled).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('is released when the question is withdrawn', async () => {
    const { outcome, turn, cancelled, runtime } = await held();
    await turn.end({ withdraw: true });
    expect(await outcome).toMatchObject({ type: 'ToolDenied', reason: 'ended' });
    expect(cancelled).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('is made again for edited arguments, and the new one needs an approval', async () => {
    const { outcome, runtime, ran, made, cancelled, confirmationId, inputDigest } = await held();
    await runtime.confirmations.decide(confirmationId, {
      decision: 'edit',
      by: 'ada',
      inputDigest,
      revision: 1,
      arguments: { text: 'b' },
    });
    await quiet();
    expect(ran).toEqual([]);
    expect(made).toEqual(['a', 'b']);
    expect(cancelled).toMatchObject([{ revision: 1, snapshot: { text: 'a' } }]);
    const [again] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    expect(again).toMatchObject({
      preview: { revision: 2, snapshot: { text: 'b' } },
      effectiveInput: { text: 'b' },
    });
    await runtime.confirmations.decide(again?.confirmationId ?? '', {
      decision: 'approve',
      by: 'ada',
      inputDigest: again?.inputDigest ?? '',
      revision: 2,
    });
    expect((await outcome).type).toBe('ToolExecutionResult');
    expect(ran).toMatchObject([{ text: 'b', approved: { revision: 2, snapshot: { text: 'b' } } }]);
    expect(cancelled).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('is released once if no new one can be made for edited arguments', async () => {
    const { tool, ran, cancelled } = writer(({ text }) => {
      if (text === 'b') throw new Error('no such place');
      return draft(text);
    });
    const { turn, runtime } = setStage({ tools: [tool] });
    const outcome = turn.call(call());
    await quiet();
    const [asked] = (await runtime.confirmations.list()).rows;
    await runtime.confirmations.decide(asked?.confirmationId ?? '', {
      decision: 'edit',
      by: 'ada',
      inputDigest: asked?.inputDigest ?? '',
      revision: 1,
      arguments: { text: 'b' },
    });
    expect(await outcome).toMatchObject({ type: 'ToolDenied', code: 'preview.failed' });
    expect(ran).toEqual([]);
    expect(cancelled).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('stops the call when it goes stale while the call waits for a slot', async () => {
    const clock = createManualClock();
    const { tool, ran, cancelled } = writer(({ text }) => draft(text, { expiresInMs: 100 }), 'safe_write');
    const busy = deferred();
    const begun = deferred();
    const slow = defineTool({
      name: 'set_slowly',
      resourceKeys: () => ['elsewhere'],
      run: () => {
        begun.resolve();
        return busy.promise;
      },
    });
    const { turn, runtime } = setStage({ tools: [tool, slow], clock });
    const outcomes = turn.callAll([envelope('first', 'set_slowly'), call()], { concurrency: 1 });
    await begun.promise;
    await quiet();
    clock.advance(100);
    busy.resolve();
    expect((await outcomes)[1]).toMatchObject({ type: 'ToolDenied', reason: 'expired' });
    expect(ran).toEqual([]);
    expect(cancelled).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('records an error of its cancel function in the log of the call', async () => {
    const tool = defineTool({
      name: 'write',
      mode: 'local',
      preview: () => draft('x'),
      cancel: () => {
        throw new Error('already gone');
      },
      run: () => 'x',
    });
    const { turn, runtime } = setStage({ tools: [tool], onConfirm: () => ({ decision: 'deny', by: 'ada' }) });
    expect((await turn.call(envelope('c', 'write'))).type).toBe('ToolDenied');
    const [end] = await eventsOf(runtime, 'tool.responded');
    expect(end?.log).toMatchObject([{ message: expect.stringContaining('already gone') }]);
  });

  it('outlives its process: another one runs the body with the approved snapshot', async () => {
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const first = writer(({ text }) => draft(text, { snapshot: { key: 'k-4711', text } }));
    const before = setStage({ tools: [first.tool], clock, ledger });
    const turn = before.runtime.turn({ sessionId: 's', timeoutMs: 10 });
    const pending = turn.call(call()).catch((error: unknown) => error);
    await quiet();
    clock.advance(11);
    await pending;
    const [asked] = (await before.runtime.confirmations.list()).rows;
    expect(asked?.preview?.snapshot).toEqual({ key: '[REDACTED]', text: 'a' });
    expect(JSON.stringify(await before.runtime.events.list({ sessionId: 's' }))).not.toContain('k-4711');
    await before.runtime.close();
    let made = 0;
    const second = writer(({ text }) => (made++, draft(text)));
    const after = setStage({ tools: [second.tool], clock, ledger });
    await after.runtime.confirmations.decide(asked?.confirmationId ?? '', {
      decision: 'approve',
      by: 'ada',
      inputDigest: asked?.inputDigest ?? '',
      revision: 1,
    });
    expect((await after.turn.call(call())).type).toBe('ToolExecutionResult');
    expect(made).toBe(0);
    expect(first.ran.concat(second.ran)).toMatchObject([
      { approved: { snapshot: { key: 'k-4711', text: 'a' } } },
    ]);
    await expectSettledOnce(after.runtime);
  });
});

describe('the displayed form of a preview', () => {
  const shownBy = async (revision: object, text = 'a') => {
    const { tool } = writer(() => revision as PreviewRevision, 'safe_write');
    const { turn, runtime } = setStage({ tools: [tool] });
    await turn.call(call(text));
    return (await eventsOf(runtime, 'tool.previewed')).at(-1);
  };

  it('contains no secrets', async () => {
    const event = await shownBy({
      kind: 'fields',
      fields: [
        { name: 'password', before: 'hunter22', after: 'hunter23' },
        { name: 'note', after: 'the key is k-4711' },
      ],
      snapshot: { key: 'k-4711' },
    });
    expect(event?.preview).toEqual({
      kind: 'fields',
      fields: [
        { name: 'password', before: '[REDACTED]', after: '[REDACTED]' },
        { name: 'note', after: 'the key is [REDACTED]' },
      ],
    });
    expect(event?.hidden).toEqual(['$.key']);
  });

  it('is cut and marked if it is too long; the snapshot stays whole', async () => {
    const long = 'x'.repeat(50_000);
    const event = await shownBy({ kind: 'diff', path: 'a.txt', diff: long, snapshot: { long } });
    expect(event?.preview).toMatchObject({
      diff: expect.stringMatching(/only 20000 of 50000 characters are shown\]$/),
    });
    expect(event?.snapshot).toEqual({ long });
  });

  it('accepts names such as __proto__ as plain names', async () => {
    const event = await shownBy(
      JSON.parse('{"kind":"text","text":"x","snapshot":{"__proto__":{"a":1}}}') as object,
    );
    expect(JSON.stringify(event?.snapshot)).toBe('{"__proto__":{"a":1}}');
  });
});

it('[deny-wins] the ruling with the snapshot counts: earlier asks of policy are dropped', async () => {
  const saw: unknown[] = [];
  const { runtime, turn } = setStage({
    tools: [
      defineTool({
        name: 'update_it',
        mode: 'safe_write',
        preview: () => ({ kind: 'text', text: 'harmless', snapshot: { rows: 1 } }),
        run: () => 'done',
      }),
    ],
    onPreToolUse: ({ snapshot }) => {
      saw.push(snapshot);
      return snapshot === undefined
        ? ToolDecision.requiresConfirmation('How many rows?')
        : ToolDecision.allow;
    },
    onConfirm: () => ({ decision: 'deny', by: 'ada' }),
  });
  expect(await turn.call(envelope('c', 'update_it'))).toMatchObject({ output: 'done' });
  expect(saw).toEqual([undefined, { rows: 1 }]);
  await expectSettledOnce(runtime);
});
