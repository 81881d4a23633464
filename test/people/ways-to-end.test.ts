import type { Runtime } from 'quittance';
import { createRuntime, defineTool, outcomeToModelContent } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { describe, expect, it } from 'vitest';
import { auditKinds, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { openQuestions, question, refusal, yes } from './question.ts';

function setDesk() {
  const ran: unknown[] = [];
  return { ...setStage({ tools: [defineTool({ name: 'delete_it', run: (args) => ran.push(args) })] }), ran };
}

describe('a question', () => {
  it('answered in words gives the model those words, and nothing runs', async () => {
    const { runtime, turn, ran } = setDesk();
    const asked = turn.call(envelope('c', 'delete_it'));
    const open = await question(runtime);
    const response = 'Use the archive; the password is hunter2 password=hunter2.';
    await runtime.confirmations.decide(open.confirmationId, { decision: 'respond', by: 'ada', response });
    const outcome = await asked;
    expect(outcome).toMatchObject({
      type: 'ToolDenied',
      reason: 'write_denied',
      code: 'confirmation.answered',
      details: expect.stringContaining('Use the archive') as string,
    });
    expect(outcomeToModelContent(outcome)).toContain('Use the archive');
    expect(JSON.stringify(await runtime.events.list({ sessionId: 's' }))).not.toContain('password=hunter2');
    expect((await runtime.confirmations.list({ status: 'answered' })).rows).toHaveLength(1);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'blocked']);
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it('a question that was withdrawn can no longer be answered', async () => {
    const { runtime, turn, ran } = setDesk();
    const asked = turn.call(envelope('c', 'delete_it'));
    const open = await question(runtime);
    await turn.end({ withdraw: true });
    expect(await asked).toMatchObject({ reason: 'ended', code: 'turn.ended' });
    expect((await refusal(runtime.confirmations.decide(open.confirmationId, yes(open)))).message).toContain(
      'withdrawn',
    );
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'invalidated']);
    expect(await openQuestions(runtime)).toEqual([]);
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it('outlives its turn: the message says what it waits for, the remedy what to do, and the same id rejoins', async () => {
    const { clock, runtime, ran } = setDesk();
    const pending = refusal(runtime.turn({ sessionId: 's', timeoutMs: 10 }).call(envelope('c', 'delete_it')));
    await quiet();
    clock.advance(10);
    const { code, message, remedy, facts } = await pending;
    const open = await question(runtime);
    expect({ code, facts }).toEqual({
      code: 'call.pending',
      facts: { callId: 'c', confirmationId: open.confirmationId, waitsFor: open.description },
    });
    expect(message).toContain(open.description);
    for (const word of [
      'runtime.confirmations.list',
      'runtime.confirmations.decide',
      'onConfirm',
      'treatments',
    ]) {
      expect(remedy).toContain(word);
      expect(message).not.toContain(word);
    }
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'))).toMatchObject({
      output: 1,
    });
    expect(ran).toHaveLength(1);
    expect(await eventsOf(runtime, 'tool.held')).toHaveLength(1);
  });

  it('is released by a closed runtime, and answered in another on the same ledger', async () => {
    const ledger = createMemoryLedger();
    const ran: string[] = [];
    const open = (who: string): Runtime =>
      createRuntime({ ledger, tools: [defineTool({ name: 'delete_it', run: () => ran.push(who) })] });
    const first = open('first');
    const asked = refusal(first.turn({ sessionId: 's' }).call(envelope('c', 'delete_it')));
    const held = await question(first);
    await first.close();
    expect(await asked).toMatchObject({ code: 'call.pending', facts: { callId: 'c' } });
    const second = open('second');
    await second.confirmations.decide(held.confirmationId, yes(held));
    expect(await second.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'))).toMatchObject({
      output: 1,
    });
    expect(ran).toEqual(['second']);
    await expectSettledOnce(second);
  });
});
