/** Approvals of several people in a replay and in a backtest. */
import { createRuntime, defineTool } from 'quittance';
import { backtest } from '../packages/quittance/src/replay/backtest.ts';
import { contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { diffSessions, readCassette, recordCassette, recordedTools, writeCassette } from 'quittance/testing';
import { expect, test } from 'vitest';
import { payRule, person, quorumStage, ruleset } from './people/quorum-stage.ts';

/** A replay does not run it. */
const pay = defineTool({
  name: 'pay',
  mode: 'external',
  run: (): string => {
    throw new Error('a replay touched the world');
  },
});
const finance = (name: string) => person(name, ['finance']);
const needs = (quorum: number): string =>
  ruleset(payRule(`{ groups: [finance], quorum: ${quorum}, exclude: [asker] }`));

/** Dan approves in the place of Ada, then Eve approves. */
async function record(): Promise<OpenLedger> {
  const stage = quorumStage(needs(2));
  const question = await stage.ask('c');
  await stage.runtime.delegations.give({
    by: 'ada',
    identity: finance('ada'),
    to: 'dan',
    until: stage.clock.now() + 3_600_000,
  });
  const half = await stage.approve(question, person('dan'));
  expect(half.votes[0]?.by).toMatchObject({ name: 'dan', behalf: [{ name: 'ada' }] });
  await stage.approve(question, finance('eve'));
  expect(await stage.ended('c')).toBe('ToolExecutionResult');
  return stage.ledger;
}

test('[replay-is-sealed] a replay repeats the votes; a delegate acts as the person they acted for', async () => {
  const ledger = await record();
  const text = writeCassette(await recordCassette(ledger, { sessionId: 's' }));
  const recorded = recordedTools(readCassette(text), [pay]);
  const played = createMemoryLedger();
  const runtime = createRuntime({
    tools: recorded.tools,
    onConfirm: recorded.onConfirm,
    ledger: played,
    contracts: contractsFromYamlString(needs(2)),
  });
  const outcome = await runtime
    .turn({ sessionId: 's', principal: { userId: 'bob' } })
    .call({ id: 'c', name: 'pay', arguments: { cents: 900 } });
  expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: 'paid' });
  const [call] = await runtime.calls.list({ sessionId: 's', callId: 'c' });
  expect(call?.confirmation?.votes).toMatchObject([
    { decision: 'approve', by: { name: 'dan', identity: { subject: 'ada', groups: ['finance'] } } },
    { decision: 'approve', by: { name: 'eve', identity: { subject: 'eve' } } },
  ]);
  expect(call?.confirmation?.votes[0]?.by.behalf).toBeUndefined();
  recorded.assertConsumed();
  const diff = diffSessions(await ledger.readSession('s'), await played.readSession('s'));
  expect(diff.calls.map(({ status }) => status)).toEqual(['same']);
  await runtime.close();
});

test('a replay under a rule that needs one more person does not run the call', async () => {
  const text = writeCassette(await recordCassette(await record(), { sessionId: 's' }));
  const { tools, onConfirm } = recordedTools(readCassette(text), [pay]);
  const ledger = createMemoryLedger();
  const contracts = contractsFromYamlString(needs(3));
  const runtime = createRuntime({ tools, onConfirm, ledger, contracts });
  const outcome = await runtime
    .turn({ sessionId: 's', principal: { userId: 'bob' } })
    .call({ id: 'c', name: 'pay', arguments: { cents: 900 } });
  expect(outcome).toMatchObject({ type: 'ToolDenied' });
  await runtime.close();
});

test('a backtest follows calls that several people approved', async () => {
  const ledger = await record();
  const changes = async (rules: string): Promise<readonly string[]> =>
    (await backtest(ledger, { contracts: contractsFromYamlString(rules) })).changes.map(
      ({ before, after, count }) => `${before} → ${after} ${count}`,
    );
  expect(await changes(needs(2))).toEqual([]);
  const blocks = ruleset(
    '  - { id: no, type: pre, tool: pay, when: { args.cents: { gt: 1 } }, then: { action: block, message: No. } }\n',
  );
  expect(await changes(blocks)).toEqual(['ask → block 1']);
  const other = ruleset(payRule('{ groups: [finance] }', { tool: 'refund' }));
  expect(await changes(other)).toEqual(['ask → allow 1']);
});
