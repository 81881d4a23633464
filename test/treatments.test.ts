/** What happens to calls by the mode and the risk of their tool, against the table that says so. */
import type { AnyTool, RuntimeOptions } from 'quittance';
import {
  createRuntime,
  defaultTreatments,
  defineTool,
  isQuittanceError,
  ToolDecision,
  toolModeTreatments,
} from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { describe, expect, test } from 'vitest';
import { toolRisks } from '../packages/quittance/src/tool/name-words.ts';

type Options = Pick<RuntimeOptions<readonly AnyTool[]>, 'treatments'>;
const run = (): string => 'done';

/** Does a call of the tool run, or wait for a person? */
async function happens(tool: AnyTool, options: Options = {}): Promise<'runs' | 'waits'> {
  const runtime = createRuntime({ ...options, tools: [tool] });
  const call = { id: 'c', name: tool.name, arguments: {} };
  const outcome = await runtime.turn({ sessionId: 's' }).call(call, { ifHeld: 'return' });
  await runtime.close();
  return outcome.type === 'pending' ? 'waits' : 'runs';
}

const modes = Object.keys(toolModeTreatments) as (keyof typeof toolModeTreatments)[];
const expected = { run: ['runs', 'runs'], ask: ['waits', 'waits'], ask_unless_undo: ['waits', 'runs'] };

describe('the table of defaults', () => {
  test('has a row for every mode, and one for risks', () => {
    expect(Object.keys(defaultTreatments)).toEqual([...modes, 'risk']);
    expect(Object.isFrozen(defaultTreatments)).toBe(true);
  });

  test.each(modes)('says what a runtime does with %s', async (mode) => {
    const plain = defineTool({ name: 'tool', mode, run });
    const withUndo = defineTool({ name: 'tool', mode, run, undo: run });
    expect([await happens(plain), await happens(withUndo)]).toEqual(expected[defaultTreatments[mode]]);
  });

  test.each(toolRisks)('says what a runtime does with the risk %s', async (risk) => {
    const plain = defineTool({ name: 'tool', mode: 'external', risk, run });
    const withUndo = defineTool({ name: 'tool', mode: 'external', risk, run, undo: run });
    expect([await happens(plain), await happens(withUndo)]).toEqual(expected[defaultTreatments.risk]);
  });
});

describe('treatments.risk', () => {
  const asking: Options = { treatments: { risk: 'ask' } };

  test.each([
    'transfer_money',
    'grant_admin',
    'execute_sql',
    'set_password',
    'deploy_production',
    'invite_user',
  ])('asks about %s, which runs by default', async (name) => {
    const tool = defineTool({ name, run });
    expect([await happens(tool), await happens(tool, asking)]).toEqual(['runs', 'waits']);
  });

  test.each(['update_event', 'get_payment', 'users_tokens_list'])('does not ask about %s', async (name) => {
    expect(await happens(defineTool({ name, run }), asking)).toBe('runs');
  });

  test('does not ask about a tool whose author says that its name misleads', async () => {
    expect(await happens(defineTool({ name: 'refund', risk: 'none', run }), asking)).toBe('runs');
    expect(await happens(defineTool({ name: 'tool', mode: 'read', risk: 'money', run }), asking)).toBe(
      'waits',
    );
  });

  test('may depend on undo', async () => {
    const options: Options = { treatments: { risk: 'ask_unless_undo' } };
    const tool = { name: 'transfer_money', run } as const;
    expect(await happens(defineTool(tool), options)).toBe('waits');
    expect(await happens(defineTool({ ...tool, undo: run }), options)).toBe('runs');
  });

  test('takes no other word, and no other key', () => {
    for (const treatments of [{ risk: 'deny' }, { danger: 'ask' }, { toString: 'ask' }])
      expect(() => createRuntime({ tools: [], treatments: treatments as never })).toThrow(
        expect.toSatisfy((error) => isQuittanceError(error, 'config.invalid')),
      );
    expect(() => defineTool({ name: 'x', risk: 'danger' as 'money', run })).toThrow(/risk/);
  });

  test('says why it asks, and the question names the risk', async () => {
    const tool = defineTool({ name: 'transfer_money', run });
    const runtime = createRuntime({ ...asking, tools: [tool] });
    const call = { id: 'c', name: tool.name, arguments: {} };
    await runtime.turn({ sessionId: 's' }).call(call, { ifHeld: 'return' });
    const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    expect(question?.asks.map(({ description }) => description)).toEqual([
      '"transfer_money" is an external tool with a risk: money.',
    ]);
    expect(question?.risk).toContain('involves money');
    await runtime.close();
  });
});

