/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  loadRuleset,
  preRule,
  rulesetOf,
  sandboxRule,
  sessionRule,
} from '../../../../../test/sample-ruleset.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { composeRules } from './compose-rules.ts';
import type { ComposedRules } from '../language/composed-rules.ts';
import { whyRegexImpossible } from '../regex/impossible-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';
import { lintRules } from './lint-rules.ts';
import { parseDocument } from '../read/parse-document.ts';

const compose = (rules: readonly JsonValue[], more: JsonObject = {}): ComposedRules =>
  composeRules([{ kind: 'Ruleset', source: 'a', ruleset: loadRuleset(rulesetOf(rules, more), 'a') }]);

const codes = (rules: readonly JsonValue[], knownTools?: readonly string[]): readonly string[] =>
  lintRules(compose(rules), knownTools).map(({ code }) => code);

const of = (when: JsonValue): readonly string[] => codes([{ ...preRule, when }]);

const blind = ['absent_field'];

describe('a condition', () => {
  it.each<[JsonValue, readonly string[]]>([
    [{ 'args.a': { matches: 'a^b' } }, ['never_matches']],
    [{ 'args.a': { matches: '^a$b' } }, ['never_matches']],
    [{ 'args.a': { matches: 'x[^\\s\\S]' } }, ['never_matches']],
    [{ 'args.a': { matches_any: ['^ok$', 'end$.+'] } }, ['never_matches']],
    [{ 'args.a': { matches: 'a*^b' } }, []],
    [{ 'args.a': { matches: 'a$|b^' } }, []],
    [{ 'args.a': { matches: '(?m)a$\\nb' } }, []],
    [{ 'args.a': { matches: 'delete' } }, ['plain_regex']],
    [{ 'args.a': { matches: '' } }, ['always_matches']],
    [{ 'args.a': { contains: '' } }, ['always_matches']],
    [{ 'args.a': { contains: 'rm .*' } }, ['looks_like_regex']],
    [{ 'args.a': { contains_any: ['ok', '(a|b)', '^x'] } }, ['looks_like_regex', 'looks_like_regex']],
    [{ 'args.a': { contains: 'eval(' } }, []],
    [{ 'args.a': { contains: '$HOME' } }, []],
    [{ 'args.a': { equals: null } }, ['never_matches']],
    [{ 'args.a': { in: [null, 1] } }, []],
    [{ 'args.a': { not_equals: 'x' } }, ['absent_field']],
    [{ 'args.a': { not_in: ['x'], on_missing: 'fire' } }, []],
    [{ 'tool.name': { not_in: ['x'] } }, []],
    [{ all: [{ 'args.a': { exists: true } }, { 'args.a': { not_in: ['x'] } }] }, []],
    [{ any: [{ 'args.a': { exists: true } }, { 'args.a': { not_in: ['x'] } }] }, ['absent_field']],
    [{ not: { 'args.a': { equals: 'x' } } }, ['absent_field']],
    [{ not: { not: { 'args.a': { equals: 'x' } } } }, []],
    [{ not: { 'args.a': { exists: true } } }, []],
    [{ all: [{ 'args.n': { gt: 5 } }, { 'args.n': { lt: 3 } }] }, ['never_matches', ...blind, ...blind]],
    [{ all: [{ 'args.n': { gt: 5 } }, { 'args.n': { lte: 5 } }] }, ['never_matches', ...blind, ...blind]],
    [{ all: [{ 'args.n': { gte: 5 } }, { 'args.n': { lte: 5 } }] }, [...blind, ...blind]],
    [{ 'args.n': { gt: 5 } }, blind],
    [{ 'principal.claims.level': { lt: 3 } }, blind],
    [{ 'args.n': { gt: 5, on_missing: 'fire' } }, []],
    [{ 'args.n': { gt: 5, on_missing: 'skip' } }, []],
    [{ all: [{ 'args.n': { exists: true } }, { 'args.n': { gt: 5 } }] }, []],
    [{ 'args.a': { not_in: ['x'], on_missing: 'skip' } }, []],
    [{ 'env.LIMIT': { gt: 5 } }, []],
    // A call can bypass these by omitting the field.
    [{ 'args.dry_run': { equals: false } }, blind],
    [{ 'args.n': { equals: 0 } }, blind],
    [{ 'args.a': { in: ['x', ''] } }, blind],
    [{ 'args.a': { matches: '^$' } }, blind],
    [{ 'args.a': { matches_any: ['^b$', '^[a-z]*$'] } }, blind],
    [{ 'principal.role': { equals: 'guest' } }, blind],
    [{ 'principal.claims.team': { in: ['a', 'b'] } }, blind],
    [{ 'principal.role': { equals: 'guest', on_missing: 'skip' } }, []],
    [{ 'args.dry_run': { equals: false, on_missing: 'fire' } }, []],
    [{ all: [{ 'args.dry_run': { exists: true } }, { 'args.dry_run': { equals: false } }] }, []],
    // An absent field cannot contain forbidden text.
    [{ 'args.force': { equals: true } }, []],
    [{ 'args.a': { in: ['x', 1] } }, []],
    [{ 'args.a': { contains: 'x' } }, []],
    [{ 'args.a': { contains_any: ['x'] } }, []],
    [{ 'args.a': { starts_with: '/etc' } }, []],
    [{ 'args.a': { ends_with: '.pem' } }, []],
    [{ 'args.a': { matches: '^a+$' } }, []],
    [{ 'args.a': { matches: 'a*' } }, []],
    // These are always present.
    [{ 'tool.name': { equals: '' } }, []],
    [{ 'session.failures': { gte: 3 } }, []],
    [{ 'session.tool.failures': { equals: 0 } }, []],
    [{ all: [{ 'args.n': { equals: 1 } }, { 'args.n': { equals: 2 } }] }, ['never_matches']],
    [{ all: [{ 'args.n': { exists: false } }, { 'args.n': { equals: 2 } }] }, ['never_matches']],
    [{ any: [{ 'args.n': { equals: 1 } }, { 'args.n': { equals: 2 } }] }, []],
  ])('%j', (when, expected) => {
    expect(of(when)).toEqual(expected);
  });

  it('is reported as impossible only if no text matches', () => {
    const piece = fc.constantFrom('a', 'b', '^', '$', '.', 'a*', 'b?', 'a+', '(a)', '(^)', '(b$)?', '\\x61*', '\\A', '\\z', '\\b', '[ab]', '[^a]', '[]a]', '|', '\\.', 'a{0}', 'b{2}', '\\n', '(a|^)', '[^\\d\\D]?'); // oxfmt-ignore
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '.'), maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 6 }),
        fc.array(text, { minLength: 10, maxLength: 20 }),
        (pieces, texts) => {
          const reading = parseRegex(pieces.join(''));
          if (!reading.ok || whyRegexImpossible(pieces.join('')) === undefined) return true;
          return !texts.some((each) => reading.regex.test(each));
        },
      ),
      { numRuns: 5_000 },
    );
  });
});

