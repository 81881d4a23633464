import { createRuntime, defineTool, ToolDecision } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { createMortalLedger } from '../mortal-ledger.ts';
import { auditKinds, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { openQuestions, question, refusal, yes } from './question.ts';

/** A rule that asks about payments. */
const asking = (then = '', message = 'A payment.', id = 'ask-first') => `
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: money }
defaults: { mode: enforce }
rules:
  - id: ${id}
    type: pre
    tool: pay
    when: { args.cents: { gt: 0 } }
    then: { action: ask, message: "${message}"${then} }
`;

function setDesk(text: string) {
  const ran: unknown[] = [];
  const contracts = contractsFromYamlString(text);
  const tools = [defineTool({ name: 'pay', run: (args) => ran.push(args) })];
  return { ...setStage({ tools, contracts }), ran, contracts, tools };
}
const pay = envelope('c', 'pay', { cents: 5 });

describe('a question', () => {
  it('expires after 24 hours if neither a rule, a hook nor the host sets a time', async () => {
    const { clock, runtime, turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
    });
    const asked = turn.call(envelope('c', 'delete_it'));
    const open = await question(runtime);
    expect(open.expiresAt).toBe(clock.now() + 86_400_000);
    clock.advance(86_399_999);
    await quiet();
    expect((await question(runtime)).confirmationId).toBe(open.confirmationId);
    clock.advance(1);
    expect(await asked).toMatchObject({ reason: 'expired', code: 'confirmation.expired' });
  });

  it('never expires if the host says none: a year later it can still be answered', async () => {
    const { clock, runtime, turn } = setStage({
      holdTimeoutMs: 'none',
      tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
    });
    const asked = turn.call(envelope('c', 'delete_it'));
    const open = await question(runtime);
    expect(open.expiresAt).toBeUndefined();
    clock.advance(366 * 86_400_000);
    await runtime.confirmations.decide(open.confirmationId, yes(await question(runtime)));
    expect(await asked).toMatchObject({ output: 'gone' });
  });

  it.each([
    [
      'of a hook, by what the hook says',
      { onPreToolUse: () => ToolDecision.requiresConfirmation('Sure?', { timeoutMs: 2_000 }) },
    ],
    ['of anything, by what the host says', { holdTimeoutMs: 2_000 }],
    [
      'of both, by the earlier',
      {
        holdTimeoutMs: 2_000,
        onPreToolUse: () => ToolDecision.requiresConfirmation('Sure?', { timeoutMs: 9_000 }),
      },
    ],
  ])('%s, expires after its time', async (_, options) => {
    const { clock, runtime, turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
      ...options,
    });
    const asked = turn.call(envelope('c', 'delete_it'));
    expect((await question(runtime)).expiresAt).toBe(clock.now() + 2_000);
    clock.advance(2_000);
    expect(await asked).toMatchObject({ reason: 'expired', code: 'confirmation.expired' });
  });

  it('a question with an invalid time stops the call, with a reason', async () => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
      onPreToolUse: () => ToolDecision.requiresConfirmation('Sure?', { timeoutMs: Number.NaN }),
    });
    expect(await turn.call(envelope('c', 'delete_it'))).toMatchObject({ code: 'policy.hook' });
  });

  it('a question of a rule expires after its time: denied as expired, which differs from a person’s denial', async () => {
    const { clock, runtime, turn, ran } = setDesk(asking(', timeout: 10'));
    const asked = turn.call(pay);
    const open = await question(runtime);
    expect(open).toMatchObject({ expiresAt: clock.now() + 10_000, timeoutEffect: 'block' });
    clock.advance(9_999);
    expect(await openQuestions(runtime)).toHaveLength(1);
    clock.advance(1);
    expect(await asked).toMatchObject({
      type: 'ToolDenied',
      reason: 'expired',
      code: 'confirmation.expired',
      details: expect.stringMatching(
        /^No person decided before the time was up\. It waited for a person: ./,
      ) as string,
    });
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'invalidated']);
    expect(await eventsOf(runtime, 'confirmation.expired')).toMatchObject([{ effect: 'block' }]);
    const late = await refusal(runtime.confirmations.decide(open.confirmationId, yes(open)));
    expect([late.code, late.message]).toEqual(['confirmation.expired', expect.stringContaining('is up')]);
    expect((await runtime.confirmations.list({ status: 'expired' })).rows).toHaveLength(1);
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it('a question of a rule without a time expires after five minutes', async () => {
    const { clock, runtime, turn } = setDesk(asking());
    void turn.call(pay);
    expect((await question(runtime)).expiresAt).toBe(clock.now() + 300_000);
  });

  it('a question without an answer lets the call run if its rule says so, and the rule is recorded as the decider', async () => {
    const { clock, runtime, turn, ran } = setDesk(asking(', timeout: 10, timeout_effect: allow'));
    const asked = turn.call(pay);
    const open = await question(runtime);
    clock.advance(10_000);
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toHaveLength(1);
    const rule = { type: 'rule', name: 'ask-first' };
    expect(await eventsOf(runtime, 'confirmation.expired')).toMatchObject([
      { confirmationId: open.confirmationId, effect: 'allow', by: rule },
    ]);
    expect((await runtime.calls.audit({ sessionId: 's', callId: 'c' })).at(-1)).toMatchObject({
      decidedBy: rule,
    });
    expect(await eventsOf(runtime, 'confirmation.decided')).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it('a question about a preview that expires lets nothing run unanswered, whatever its rule says', async () => {
    const ran: unknown[] = [];
    const tool = defineTool({
      name: 'pay',
      preview: () => ({ kind: 'text', text: 'pays five', expiresInMs: 60_000 }),
      run: (args) => ran.push(args),
    });
    const contracts = contractsFromYamlString(asking(', timeout: 10, timeout_effect: allow'));
    const { clock, runtime, turn } = setStage({ tools: [tool], contracts });
    const asked = turn.call(pay);
    expect(await question(runtime)).toMatchObject({ timeoutEffect: 'block' });
    clock.advance(10_000);
    expect(await asked).toMatchObject({ type: 'ToolDenied', code: 'confirmation.expired' });
    expect(ran).toEqual([]);
  });

  it('a question that would let the call run still lets a person deny it first', async () => {
    const { clock, runtime, turn, ran } = setDesk(asking(', timeout: 10, timeout_effect: allow'));
    const asked = turn.call(pay);
    await runtime.confirmations.decide((await question(runtime)).confirmationId, {
      decision: 'deny',
      by: 'ada',
    });
    expect(await asked).toMatchObject({ code: 'confirmation.rejected' });
    clock.advance(60_000);
    await quiet();
    expect(ran).toEqual([]);
  });

  it('a question with several asks takes the shortest time, and one block among them blocks', async () => {
    const rule = (id: string, then: string) =>
      `  - { id: ${id}, type: pre, tool: pay, when: { args.cents: { gt: 0 } }, then: { action: ask, message: m${then} } }`;
    const { clock, runtime, turn, ran } = setDesk(
      [
        asking(', timeout: 100, timeout_effect: allow').trimEnd(),
        rule('second', ', timeout: 20, timeout_effect: allow'),
        rule('third', ', timeout: 50'),
      ].join('\n'),
    );
    const asked = turn.call(pay);
    expect(await question(runtime)).toMatchObject({
      expiresAt: clock.now() + 20_000,
      timeoutEffect: 'block',
      asks: [{ by: { name: 'ask-first' } }, { by: { name: 'second' } }, { by: { name: 'third' } }],
    });
    clock.advance(20_000);
    expect(await asked).toMatchObject({ reason: 'expired' });
    expect(ran).toEqual([]);
  });

  it('cannot be decided from the moment of its expiry, whichever process notices first', async () => {
    const { clock, runtime, turn, ran } = setDesk(asking(', timeout: 10'));
    const asked = turn.call(pay);
    const open = await question(runtime);
    clock.jumpTo(clock.now() + 10_000); // the ledger's clock has passed it, no timer has fired
    expect((await refusal(runtime.confirmations.decide(open.confirmationId, yes(open)))).code).toBe(
      'confirmation.expired',
    );
    clock.advance(10_000);
    expect(await asked).toMatchObject({ reason: 'expired' });
    expect(ran).toEqual([]);
  });
});

