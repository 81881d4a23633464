import { defineTool } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { describe, expect, it } from 'vitest';
import { auditKinds, envelope, eventsOf, expectSettledOnce, setStage } from '../stage.ts';
import { no, openQuestions, question, yes } from './question.ts';

const ruleset = (...rules: readonly string[]) => `
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: money }
defaults: { mode: enforce }
rules:
${rules.map((rule) => `  - ${rule}`).join('\n')}
`;
const rule = (id: string, action: string, over: number, message = 'A payment.') =>
  `{ id: ${id}, type: pre, tool: pay, when: { args.cents: { gt: ${over} } }, then: { action: ${action}, message: "${message}" } }`;
const other =
  '{ id: elsewhere, type: pre, tool: other, when: { args.x: { exists: true } }, then: { action: block, message: no } }';

function setDesk(text: string) {
  const ran: unknown[] = [];
  const contracts = contractsFromYamlString(text);
  const stage = setStage({ contracts, tools: [defineTool({ name: 'pay', run: (args) => ran.push(args) })] });
  return { ...stage, ran, contracts };
}
const pay = envelope('c', 'pay', { cents: 500 });

describe('rules that were reloaded while a call was held', () => {
  it('rules that were reloaded while a call was held that block it now override the approval', async () => {
    const { runtime, turn, contracts, ran } = setDesk(ruleset(rule('big', 'ask', 100)));
    const asked = turn.call(pay);
    const open = await question(runtime);
    contracts.reload(ruleset(rule('big', 'block', 100, 'No more payments.')));
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await asked).toMatchObject({
      type: 'ToolDenied',
      reason: 'contract',
      details: expect.stringContaining('No more payments.') as string,
    });
    expect(ran).toEqual([]);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'blocked']);
    await expectSettledOnce(runtime);
  });

  it('rules that were reloaded while a call was held that ask by the same rule with the same body let the approval count', async () => {
    const { runtime, turn, contracts, ran } = setDesk(ruleset(rule('big', 'ask', 100)));
    const asked = turn.call(pay);
    const open = await question(runtime);
    contracts.reload(ruleset(other, rule('big', 'ask', 100)));
    expect(contracts.version).not.toBe(open.policyVersion);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toHaveLength(1);
    const decided = await eventsOf(runtime, 'tool.decided');
    expect(decided.map(({ policyVersion }) => policyVersion)).toEqual([
      open.policyVersion,
      contracts.version,
    ]);
  });

  it('rules that were reloaded while a call was held that allow it now let the approval count', async () => {
    const { runtime, turn, contracts, ran } = setDesk(ruleset(rule('big', 'ask', 100)));
    const asked = turn.call(pay);
    const open = await question(runtime);
    contracts.reload(ruleset(other));
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    await asked;
    expect(ran).toHaveLength(1);
  });

  it.each([
    ['the same rule with another body', ruleset(rule('big', 'ask', 200))],
    ['the same rule with another message', ruleset(rule('big', 'ask', 100, 'Now I mean it.'))],
    ['another rule', ruleset(rule('huge', 'ask', 100))],
    ['a rule more', ruleset(rule('big', 'ask', 100), rule('huge', 'ask', 200))],
  ])(
    'rules that were reloaded while a call was held that ask by %s ask again, and the first approval does not count',
    async (_, text) => {
      const { runtime, turn, contracts, ran } = setDesk(ruleset(rule('big', 'ask', 100)));
      const asked = turn.call(pay);
      const first = await question(runtime);
      contracts.reload(text);
      await runtime.confirmations.decide(first.confirmationId, yes(first));
      const second = await question(runtime);
      expect(second.confirmationId).not.toBe(first.confirmationId);
      expect(second.policyVersion).toBe(contracts.version);
      expect(ran).toEqual([]);
      await runtime.confirmations.decide(second.confirmationId, yes(second, 'bob'));
      expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
      expect(ran).toHaveLength(1);
      expect(await auditKinds(runtime, 'c')).toEqual([
        'requires_confirmation',
        'requires_confirmation',
        'completed',
      ]);
      await expectSettledOnce(runtime);
    },
  );

  it('rules that were reloaded while a call was held that cannot be read leave the old ones in force', async () => {
    const { runtime, turn, contracts, ran } = setDesk(ruleset(rule('big', 'ask', 100)));
    const asked = turn.call(pay);
    const open = await question(runtime);
    expect(() => contracts.reload('rules: nonsense')).toThrow(/apiVersion/);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    await asked;
    expect(ran).toHaveLength(1);
  });

  it('do not matter after a denial', async () => {
    const { runtime, turn, contracts, ran } = setDesk(ruleset(rule('big', 'ask', 100)));
    const asked = turn.call(pay);
    const open = await question(runtime);
    contracts.reload(ruleset(other));
    await runtime.confirmations.decide(open.confirmationId, no());
    expect(await asked).toMatchObject({ code: 'confirmation.rejected' });
    expect(ran).toEqual([]);
  });
});

describe('edited arguments', () => {
  const rules = ruleset(rule('big', 'ask', 100), rule('too-big', 'block', 10_000, 'Too much.'));
  const edit = async (cents: unknown, text = rules) => {
    const stage = setDesk(text);
    const asked = stage.turn.call(pay);
    const open = await question(stage.runtime);
    await stage.runtime.confirmations.decide(open.confirmationId, {
      decision: 'edit',
      by: 'ada',
      inputDigest: open.inputDigest,
      arguments: { cents: cents as number },
    });
    return { ...stage, asked };
  };

  it('are judged by the rules of their tool: what those block is refused, and the question stays open', async () => {
    const { runtime, turn, ran } = setDesk(rules);
    const asked = turn.call(pay);
    const { confirmationId, inputDigest } = await question(runtime);
    const edited = { decision: 'edit', by: 'ada', inputDigest, arguments: { cents: 20_000 } } as const;
    await expect(runtime.confirmations.decide(confirmationId, edited)).rejects.toMatchObject({
      code: 'confirmation.mismatch',
      message: expect.stringContaining('Too much.') as string,
    });
    expect(await question(runtime)).toMatchObject({ confirmationId, status: 'pending' });
    await runtime.confirmations.decide(confirmationId, no());
    expect(await asked).toMatchObject({ code: 'confirmation.rejected' });
    expect(ran).toEqual([]);
  });

  it('run if the same rule asks about them as before', async () => {
    const { asked, ran, runtime } = await edit(900);
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual([{ cents: 900 }]);
    await expectSettledOnce(runtime);
  });

  it('ask again if another rule asks about them, and show the edit', async () => {
    const { asked, ran, runtime } = await edit(
      6_000,
      ruleset(rule('big', 'ask', 100), rule('boss', 'ask', 5_000, 'The boss must know.')),
    );
    const [open] = await openQuestions(runtime);
    expect(open).toMatchObject({ effectiveInput: { cents: 6_000 }, requestedInput: { cents: 500 } });
    expect(ran).toEqual([]);
    if (open !== undefined) await runtime.confirmations.decide(open.confirmationId, yes(open, 'boss'));
    await asked;
    expect(ran).toEqual([{ cents: 6_000 }]);
    await expectSettledOnce(runtime);
  });
});
