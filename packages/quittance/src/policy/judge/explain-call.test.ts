/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { policyOf, preRule, sampleCall, sampleWorld } from '../../../../../test/sample-policy.ts';
import type { JsonObject } from '../../base/json.ts';
import { compilePolicy } from './compile-policy.ts';
import type { CallExplanation, ExplainOptions, RuleExplanation } from './explain-call.ts';
import { explainCall } from './explain-call.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import { evidenceSources } from '../workflow/evidence-sources.ts';

const workflowHost = { evidence: evidenceSources() };
const world = sampleWorld({ workingDirectory: '/project', homeDirectory: '/home/agent' });

const explain = (
  rules: readonly JsonObject[],
  call: PolicyCall,
  options: Partial<ExplainOptions> = {},
): Promise<CallExplanation> =>
  explainCall(policyOf(rules, world).composed, world, call, { workflowHost, ...options });

const only = ({ rules }: CallExplanation): RuleExplanation => {
  const [rule, ...others] = rules;
  if (rule === undefined || others.length > 0) throw new Error('One rule was expected.');
  return rule;
};

test('only evaluated leaves are listed, with the values they found', async () => {
  const when = {
    all: [
      { 'args.command': { contains: 'rm' } },
      { 'args.force': { equals: true } },
      { 'args.path': { exists: true } },
    ],
  };
  const rule = only(
    await explain([preRule('r', when)], sampleCall({ command: 'rm x', force: false, path: 'y' })),
  );
  expect(rule).toMatchObject({ ruleId: 'r', verdict: 'quiet', fired: undefined });
  expect(rule.leaves).toEqual([
    { selector: 'args.command', operator: 'contains', operand: 'rm', value: 'rm x', truth: true },
    { selector: 'args.force', operator: 'equals', operand: true, value: false, truth: false },
  ]);
});

test('a value that is secret by its form or by its name is masked', async () => {
  const when = {
    any: [
      { 'args.password': { equals: 'x' } },
      { 'args.text': { contains: 'nothing' } },
      { 'args.nested': { exists: false } },
    ],
  };
  const token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';
  const call = sampleCall({ password: 'hunter2', text: `see ${token}`, nested: { password: 'hunter2' } });
  const explanation = await explain([preRule('r', when)], call);
  expect(JSON.stringify(explanation)).not.toMatch(/hunter2|ghp_/);
  expect(only(explanation).leaves).toHaveLength(3);
});

test('long values are cut', async () => {
  const call = sampleCall({ text: 'x'.repeat(1_000_000) });
  const [leaf] = only(await explain([preRule('r', { 'args.text': { contains: 'y' } })], call)).leaves;
  expect(JSON.stringify(leaf?.value).length).toBeLessThanOrEqual(202);
});

test('the explanation says that the rule fired because a value could not be judged', async () => {
  const rule = only(await explain([preRule('r', { 'args.n': { contains: 'x' } })], sampleCall({ n: 7 })));
  expect(rule).toMatchObject({
    verdict: 'fired',
    fired: { policyError: true },
    leaves: [{ truth: 'error', value: 7 }],
  });
});

test('rules for other tools and rules with no input are distinguished from quiet rules', async () => {
  const post = {
    id: 'p',
    type: 'post',
    tool: '*',
    when: { 'output.text': { contains: 'x' } },
    then: { action: 'warn', message: 'm' },
  };
  const limit = {
    id: 's',
    type: 'session',
    limits: { max_tool_calls: 2 },
    then: { action: 'block', message: 'm' },
  };
  const rules = [preRule('o', { 'args.x': { exists: true } }, { tool: 'Other' }), post, limit];
  const { rules: unknown } = await explain(rules, sampleCall());
  expect(unknown.map(({ verdict }) => verdict)).toEqual(['other_tool', 'not_asked', 'not_asked']);
  const counters = { toolCalls: 2, attempts: 5, callsOf: () => 0 };
  const { rules: known, ruling } = await explain(rules, sampleCall(), { counters });
  expect(ruling).toMatchObject({ decision: 'block', decidedBy: { ruleId: 's' } });
  expect(known[2]).toMatchObject({
    verdict: 'fired',
    limits: [{ counter: 'tool_calls', limit: 2, used: 2 }],
  });
});

