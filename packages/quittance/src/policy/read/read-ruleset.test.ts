/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import { describe, expect, it } from 'vitest';
import {
  loadRuleset,
  preRule,
  problemsOf,
  rulesetOf,
  sandboxRule,
  sessionRule,
} from '../../../../../test/sample-ruleset.ts';
import { thrownBy } from '../../../../../test/thrown-by.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isQuittanceError } from '../../base/error.ts';

const postRule: JsonObject = {
  ...preRule,
  id: 'no-secret',
  type: 'post',
  when: { 'output.text': { contains: 'secret' } },
  then: { action: 'redact', message: 'Hidden' },
};
const when = (expression: JsonValue): JsonObject => rulesetOf([{ ...preRule, when: expression }]);
const without = (rule: JsonObject, key: string): JsonObject =>
  Object.fromEntries(Object.entries(rule).filter(([each]) => each !== key));
const only = (document: JsonObject): string => problemsOf(document).join('\n');

describe('a ruleset', () => {
  it('may contain rules of all four types', () => {
    const { rules } = loadRuleset(rulesetOf([preRule, postRule, sessionRule, sandboxRule]));
    expect(rules).toMatchObject([
      { type: 'pre', timeoutSeconds: 300, timeoutEffect: 'block', tags: [], mode: undefined },
      { type: 'post', action: 'redact' },
      { type: 'session', limits: { maxToolCalls: 10, maxAttempts: undefined, maxCallsPerTool: [] } },
      {
        type: 'sandbox',
        tools: ['Read', 'Write'],
        within: ['/project'],
        outside: 'block',
        deniedDomains: [],
      },
    ]);
  });

  it('keeps its facts about tools, and any observability section', () => {
    const ruleset = loadRuleset(
      rulesetOf([preRule], {
        tools: { Read: { side_effect: 'read', idempotent: true }, 'mcp_*': {} },
        observability: { any: { thing: [1] } },
        observe_alongside: true,
        extends: 'base',
        metadata: { name: 'a.b_c-1', description: 'words' },
      }),
    );
    expect(ruleset).toMatchObject({
      name: 'a.b_c-1',
      description: 'words',
      tools: [
        { tool: 'Read', sideEffect: 'read', idempotent: true },
        { tool: 'mcp_*', sideEffect: undefined, idempotent: undefined },
      ],
      observability: { any: { thing: [1] } },
      observeAlongside: true,
      extends: 'base',
    });
  });

  it('checks disabled rules, and leaves them out', () => {
    const off = { ...preRule, id: 'off', enabled: false };
    expect(loadRuleset(rulesetOf([preRule, off]))).toMatchObject({
      rules: [{ id: 'no-rm' }],
      disabled: ['off'],
    });
    expect(only(rulesetOf([preRule, { ...off, tool: '' }]))).toMatch(/^rules\[1\]\.tool/);
  });

  it('needs rules unless it extends another ruleset', () => {
    expect(only(rulesetOf([]))).toMatch(/rules is an empty list/);
    expect(only(without(rulesetOf([]), 'rules'))).toMatch(/rules is missing/);
    expect(only(rulesetOf([], { extends: 'base' }))).toBe('');
    expect(only({ ...without(rulesetOf([]), 'rules'), extends: 'base' })).toBe('');
  });

  it.each<[string, JsonObject, RegExp]>([
    ['an unknown apiVersion', rulesetOf([preRule], { apiVersion: 'v2' }), /apiVersion is "v2"; expected edictum\/v1/],
    ['an unknown kind', rulesetOf([preRule], { kind: 'Rules' }), /kind is "Rules"; expected Ruleset or Workflow/],
    ['a name with capitals', rulesetOf([preRule], { metadata: { name: 'Big' } }), /metadata\.name: name is "Big"/],
    ['a name that ends in a line', rulesetOf([preRule], { metadata: { name: 'a\n' } }), /name is/],
    ['more defaults', rulesetOf([preRule], { defaults: { mode: 'enforce', timeout: 1 } }), /Unknown field "timeout" in defaults/],
    ['an id twice', rulesetOf([preRule, preRule]), /Duplicate id "no-rm"/],
    ['an unknown type', rulesetOf([{ ...preRule, type: 'during' }]), /type is "during"; expected pre, post, session or sandbox/],
    ['a rule that is not an object', rulesetOf(['x']), /rules\[0\] is "x"; expected an object/],
    ['an empty field', rulesetOf([{ ...preRule, tool: null }]), /tool is empty; expected text/],
    ['tags that are not texts', rulesetOf([{ ...preRule, then: { action: 'block', message: 'm', tags: [1] } }]), /then\.tags\[0\]/],
    ['an unknown mode', rulesetOf([{ ...preRule, mode: 'off' }]), /mode is "off"/],
    ['an idempotent word', rulesetOf([preRule], { tools: { A: { idempotent: 'yes' } } }), /tools\.A\.idempotent: idempotent is "yes"/],
    ['a timeout of none', rulesetOf([{ ...preRule, then: { action: 'ask', message: 'm', timeout: 0 } }]), /timeout is the number 0; expected a whole number from 1/],
    ['half a second', rulesetOf([{ ...preRule, then: { action: 'ask', message: 'm', timeout: 1.5 } }]), /timeout is the number 1.5/],
    ['a timeout on a post rule', rulesetOf([{ ...postRule, then: { action: 'warn', message: 'm', timeout: 5 } }]), /Unknown field "timeout" in then/],
    ['a tool on a session rule', rulesetOf([{ ...sessionRule, tool: 'A' }]), /Unknown field "tool"/],
    ['no limit at all', rulesetOf([{ ...sessionRule, limits: {} }]), /limits has no limit/],
    ['a limit of none', rulesetOf([{ ...sessionRule, limits: { max_attempts: 0 } }]), /max_attempts is the number 0; expected a whole number of 1 or more/],
    ['no tool in a limit', rulesetOf([{ ...sessionRule, limits: { max_calls_per_tool: {} } }]), /max_calls_per_tool is an empty object/],
    ['a session that asks', rulesetOf([{ ...sessionRule, then: { action: 'ask', message: 'm' } }]), /action is "ask"; expected block/],
    ['tool and tools', rulesetOf([{ ...sandboxRule, tool: 'A' }]), /tool and tools are both given/],
    ['a sandbox of nothing', rulesetOf([without(sandboxRule, 'within')]), /within and allows are both missing/],
    ['allows of nothing', rulesetOf([{ ...sandboxRule, allows: {} }]), /allows has neither commands nor domains/],
    ['an empty within', rulesetOf([{ ...sandboxRule, within: [] }]), /within is an empty list/],
    ['not_within alone', rulesetOf([{ ...without(sandboxRule, 'within'), allows: { commands: ['ls'] }, not_within: ['/x'] }]), /not_within needs within/],
    ['not_allows alone', rulesetOf([{ ...sandboxRule, not_allows: { domains: ['x'] } }]), /not_allows needs allows/],
    ['not_allows of domains alone', rulesetOf([{ ...sandboxRule, allows: { commands: ['ls'] }, not_allows: { domains: ['x'] } }]), /not_allows\.domains needs allows\.domains/],
    ['a then on a sandbox', rulesetOf([{ ...sandboxRule, then: { action: 'block', message: 'm' } }]), /Unknown field "then"/],
  ])('is rejected with %s', (_, document, expected) => {
    expect(only(document)).toMatch(expected);
  }); // oxfmt-ignore

  it('counts the length of a message in characters', () => {
    const say = (message: string): string =>
      only(rulesetOf([{ ...preRule, then: { action: 'block', message } }]));
    expect(say('😀'.repeat(500))).toBe('');
    expect(say('😀'.repeat(501))).toMatch(/message is 501 characters long; expected at most 500/);
  });
});