describe('a rule', () => {
  it('gets a warning if its timeout lets the call run', () => {
    const then = { action: 'ask', message: 'm', timeout_effect: 'allow' };
    expect(codes([{ ...preRule, then }])).toEqual(['timeout_allows']);
    expect(codes([{ ...sandboxRule, outside: 'ask', timeout_effect: 'allow' }])).toEqual(['timeout_allows']);
    expect(codes([{ ...preRule, then: { action: 'ask', message: 'm', timeout: 5 } }])).toEqual([]);
  });

  it.each([
    [['ls', 'git status', 'npm test', 'kubectl get *', '/usr/bin/make all', 'pytest', 'pytest -x'], []],
    [['frobnicate'], ['narrow_command']],
    [['npm'], ['narrow_command']],
    [['bash'], ['narrow_command']],
    [
      ['env *', '/usr/bin/sudo *', '*'],
      ['narrow_command', 'narrow_command', 'narrow_command'],
    ],
  ])('gets a warning for entries that allow less than they seem to: %j', (commands, expected) => {
    expect(codes([{ ...sandboxRule, allows: { commands } }])).toEqual(expected);
  });

  it('gets a warning if it has a timeout but never asks', () => {
    expect(codes([{ ...preRule, then: { action: 'block', message: 'm', timeout: 5 } }])).toEqual([
      'timeout_unused',
    ]);
    expect(codes([{ ...sandboxRule, timeout_effect: 'allow' }])).toEqual(['timeout_unused']);
  });

  it('is shadowed by an earlier block with the same condition', () => {
    const asks = { ...preRule, id: 'asks', then: { action: 'ask', message: 'm' } };
    expect(codes([preRule, asks])).toEqual(['shadowed']);
    expect(codes([{ ...preRule, tool: '*' }, asks])).toEqual(['shadowed']);
    expect(codes([asks, preRule])).toEqual([]);
    expect(codes([{ ...preRule, mode: 'observe' }, asks])).toEqual([]);
    expect(codes([{ ...preRule, tool: 'Other' }, asks])).toEqual([]);
  });

  it('may only name existing tools, if the tools are known', () => {
    const perTool = { ...sessionRule, limits: { max_calls_per_tool: { Bsah: 1 } } };
    const warnings = lintRules(compose([preRule, perTool, { ...preRule, id: 'glob', tool: 'mcp_*' }]), [
      'Bash',
    ]);
    expect(warnings).toMatchObject([
      { code: 'unknown_tool', ruleId: 'few-calls', advice: 'Did you mean Bash?' },
      { code: 'unknown_tool', ruleId: 'glob' },
    ]);
  });

  it('is reported with its line', () => {
    const text = JSON.stringify(
      rulesetOf([{ ...preRule, when: { 'args.a': { not_in: [1] } } }]),
      undefined,
      1,
    );
    const document = parseDocument(text, 'a.yaml');
    expect(lintRules(composeRules([document]))).toMatchObject([
      { ruleId: 'no-rm', source: 'a.yaml', line: 11 },
    ]);
  });
});

describe('contracts', () => {
  it('cover every tool, or the warning names those left out', () => {
    expect(lintRules(compose([preRule, sessionRule]), ['Bash', 'Read'])).toMatchObject([
      { code: 'uncovered_tool', message: expect.stringContaining('"Read"') as unknown },
    ]);
    expect(codes([{ ...preRule, tool: '*' }], ['Bash', 'Read'])).toEqual([]);
  });

  it('contracts that leave out many tools get one warning', () => {
    const others = Array.from({ length: 22 }, (_, n) => `tool_${n}`);
    const [warning, ...more] = lintRules(compose([preRule, sessionRule]), ['Bash', ...others]);
    expect(warning?.message).toMatch(
      /^No rule applies to the tools "tool_0", "tool_1", .*"tool_19" and 2 more: every call of them is allowed\.$/,
    );
    expect(more).toEqual([]);
  });

  it('contracts that only observe by default get a reminder', () => {
    const watching = compose([preRule, { ...preRule, id: 'x', tool: 'X', mode: 'enforce' }], {
      defaults: { mode: 'observe' },
    });
    expect(lintRules(watching)).toMatchObject([
      { code: 'observe_default', message: expect.stringContaining('1 of 2 rules') as unknown },
    ]);
  });

  it('contracts without problems get no warning', () => {
    expect(codes([preRule, sessionRule, sandboxRule], ['Bash', 'Read', 'Write'])).toEqual([]);
  });
});