test('the risk is recorded next to the mode, and hooks and rules see both', async () => {
  const seen: unknown[] = [];
  const rule = (id: string, when: string): string =>
    `  - { id: ${id}, type: pre, tool: '*', mode: observe, when: ${when}, then: { action: block, message: No. } }\n`;
  const contracts = contractsFromYamlString(
    'apiVersion: quittance/v1\nkind: Ruleset\nmetadata: { name: r }\ndefaults: { mode: enforce }\nrules:\n' +
      rule('by-risk', '{ tool.risk: { in: [money, code] } }') +
      rule('by-mode', '{ tool.mode: { equals: safe_write } }') +
      rule('no-risk', '{ tool.risk: { exists: false } }'),
  );
  const tools = [
    defineTool({ name: 'transfer_money', mode: 'safe_write', run }),
    defineTool({ name: 'tool', mode: 'external', run }),
  ];
  const runtime = createRuntime({
    tools,
    contracts,
    onPreToolUse: ({ toolName, mode, risk }) => {
      seen.push([toolName, mode, risk]);
      return ToolDecision.allow;
    },
  });
  const turn = runtime.turn({ sessionId: 's' });
  for (const name of ['transfer_money', 'tool', 'unknown_payment'])
    await turn.call({ id: name, name, arguments: {} });
  const events = await runtime.events.list({ sessionId: 's' });
  const requested = events.filter((event) => event.type === 'tool.requested');
  expect(requested.map(({ mode, risk }) => [mode, risk])).toEqual([
    ['safe_write', 'money'],
    ['external', undefined],
    ['external', 'money'],
  ]);
  expect(seen).toEqual([
    ['transfer_money', 'safe_write', 'money'],
    ['tool', 'external', undefined],
  ]);
  const rules = events.flatMap((event) => (event.type === 'tool.decided' ? [event.rules] : []));
  expect(rules.map((each) => each.map(({ ruleId }) => ruleId))).toEqual([
    ['by-risk', 'by-mode'],
    ['no-risk'],
    [],
  ]);
  const [call] = await runtime.calls.list({ sessionId: 's' });
  expect(call).toMatchObject({ toolName: 'transfer_money', mode: 'safe_write', risk: 'money' });
  const records = await runtime.calls.audit({ sessionId: 's' });
  const ofEnds = records.filter(({ outcome }) => outcome.kind === 'completed');
  expect(ofEnds.map(({ mode, risk }) => [mode, risk])).toEqual([
    ['safe_write', 'money'],
    ['external', undefined],
    ['external', 'money'],
  ]);
  await runtime.close();
});

describe('a read inferred from a word anywhere in the name', () => {
  /** Makes the same call twice; the first one fails. */
  async function twice(name: string) {
    let runs = 0;
    const tool = defineTool({
      name,
      run: () => {
        if (++runs === 1) throw new Error('connection lost');
        return 'done';
      },
    });
    const runtime = createRuntime({ tools: [tool] });
    const turn = runtime.turn({ sessionId: 's' });
    const ends = [];
    for (const id of ['a', 'b'])
      ends.push((await turn.call({ id, name, arguments: { n: 1 } }, { ifHeld: 'return' })).type);
    const started = (await runtime.events.list({ sessionId: 's', callId: 'a' })).filter(
      ({ type }) => type === 'tool.started',
    );
    await runtime.close();
    return { ends, started: started.length, mayRerun: tool.mayRerun };
  }

  test.each(['issue_read', 'pods_list', 'users_search', 'query_prometheus', 'GmailReadEmail'])(
    'lifts the twin guard for %s, and nothing else',
    async (name) => {
      expect(await twice(name)).toEqual({
        ends: ['ToolFailure', 'ToolExecutionResult'],
        started: 1,
        mayRerun: false,
      });
    },
  );

  test('keeps the limit of the loop guard that other tools have', async () => {
    const ends = async (name: string): Promise<readonly string[]> => {
      const runtime = createRuntime({ tools: [defineTool({ name, run })] });
      const turn = runtime.turn({ sessionId: 's' });
      const types = [];
      for (const id of ['a', 'b', 'c', 'd']) types.push((await turn.call({ id, name, arguments: {} })).type);
      await runtime.close();
      return types;
    };
    const three = Array.from({ length: 3 }, () => 'ToolExecutionResult');
    expect(await ends('issue_read')).toEqual([...three, 'ToolDenied']);
    expect(await ends('read_issue')).toEqual([...three, 'ToolExecutionResult']);
  });

  test('leaves the twin guard on for a name that also writes', async () => {
    expect((await twice('issue_read_and_close')).ends).toEqual(['ToolFailure', 'pending']);
  });
});