describe('older words', () => {
  const bundle = {
    apiVersion: 'edictum/v1',
    kind: 'ContractBundle',
    metadata: { name: 'old' },
    defaults: { mode: 'enforce' },
    contracts: [
      { ...preRule, then: { effect: 'deny', message: 'no' } },
      {
        ...preRule,
        id: 'asks',
        then: { effect: 'approve', message: 'm', timeout: 5, timeout_action: 'deny' },
      },
      { ...sandboxRule, outside: 'approve', timeout_effect: 'allow' },
      { ...sessionRule, then: { effect: 'deny', message: 'Enough' } },
    ],
  };

  it('are read as the new ones', () => {
    expect(loadRuleset(bundle).rules).toMatchObject([
      { action: 'block' },
      { action: 'ask', timeoutSeconds: 5, timeoutEffect: 'block' },
      { outside: 'ask', timeoutEffect: 'allow' },
      { action: 'block' },
    ]);
    expect(loadRuleset({ ...bundle, kind: 'Ruleset' }).rules).toEqual(loadRuleset(bundle).rules);
  });

  it('are replaced by the new ones in problems', () => {
    const [rule] = bundle.contracts;
    expect(only({ ...bundle, contracts: [{ ...rule, then: { effect: 'warn', message: 'm' } }] })).toBe(
      'contracts[0].then.effect: action (written effect) is "warn"; expected block or ask.',
    );
  });

  it('may not be used together with the new ones', () => {
    expect(only({ ...bundle, rules: [preRule] })).toMatch(
      /"rules" and "contracts" are two spellings of rules/,
    );
    const then = { effect: 'deny', action: 'block', message: 'm' };
    expect(only(rulesetOf([{ ...preRule, then }]))).toMatch(
      /"action" and "effect" are two spellings of action/,
    );
  });
});