test('a sandbox rule lists the resources it found in the call and which are outside', async () => {
  const rule = {
    id: 'box',
    type: 'sandbox',
    tool: 'Bash',
    within: ['.'],
    allows: { commands: ['cat'] },
    message: 'Stay inside.',
  };
  const { resources } = only(await explain([rule], sampleCall({ command: 'cat a.txt /etc/passwd' })));
  expect(resources.map(({ kind, text, inside }) => [kind, text, inside])).toEqual([
    ['command', 'cat a.txt /etc/passwd', true],
    ['path', '/etc/passwd', false],
    ['path', '/project/a.txt', true],
    ['path', '/project', true],
  ]);
  const chained = only(await explain([rule], sampleCall({ command: 'cat a.txt; id' })));
  expect(chained.resources[0]).toMatchObject({ kind: 'command', inside: false });
});

test('values that a rule redacts from a result are not shown as found values', async () => {
  const post = (id: string, action: string): JsonObject => ({
    id,
    type: 'post',
    tool: '*',
    when: { 'result.k': { contains: 'jwyxqthlkmvz' } },
    then: { action, message: 'm' },
  });
  const end = { type: 'result', value: { k: 'jwyxqthlkmvz' } } as const;
  const hidden = await explain([post('w', 'warn'), post('r', 'redact')], sampleCall(), { end });
  expect(JSON.stringify(hidden.rules.map(({ leaves }) => leaves.map(({ value }) => value)))).not.toContain(
    'jwyxqthlkmvz',
  );
  const shown = only(await explain([post('w', 'warn')], sampleCall(), { end }));
  expect(shown.leaves).toMatchObject([{ value: 'jwyxqthlkmvz' }]);
});

test('a result is judged only if the call would have run', async () => {
  const post = {
    id: 'p',
    type: 'post',
    tool: '*',
    when: { 'output.text': { contains: 'secret' } },
    then: { action: 'redact', message: 'm' },
  };
  const end = { type: 'result', value: 'a secret' } as const;
  const { output } = await explain([post], sampleCall(), { end });
  expect(output).toMatchObject({ decision: 'redact', output: 'a [REDACTED]' });
  const blocked = await explain([preRule('b', { 'tool.name': { exists: true } }), post], sampleCall(), {
    end,
  });
  expect(blocked.output).toBeUndefined();
  expect(blocked.rules[1]).toMatchObject({ verdict: 'not_asked' });
});

test('the explanation matches the decision', async () => {
  const rules = [
    preRule('a', { 'args.a': { gt: 3 } }),
    preRule('b', { not: { 'args.b': { in: ['x', 'y'] } } }, { then: { action: 'ask', message: 'm' } }),
    preRule(
      'c',
      { any: [{ 'args.c': { starts_with: 'x' } }, { 'args.a': { equals: 1 } }] },
      { mode: 'observe' },
    ),
  ];
  const { composed } = policyOf(rules, world);
  const policy = compilePolicy(composed, world);
  const value = fc.constantFrom(0, 1, 5, 'x', 'xy', null, true, [], {});
  await fc.assert(
    fc.asyncProperty(fc.record({ a: value, b: value, c: value }, { requiredKeys: [] }), async (input) => {
      const call = sampleCall(input as JsonObject);
      const { ruling, rules: explained } = await explainCall(composed, world, call, { workflowHost });
      expect(ruling).toEqual(await policy.judgeCall(call));
      const fired = [...ruling.fired, ...ruling.observed].map(({ ruleId }) => ruleId);
      expect(explained.filter((rule) => rule.fired !== undefined).map(({ ruleId }) => ruleId)).toEqual(
        fired.toSorted(),
      );
      // The last evaluated leaf decided, so a rule that was asked has at least one.
      for (const rule of explained) expect(rule.leaves.length).toBeGreaterThan(0);
    }),
  );
});
