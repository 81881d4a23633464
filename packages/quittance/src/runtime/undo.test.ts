import type { AnyTool } from 'quittance';
import { defineTool, isQuittanceError, outcomeToContentParts, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  deferred,
  envelope,
  eventsOf,
  eventTypes,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';
import { undoCallId, undoneCallId } from './undo-tool.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';
import { readSealed } from '../ledger/reads.ts';

const first = { sessionId: 's', callId: 'c' };
const ada = { by: 'ada', reason: 'wrong row' };

type Undo = NonNullable<AnyTool['undo']>;
type Traits = Partial<Pick<AnyTool, 'undoWithinMs' | 'undoMode' | 'undoIdempotent'>>;

/** Rows, a tool that deletes them and one that writes them. */
function table(traits: Traits = {}, undo?: Undo) {
  const rows = new Map([
    ['1', 'one'],
    ['2', 'two'],
  ]);
  const undone: unknown[] = [];
  const remove = defineTool({
    name: 'delete_row',
    input: z.object({ id: z.string(), password: z.string().optional() }),
    resourceKeys: ({ id }) => [`row:${id}`],
    run: ({ id }) => {
      const text = rows.get(id) ?? null;
      rows.delete(id);
      return { id, text };
    },
    undo:
      undo ??
      ((args, output, { callId }) => {
        undone.push({ args, output, callId });
        rows.set(output.id, output.text ?? '');
        return 'back';
      }),
    ...traits,
  });
  const write = defineTool({
    name: 'set_row',
    input: z.object({ id: z.string(), text: z.string() }),
    resourceKeys: ({ id }) => [`row:${id}`],
    run: ({ id, text }) => (rows.set(id, text), 'written'),
  });
  return { tools: [remove, write] as const, rows, undone };
}

const remove = (id = '1', callId = 'c') => envelope(callId, 'delete_row', { id });

const refusal = async (undoing: Promise<unknown>) => {
  const error: unknown = await undoing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return isQuittanceError(error) ? error.code : error;
};

describe('a destructive tool with an undo', () => {
  it('runs without an approval, and its outcome says until when it can be undone', async () => {
    const { tools, rows } = table({ undoWithinMs: 60_000 });
    const { turn, clock } = setStage({ tools });
    const outcome = await turn.call(remove());
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', undo: { until: clock.now() + 60_000 } });
    expect(rows.has('1')).toBe(false);
    expect(outcomeToContentParts(outcome)).toMatchObject([
      { text: '{"id":"1","text":"one"}' },
      { text: expect.stringMatching(/^A person can undo this until \d{4}-/) },
    ]);
  });

  it('asks if the host wants it to, and a tool without an undo always asks', async () => {
    const asked: string[] = [];
    const { tools } = table();
    const { turn } = setStage({
      tools,
      treatments: { destructive: 'ask' },
      onConfirm: ({ toolName }) => {
        asked.push(toolName);
        return { decision: 'deny', by: 'ada' };
      },
    });
    await turn.call(remove());
    expect(asked).toEqual(['delete_row']);
  });
});

describe('undo', () => {
  it('is a call of its own, linked to the one it undoes', async () => {
    const { tools, rows, undone } = table();
    const { turn, runtime } = setStage({ tools });
    await turn.call(remove());
    expect(await runtime.calls.undo(first, ada)).toMatchObject({
      type: 'ToolExecutionResult',
      output: 'back',
    });
    expect(rows.get('1')).toBe('one');
    expect(undone).toEqual([{ args: { id: '1' }, output: { id: '1', text: 'one' }, callId: 'undo:c' }]);
    expect(await eventTypes(runtime, 'c')).toEqual([
      'tool.requested',
      'tool.decided',
      'tool.started',
      'tool.responded',
      'tool.undone',
    ]);
    expect(await eventsOf(runtime, 'tool.undone')).toMatchObject([
      { undoCallId: 'undo:c', by: { type: 'person', name: 'ada' }, reason: 'wrong row' },
    ]);
    const [, undoing] = await runtime.calls.list({ sessionId: 's' });
    expect(undoing).toMatchObject({
      toolName: 'delete_row.undo',
      mode: 'safe_write',
      principal: { userId: 'ada' },
      attrs: { undoes: 'c', by: 'ada', reason: 'wrong row' },
    });
    await expectSettledOnce(runtime);
  });

  it('happens once', async () => {
    const { tools, undone } = table();
    const { turn, runtime } = setStage({ tools });
    await turn.call(remove());
    await runtime.calls.undo(first, ada);
    expect(await refusal(runtime.calls.undo(first, ada))).toBe('undo.spent');
    expect(await refusal(runtime.calls.undo(first, { by: 'bob' }))).toBe('undo.spent');
    expect(undone).toHaveLength(1);
  });

  it('requested by two at once runs once, and the second learns who was first', async () => {
    const { tools, undone } = table();
    const { turn, runtime } = setStage({ tools });
    await turn.call(remove());
    const answers = await Promise.allSettled([
      runtime.calls.undo(first, ada),
      runtime.calls.undo(first, { by: 'bob' }),
    ]);
    expect(undone).toHaveLength(1);
    const reply = answers.map((answer) =>
      answer.status === 'fulfilled' ? answer.value.type : (answer.reason as { code: string }).code,
    );
    expect(reply.toSorted()).toEqual(['ToolExecutionResult', 'undo.spent']);
    await expectSettledOnce(runtime);
  });

  it('is refused after its time limit', async () => {
    const { tools, rows } = table({ undoWithinMs: 1_000 });
    const { turn, runtime, clock } = setStage({ tools });
    await turn.call(remove());
    clock.advance(1_000);
    expect(await refusal(runtime.calls.undo(first, ada))).toBe('undo.expired');
    expect(rows.has('1')).toBe(false);
  });

  it('is refused if later calls touched the same resource, unless it is forced', async () => {
    const { tools, rows } = table();
    const { turn, runtime } = setStage({ tools });
    await turn.call(remove());
    await turn.call(envelope('w2', 'set_row', { id: '2', text: 'zwei' }));
    await turn.call(envelope('w1', 'set_row', { id: '1', text: 'eins' }));
    await expect(runtime.calls.undo(first, ada)).rejects.toThrow(/call w1 \(set_row\) touched the same/);
    expect(await refusal(runtime.calls.undo(first, ada))).toBe('undo.conflict');
    expect(rows.get('1')).toBe('eins');
    expect((await runtime.calls.undo(first, { ...ada, force: true })).type).toBe('ToolExecutionResult');
    expect(rows.get('1')).toBe('one');
  });

  it('undo of the last call on a resource allows the undo of the one before', async () => {
    const { tools, rows } = table();
    const { turn, runtime } = setStage({ tools });
    await turn.call(remove('1', 'c'));
    await turn.call(remove('1', 'later'));
    expect(await refusal(runtime.calls.undo(first, ada))).toBe('undo.conflict');
    await runtime.calls.undo({ sessionId: 's', callId: 'later' }, ada);
    expect((await runtime.calls.undo(first, ada)).type).toBe('ToolExecutionResult');
    expect(rows.get('1')).toBe('one');
  });

  it.each([
    ['an unknown call', 'nobody', 'call.unknown'],
    ['a call whose tool cannot undo', 'w', 'undo.unavailable'],
    ['a call that failed', 'bad', 'undo.unavailable'],
  ])('rejects %s', async (_, callId, code) => {
    const { tools } = table();
    const { turn, runtime } = setStage({ tools });
    await turn.call(envelope('w', 'set_row', { id: '2', text: 'x' }));
    await turn.call(envelope('bad', 'delete_row', { id: 2 as unknown as string, more: 1 }));
    await turn.call(envelope('bad', 'nothing', {}));
    expect(await refusal(runtime.calls.undo({ sessionId: 's', callId }, ada))).toBe(code);
  });

  it('needs a name', async () => {
    const { tools } = table();
    const { runtime } = setStage({ tools });
    expect(await refusal(runtime.calls.undo(first, { by: ' ' }))).toBe('config.invalid');
    expect(await refusal(runtime.calls.undo(first, undefined as never))).toBe('config.invalid');
  });

  it('is judged by policy like any other call', async () => {
    const { tools, rows } = table();
    const { turn, runtime } = setStage({
      tools,
      onPreToolUse: ({ toolName }) =>
        toolName === 'delete_row.undo' ? ToolDecision.block('what is gone is gone') : ToolDecision.allow,
    });
    await turn.call(remove());
    expect(await runtime.calls.undo(first, ada)).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook' });
    expect(rows.has('1')).toBe(false);
    expect(await eventsOf(runtime, 'tool.undone')).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it('cannot be called by a model', async () => {
    const { tools, rows } = table();
    const { turn, runtime } = setStage({ tools });
    await turn.call(remove());
    for (const id of ['x', 'undo:c'])
      expect(await turn.call(envelope(id, 'delete_row.undo', { id: '1' }))).toMatchObject({
        code: 'tool.unknown',
      });
    expect(turn.tools().map(({ name }) => name)).not.toContain('delete_row.undo');
    expect(rows.has('1')).toBe(false);
    // An id that a model took first is skipped.
    expect((await runtime.calls.undo(first, ada)).type).toBe('ToolExecutionResult');
  });

  it('may be held, and is then decided like any other call, within its time limit', async () => {
    const { tools, rows } = table({ undoMode: 'local', undoWithinMs: 10_000 });
    const { turn, runtime, clock } = setStage({ tools });
    await turn.call(remove());
    const pending = runtime.calls.undo(first, { ...ada, timeoutMs: 100 });
    const reply = refusal(pending);
    await quiet();
    clock.advance(101);
    expect(await reply).toBe('call.pending');
    expect(await refusal(runtime.calls.undo(first, { by: 'bob' }))).toBe('undo.spent');
    const again = runtime.calls.undo(first, ada);
    await quiet();
    const [asked] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    const { confirmationId = '', inputDigest = '' } = asked ?? {};
    expect(
      await refusal(
        runtime.confirmations.decide(confirmationId, {
          decision: 'edit',
          by: 'eve',
          inputDigest,
          arguments: { id: '2' },
        }),
      ),
    ).toBe('config.invalid');
    clock.advance(10_000);
    await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'eve', inputDigest });
    expect(await again).toMatchObject({ type: 'ToolDenied', reason: 'expired' });
    expect(rows.has('1')).toBe(false);
    await expectSettledOnce(runtime);
  });

  /** A call whose undo fails the first time. */
  async function failOnce(undoIdempotent: boolean) {
    let fails = true;
    const { tools } = table({ undoIdempotent }, () => {
      if (!fails) return 'back';
      fails = false;
      throw new Error('no connection');
    });
    const { turn, runtime } = setStage({ tools });
    await turn.call(remove());
    expect((await runtime.calls.undo(first, ada)).type).toBe('ToolFailure');
    return runtime;
  }

  it('undo that failed may be retried if that does no harm', async () => {
    const runtime = await failOnce(true);
    expect(await runtime.calls.undo(first, ada)).toMatchObject({
      type: 'ToolExecutionResult',
      callId: 'undo.2:c',
    });
    expect(await eventsOf(runtime, 'tool.undone')).toMatchObject([{ undoCallId: 'undo.2:c' }]);
  });

  it('undo that failed with an unknown effect waits until a person resolves it', async () => {
    const runtime = await failOnce(false);
    expect(await refusal(runtime.calls.undo(first, ada))).toBe('undo.spent');
    await runtime.calls.reconcile({ sessionId: 's', callId: 'undo:c' }, { resolution: 'failed', by: 'ada' });
    expect(await runtime.calls.undo(first, ada)).toMatchObject({
      type: 'ToolExecutionResult',
      callId: 'undo.2:c',
    });
  });

  it('gets the exact arguments, including hidden ones, for as long as it is possible', async () => {
    const { tools, undone } = table({ undoWithinMs: 60_000 });
    const { turn, runtime, ledger } = setStage({ tools });
    await turn.call(envelope('c', 'delete_row', { id: '1', password: 'hunter22' }));
    expect(await readSealed(ledger, 's', 'c')).toBeDefined();
    await runtime.calls.undo(first, ada);
    expect(undone).toMatchObject([{ args: { id: '1', password: 'hunter22' } }]);
    expect(await readSealed(ledger, 's', 'c')).toBeUndefined();
    expect(await readSealed(ledger, 's', 'undo:c')).toBeUndefined();
    expect(JSON.stringify(await runtime.events.list({ sessionId: 's' }))).not.toContain('hunter22');
  });

  it('is recorded on the call even if the process that undid it died before', async () => {
    const { tools, undone } = table();
    const clock = createManualClock();
    const memory = createMemoryLedger({ clock });
    let isDown = false;
    const ledger = alterLedger(memory, {
      append: (entry) => {
        if (isDown && entry.events.some(({ type }) => type === 'tool.undone')) throw new Error('gone');
        return memory.append(entry);
      },
    });
    const { turn, runtime } = setStage({ tools, clock, ledger });
    await turn.call(remove());
    isDown = true;
    expect((await runtime.calls.undo(first, ada)).type).toBe('ToolExecutionResult');
    expect(await eventsOf(runtime, 'tool.undone')).toEqual([]);
    isDown = false;
    expect(await refusal(runtime.calls.undo(first, { by: 'bob' }))).toBe('undo.spent');
    expect(await eventsOf(runtime, 'tool.undone')).toMatchObject([{ by: { name: 'ada' } }]);
    expect(undone).toHaveLength(1);
  });

  it('follows the resolution of an unresolved call', async () => {
    const { tools, rows } = table();
    const lost = deferred();
    const remover = defineTool({
      name: 'drop_row',
      timeoutMs: 1_000,
      run: () => lost.promise,
      undo: (_, output) => (rows.set('9', JSON.stringify(output)), 'back'),
    });
    const { turn, runtime, clock } = setStage({ tools: [...tools, remover] });
    const outcome = turn.call(envelope('c', 'drop_row'));
    await quiet();
    clock.advance(1_001);
    expect((await outcome).type).toBe('ToolTimeout');
    expect(await refusal(runtime.calls.undo(first, ada))).toBe('undo.unavailable');
    await runtime.calls.reconcile(first, { resolution: 'succeeded', by: 'ada', result: { n: 9 } });
    expect((await runtime.calls.undo(first, ada)).type).toBe('ToolExecutionResult');
    expect(rows.get('9')).toBe('{"n":9}');
    lost.resolve();
  });

  it('reads a large output', async () => {
    const long = 'x'.repeat(20_000);
    let got: unknown;
    const tool = defineTool({
      name: 'delete_all',
      run: () => long,
      undo: (_, output) => {
        got = output;
      },
    });
    const { turn, runtime } = setStage({ tools: [tool] });
    expect(await turn.call(envelope('c', 'delete_all'))).toMatchObject({
      type: 'ToolArtifactReference',
      undo: {},
    });
    await runtime.calls.undo(first, ada);
    expect(got).toBe(long);
  });

  it('is refused to tools with the name of an undo', () => {
    const { tools } = table();
    const other = defineTool({ name: 'delete_row.undo', run: () => 'x' });
    expect(() => setStage({ tools: [...tools, other] })).toThrow(/reserved for the undo of another tool/);
  });
});

it('the id of an undo names the call it undoes, whatever its id is', () => {
  for (const callId of ['c', 'undo:c', 'undo.2:c', 'a\nb', ':', 'undo:'])
    for (const attempt of [1, 2, 17]) expect(undoneCallId(undoCallId(callId, attempt))).toBe(callId);
  expect(undoneCallId('c')).toBeUndefined();
});
