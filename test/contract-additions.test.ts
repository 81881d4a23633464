/** Additions of the language to edictum/v1, through the public API. */
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { backtest, contractsFromMultiple, contractsFromYamlString } from 'quittance/contracts';
import { describe, expect, test } from 'vitest';

const document = (rules: string, more = '', defaults = '{ mode: enforce }'): string =>
  `apiVersion: quittance/v1\nkind: Ruleset\nmetadata: { name: trial }\ndefaults: ${defaults}\n${more}rules:\n${rules}`;
const never = '  - { id: never, type: pre, tool: nothing, then: { action: block, message: Never. } }\n';

const decisionOn = async (text: string, toolName: string, input = {}) =>
  (await contractsFromYamlString(text).evaluate({ toolName, input })).decision;

describe('a rule without when', () => {
  test.each([
    ['block', 'block'],
    ['ask', 'ask'],
  ])('a rule without when that says %s applies to every call of its tools', async (action, decision) => {
    const text = document(
      `  - { id: a, type: pre, tool: 'pay*', then: { action: ${action}, message: No. } }\n`,
    );
    expect(await decisionOn(text, 'pay_bill')).toBe(decision);
    expect(await decisionOn(text, 'pay_bill', { cents: 1 })).toBe(decision);
    expect(await decisionOn(text, 'read')).toBe('allow');
  });

  test('is refused in a post rule, and with an empty when', () => {
    const post = document('  - { id: a, type: post, tool: x, then: { action: warn, message: No. } }\n');
    expect(() => contractsFromYamlString(post)).toThrow(/when/);
    for (const when of ['{}', '[]', 'null', "''"])
      expect(() =>
        contractsFromYamlString(
          document(
            `  - { id: a, type: pre, tool: x, when: ${when}, then: { action: block, message: No. } }\n`,
          ),
        ),
      ).toThrow(/when/);
  });
});

describe('unlisted_tools: block', () => {
  const deny = '{ mode: enforce, unlisted_tools: block }';
  const text = document(
    '  - { id: a, type: pre, tool: refund, when: { args.force: { equals: true } }, then: { action: block, message: No. } }\n' +
      '  - { id: b, type: sandbox, tools: [read_file], within: [/srv], message: Inside. }\n' +
      "  - { id: c, type: pre, tool: '*', when: { args.a: { equals: 1 } }, then: { action: block, message: No. } }\n" +
      '  - { id: d, type: pre, tool: watched, mode: observe, then: { action: block, message: No. } }\n',
    "tools: { search: { side_effect: read }, 'get_*': { side_effect: read } }\n",
    deny,
  );

  test.each([
    ['search', 'allow'],
    ['get_user', 'allow'],
    ['refund', 'allow'],
    ['send_mail', 'block'],
    ['Search', 'block'],
    ['search\0', 'block'],
    ['watched', 'block'],
    ['__proto__', 'block'],
    ['', 'block'],
  ])('the tool %j: %s', async (name, decision) => {
    expect(await decisionOn(text, name)).toBe(decision);
  });

  test('does not let a listed tool bypass its rules', async () => {
    expect(await decisionOn(text, 'refund', { force: true })).toBe('block');
    expect(await decisionOn(text, 'read_file', { path: '/etc/passwd' })).toBe('block');
  });

  test('names the switch as the deciding rule, in a runtime too', async () => {
    const tool = defineTool({ name: 'send_mail', run: () => 'sent' });
    const runtime = createRuntime({ tools: [tool], contracts: contractsFromYamlString(text) });
    const outcome = await runtime
      .turn({ sessionId: 's' })
      .call({ id: 'c', name: 'send_mail', arguments: {} });
    expect(outcome).toMatchObject({ type: 'ToolDenied', code: 'policy.contract' });
    const [made] = await runtime.calls.list({ sessionId: 's' });
    expect(JSON.stringify(made)).toContain('defaults.unlisted_tools');
  });

  test('only observes in a document that observes, and a later document may change it', async () => {
    const observing = contractsFromYamlString(
      document(never, '', '{ mode: observe, unlisted_tools: block }'),
    );
    const ruling = await observing.evaluate({ toolName: 'x' });
    expect([ruling.decision, ruling.observed.map(({ ruleId }) => ruleId)]).toEqual([
      'allow',
      ['defaults.unlisted_tools'],
    ]);
    const both = contractsFromMultiple([
      contractsFromYamlString(document(never, '', deny)),
      contractsFromYamlString(document(never)),
    ]);
    expect((await both.evaluate({ toolName: 'x' })).decision).toBe('block');
  });

  test('accepts allow and block, and no other word', () => {
    const said = (word: string) => document(never, '', `{ mode: enforce, unlisted_tools: ${word} }`);
    expect(() => contractsFromYamlString(said('allow'))).not.toThrow();
    for (const word of ['deny', 'ask', 'true', '[]'])
      expect(() => contractsFromYamlString(said(word))).toThrow(/unlisted_tools/);
  });
});

describe('workingDirectory', () => {
  const inside = document('  - { id: box, type: sandbox, tool: read_file, within: [.], message: Inside. }\n');
  const tool = defineTool({ name: 'read_file', mode: 'read', run: () => 'text' });

  test('is on record, so that a backtest without it judges the same', async () => {
    const ledger = createMemoryLedger();
    const contracts = contractsFromYamlString(inside, { workingDirectory: '/srv/project' });
    const runtime = createRuntime({ ledger, tools: [tool], contracts });
    const turn = runtime.turn({ sessionId: 's' });
    const paths = ['/srv/project/a.txt', 'b.txt', '/srv/other/c.txt', '../d.txt'];
    const ends = await Promise.all(
      paths.map((path, index) =>
        turn.call({ id: `c${index}`, name: 'read_file', arguments: { path } }).then(({ type }) => type),
      ),
    );
    expect(ends).toEqual(['ToolExecutionResult', 'ToolExecutionResult', 'ToolDenied', 'ToolDenied']);
    await runtime.close();
    const report = await backtest(ledger, { contracts: contractsFromYamlString(inside) });
    expect(report.different).toBe(0);
    const elsewhere = contractsFromYamlString(inside, { workingDirectory: '/elsewhere' });
    expect((await backtest(ledger, { contracts: elsewhere })).different).toBeGreaterThan(0);
  });

  test('is mentioned when a relative path is explained without it', async () => {
    const explained = await contractsFromYamlString(inside).explain({
      toolName: 'read_file',
      input: { path: 'a.txt' },
    });
    expect(JSON.stringify(explained)).toContain('workingDirectory');
  });
});

test('a stage that does not allow a tool gives one reason, and the details elsewhere', async () => {
  const contracts = contractsFromYamlString(
    'apiVersion: quittance/v1\nkind: Workflow\nmetadata: { name: flow }\nstages:\n' +
      '  - { id: look, tools: [Read], exit: [{ condition: file_read("a"), message: Read a. }] }\n' +
      '  - { id: write, tools: [Write] }\n',
  );
  const tools = ['Read', 'Write', 'Bash'].map((name) =>
    defineTool({ name, mode: 'external', run: () => 'done' }),
  );
  const runtime = createRuntime({ tools, contracts });
  const denied = await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'Bash', arguments: {} });
  expect(denied).toMatchObject({ details: expect.stringContaining('"look"') as string });
  const state = await runtime.workflow({ sessionId: 's', workflow: 'flow' }).state();
  expect(state.blockedReason).toBe('Tool is not allowed in this workflow stage');
  expect(state.lastBlockedAction?.message).toContain('it accepts Read');
});
