import { createRuntime, defineTool } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger } from 'quittance/ledger';
import { describe, expect, it } from 'vitest';
import { isQuittanceError } from '../base/error.ts';

const rules = `apiVersion: quittance/v1
kind: Ruleset
metadata: { name: pay }
defaults: { mode: enforce }
rules:
  - id: ask
    type: pre
    tool: pay
    then: { action: ask, message: 'Pay {args.cents}?' }
  - id: too-much
    type: pre
    tool: pay
    when: { args.cents: { gt: 100 } }
    then: { action: block, message: 'Not {args.cents} cents.' }
`;

async function hold() {
  const ran: unknown[] = [];
  const pay = defineTool({
    name: 'pay',
    mode: 'external',
    input: {
      type: 'object',
      required: ['cents'],
      properties: { cents: { type: 'integer' } },
      additionalProperties: false,
    },
    run: (input) => {
      ran.push(input);
      return 'paid';
    },
  });
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [pay], ledger, contracts: contractsFromYamlString(rules) });
  const submitted = runtime
    .turn({ sessionId: 's' })
    .submit({ id: 'c', name: 'pay', arguments: { cents: 5 } });
  const outcome = submitted.outcome();
  outcome.catch(() => undefined); // a runtime that closes leaves the call held
  await submitted.accepted;
  let rows = (await runtime.confirmations.list({ status: 'pending' })).rows;
  while (rows.length === 0) {
    await new Promise(setImmediate);
    ({ rows } = await runtime.confirmations.list({ status: 'pending' }));
  }
  const [{ confirmationId, inputDigest } = { confirmationId: '', inputDigest: '' }] = rows;
  const status = async (): Promise<string | undefined> =>
    (await runtime.confirmations.list({})).rows[0]?.status;
  return { runtime, confirmationId, inputDigest, ran, outcome, status };
}

describe('an edit', () => {
  it('is tried without deciding: schema, rules, and what may run', async () => {
    const { runtime, confirmationId, status, ran } = await hold();
    expect(await runtime.confirmations.tryEdit(confirmationId, { cents: 7 })).toEqual({ ok: true });
    expect(await runtime.confirmations.tryEdit(confirmationId, { cents: 'x' })).toMatchObject({
      ok: false,
      problems: [{ path: ['cents'] }],
      ruleId: undefined,
    });
    expect(await runtime.confirmations.tryEdit(confirmationId, { cents: 500 })).toMatchObject({
      ok: false,
      message: expect.stringContaining('Not 500 cents.'),
      problems: [],
      ruleId: 'too-much',
    });
    expect([await status(), ran]).toEqual(['pending', []]);
    await runtime.close();
  });

  it('[deny-wins] an edit that a rule blocks is refused, does not use the question up, and another answer counts', async () => {
    const { runtime, confirmationId, inputDigest, status, ran, outcome } = await hold();
    const decide = (cents: number): Promise<unknown> =>
      runtime.confirmations.decide(confirmationId, {
        by: 'ada',
        inputDigest,
        decision: 'edit',
        arguments: { cents },
      });
    const refused: unknown = await decide(500).catch((error: unknown) => error);
    expect(isQuittanceError(refused, 'confirmation.mismatch') && refused.facts.ruleId).toBe('too-much');
    expect([await status(), ran]).toEqual(['pending', []]);
    await decide(50);
    expect(await outcome).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toEqual([{ cents: 50 }]);
    await runtime.close();
  });
});