describe('an expression', () => {
  it('is all, any, not or a leaf', () => {
    const expression = {
      all: [
        { any: [{ 'args.a': { equals: 1 } }] },
        { not: { 'tool.name': { in: ['x'], on_missing: 'fire' } } },
      ],
    };
    expect(loadRuleset(when(expression)).rules).toMatchObject([
      {
        when: {
          type: 'all',
          of: [
            {
              type: 'any',
              of: [{ selector: { source: 'args', path: ['a'] }, operator: 'equals', onMissing: 'skip' }],
            },
            { type: 'not', of: { selector: { source: 'tool.name', path: [] }, onMissing: 'fire' } },
          ],
        },
      },
    ]);
  });

  it.each<[string, JsonValue, RegExp]>([
    ['nothing', {}, /when is an empty object/],
    ['text', 'args.a', /when is "args.a"; expected an object/],
    ['two selectors', { 'args.a': { exists: true }, 'args.b': { exists: true } }, /expected exactly one/],
    ['all next to any', { all: [], any: [] }, /expected exactly one/],
    ['an empty all', { all: [] }, /all is an empty list/],
    ['a not of a list', { not: [] }, /not is an empty list/],
    ['no operator', { 'args.a': {} }, /has no operator/],
    ['on_missing alone', { 'args.a': { on_missing: 'fire' } }, /has no operator/],
    ['two operators', { 'args.a': { gt: 1, lt: 2 } }, /contains "gt" and "lt"; expected one operator/],
    ['an unknown operator', { 'args.a': { equal: 1 } }, /No operator named "equal". Did you mean equals\?/],
    ['an inherited operator', { 'args.a': { constructor: 1 } }, /No operator named "constructor"/],
    ['exists of a word', { 'args.a': { exists: 'yes' } }, /exists is "yes"; expected true or false/],
    ['equals of a list', { 'args.a': { equals: [1] } }, /equals is a list/],
    ['in of a scalar', { 'args.a': { in: 'a' } }, /in is "a"; expected a list/],
    ['in of lists', { 'args.a': { in: [['a']] } }, /in\[0\] is a list/],
    ['contains of a number', { 'args.a': { contains: 1 } }, /contains is the number 1; expected text/],
    ['contains_any of none', { 'args.a': { contains_any: [] } }, /contains_any is an empty list/],
    ['a broken regex', { 'args.a': { matches: '(' } }, /matches is not a valid regular expression/],
    ['a broken regex of several', { 'args.a': { matches_any: ['a', '['] } }, /matches_any\[1\] is not a valid/],
    ['a lookahead', { 'args.a': { matches: '(?=a)' } }, /matches is not a valid regular expression/],
    ['an unknown selector', { 'arg.a': { exists: true } }, /No selector begins with "arg".*Did you mean args\?.*Known prefixes: args, tool/],
    ['an output before the run', { 'output.text': { contains: 'a' } }, /only after the tool has run/],
    ['a result before the run', { 'result.a': { contains: 'a' } }, /only after the tool has run/],
    ['a strange on_missing', { 'args.a': { equals: 1, on_missing: 'block' } }, /on_missing is "block"; expected fire or skip/],
  ])('is rejected as %s', (_, expression, expected) => {
    expect(only(when(expression))).toMatch(expected);
  }); // oxfmt-ignore

  it('is at most fifty levels deep', () => {
    const nest = (depth: number): JsonValue => {
      let expression: JsonValue = { 'args.a': { exists: true } };
      for (let level = 1; level < depth; level++)
        expression = level % 2 ? { not: expression } : { all: [expression] };
      return expression;
    };
    expect(only(when(nest(50)))).toBe('');
    expect(only(when(nest(51)))).toMatch(/at most 50 levels deep/);
    expect(problemsOf(when(nest(150)))).toHaveLength(1);
  });
});

describe('words of a host', () => {
  it('are operators and first words of selectors', () => {
    const expression = { all: [{ 'geo.country': { is_near: { lat: 1 } } }, { geo: { exists: true } }] };
    const { rules } = loadRuleset(when(expression), 'a', { operators: ['is_near'], selectors: ['geo'] });
    expect(rules).toMatchObject([
      {
        when: {
          of: [
            {
              selector: { source: { hostPrefix: 'geo' }, path: ['country'] },
              operator: 'is_near',
              operand: { lat: 1 },
            },
            { selector: { source: { hostPrefix: 'geo' }, path: [] } },
          ],
        },
      },
    ]);
    expect(only(when(expression))).toMatch(/No selector begins with "geo"/);
  });

  it.each([
    { operators: ['equals'] },
    { operators: ['on_missing'] },
    { operators: ['a b'] },
    { selectors: ['args'] },
    { selectors: ['all'] },
    { selectors: ['a.b'] },
    { selectors: ['__proto__x y'] },
  ])('may not be those of the language: %j', (options) => {
    const error = thrownBy(() => problemsOf(when({ 'args.a': { exists: true } }), options));
    expect(isQuittanceError(error, 'config.invalid')).toBe(true);
  });
});