describe('an approval', () => {
  it('an approval that is used too late does not count: the time covers decision and use', async () => {
    const ran: unknown[] = [];
    const gate = Promise.withResolvers<void>();
    let looks = 0;
    const { clock, runtime, turn } = setStage({
      tools: [defineTool({ name: 'pay', run: (args) => ran.push(args) })],
      contracts: contractsFromYamlString(asking(', timeout: 10')),
      // The checks after the approval take a while.
      onPreToolUse: async () => {
        if (looks++ > 0) await gate.promise;
        return { type: 'allow' };
      },
    });
    const asked = turn.call(pay);
    const open = await question(runtime);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    await quiet();
    clock.advance(10_000);
    gate.resolve();
    expect(await asked).toMatchObject({
      reason: 'expired',
      code: 'confirmation.expired',
      details: expect.stringMatching(/^The approval was not used before the time was up\./) as string,
    });
    expect(ran).toEqual([]);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'invalidated']);
    await expectSettledOnce(runtime);
  });
});

describe('after the process that held the call died', () => {
  const open = (text: string) => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const ran: string[] = [];
    const start = (name: string, has: 'the tool' | 'no tool' = 'the tool') => {
      const handle = file.open();
      const runtime = createRuntime({
        clock,
        ledger: handle.ledger,
        contracts: contractsFromYamlString(text),
        tools: has === 'the tool' ? [defineTool({ name: 'pay', run: () => ran.push(name) })] : [],
      });
      return { runtime, kill: handle.kill };
    };
    return { clock, start, ran };
  };

  it.each(['the tool', 'no tool'] as const)(
    'the next process with %s settles an approval that was not used in time',
    async (has) => {
      const { clock, start, ran } = open(asking(', timeout: 10'));
      const first = start('first');
      void first.runtime.turn({ sessionId: 's' }).call(pay);
      const asked = await question(first.runtime);
      first.kill();
      const desk = start('desk', 'no tool');
      await desk.runtime.confirmations.decide(asked.confirmationId, yes(asked));
      desk.kill();
      clock.advance(10_000);
      const next = start('next', has);
      await next.runtime.recover();
      const [call] = await next.runtime.calls.list({ sessionId: 's' });
      expect(call?.settled?.outcome).toMatchObject({ reason: 'expired', code: 'confirmation.expired' });
      expect(ran).toEqual([]);
    },
  );

  it.each(['the tool', 'no tool'] as const)(
    'the next process with %s settles a question that expired meanwhile',
    async (has) => {
      const { clock, start, ran } = open(asking(', timeout: 10'));
      const first = start('first');
      void first.runtime.turn({ sessionId: 's' }).call(pay);
      const asked = await question(first.runtime);
      first.kill();
      clock.advance(60_000);
      const next = start('next', has);
      await next.runtime.recover();
      const [call] = await next.runtime.calls.list({ sessionId: 's' });
      expect(call?.settled?.outcome).toMatchObject({ reason: 'expired', code: 'confirmation.expired' });
      expect(await auditKinds(next.runtime, 'c')).toEqual(['requires_confirmation', 'invalidated']);
      expect((await refusal(next.runtime.confirmations.decide(asked.confirmationId, yes(asked)))).code).toBe(
        'confirmation.expired',
      );
      expect(ran).toEqual([]);
      await expectSettledOnce(next.runtime);
    },
  );

  it('a decision that comes too late settles it as expired', async () => {
    const { clock, start, ran } = open(asking(', timeout: 10'));
    const first = start('first');
    void first.runtime.turn({ sessionId: 's' }).call(pay);
    const asked = await question(first.runtime);
    first.kill();
    clock.advance(60_000);
    const next = start('next');
    expect((await refusal(next.runtime.confirmations.decide(asked.confirmationId, yes(asked)))).code).toBe(
      'confirmation.expired',
    );
    expect(await next.runtime.turn({ sessionId: 's' }).call(pay)).toMatchObject({ reason: 'expired' });
    expect(ran).toEqual([]);
  });

  it('an approval that was not used in time does not count in the next process', async () => {
    const { clock, start, ran } = open(asking(', timeout: 10'));
    const first = start('first');
    void first.runtime.turn({ sessionId: 's' }).call(pay);
    const asked = await question(first.runtime);
    first.kill();
    const decider = start('decider', 'no tool');
    await decider.runtime.confirmations.decide(asked.confirmationId, yes(asked));
    clock.advance(60_000);
    const next = start('next');
    expect(await next.runtime.turn({ sessionId: 's' }).call(pay)).toMatchObject({
      reason: 'expired',
      details: expect.stringMatching(/^The approval was not used before the time was up\./) as string,
    });
    expect(ran).toEqual([]);
  });

  it('a rule that allows it after the expiry does so in the next process, once, if that has the tool', async () => {
    const { clock, start, ran } = open(asking(', timeout: 10, timeout_effect: allow'));
    const first = start('first');
    void first.runtime.turn({ sessionId: 's' }).call(pay);
    await question(first.runtime);
    first.kill();
    clock.advance(60_000);
    const helpless = start('helpless', 'no tool');
    expect(await helpless.runtime.recover()).toMatchObject([{ how: 'left' }]);
    helpless.kill();
    const next = start('next');
    expect(await next.runtime.turn({ sessionId: 's' }).call(pay)).toMatchObject({
      type: 'ToolExecutionResult',
    });
    expect(ran).toEqual(['next']);
    expect(await eventsOf(next.runtime, 'confirmation.expired')).toMatchObject([
      { effect: 'allow', by: { type: 'rule', name: 'ask-first' } },
    ]);
    await expectSettledOnce(next.runtime);
  });
});
