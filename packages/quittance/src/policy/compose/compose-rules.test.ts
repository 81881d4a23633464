import { describe, expect, it } from 'vitest';
import { loadRuleset, preRule, rulesetOf } from '../../../../../test/sample-ruleset.ts';
import { thrownBy } from '../../../../../test/thrown-by.ts';
import type { JsonObject } from '../../base/json.ts';
import type { CodeRule } from '../language/code-rule.ts';
import type { ContractPart } from './compose-rules.ts';
import { composeRules } from './compose-rules.ts';
import type { ComposedRules } from '../language/composed-rules.ts';
import { concatenateRules } from './concatenate-rules.ts';
import { sha256Hex } from '../language/join-versions.ts';

const rule = (id: string, more: JsonObject = {}): JsonObject => ({ ...preRule, id, ...more });

function part(source: string, rules: readonly JsonObject[], more: JsonObject = {}): ContractPart {
  const ruleset = loadRuleset(rulesetOf(rules, { metadata: { name: source }, ...more }), source);
  return { kind: 'Ruleset', source, ruleset };
}

const versionOf = (each: ContractPart): string => (each.kind === 'Ruleset' ? each.ruleset.version : '');
const ids = ({ rules }: ComposedRules): readonly string[] => rules.map(({ id }) => id);
const modes = ({ rules }: ComposedRules): readonly string[] => rules.map(({ mode }) => mode);

const code: CodeRule = {
  type: 'code',
  id: 'by-hand',
  tool: '*',
  mode: undefined,
  tags: [],
  metadata: undefined,
  when: 'before',
  check: () => undefined,
};

describe('documents composed from left to right', () => {
  it('replace rules with the same id in place, and append the others', () => {
    const composed = composeRules([
      part('a', [rule('x'), rule('y')]),
      part('b', [rule('z'), rule('x', { tool: 'Sh' })]),
    ]);
    expect(ids(composed)).toEqual(['x', 'y', 'z']);
    expect(composed.rules[0]).toMatchObject({ source: 'b', rule: { tool: 'Sh' } });
    expect(composed.report.overridden).toEqual([{ id: 'x', from: 'a', by: 'b' }]);
  });

  it('apply the later default mode to every rule without a mode, with a warning', () => {
    const observing = part('b', [rule('z')], { defaults: { mode: 'observe' } });
    const composed = composeRules([part('a', [rule('x'), rule('y', { mode: 'enforce' })]), observing]);
    expect(modes(composed)).toEqual(['observe', 'enforce', 'observe']);
    expect(composed.report.warnings).toEqual([
      expect.stringMatching(/^b sets defaults\.mode to observe.*: x only observe/),
    ]);
    expect(composeRules([observing]).report.warnings).toEqual([]);
  });

  it('merge tools and metadata key by key; the later observability wins', () => {
    const composed = composeRules([
      part('a', [rule('x')], {
        metadata: { name: 'a', description: 'words' },
        tools: { R: { side_effect: 'read' } },
        observability: { a: 1 },
      }),
      part('b', [rule('y')], { tools: { R: { idempotent: true } }, observability: { b: 1 } }),
    ]);
    expect(composed).toMatchObject({
      tools: [{ tool: 'R', sideEffect: 'read', idempotent: true }],
      metadata: { name: 'b', description: 'words' },
      observability: { b: 1 },
    });
  });

  it('remove a rule that a later document disables', () => {
    const composed = composeRules([
      part('a', [rule('x'), rule('y')]),
      part('b', [rule('x', { enabled: false }), rule('z')]),
    ]);
    expect(ids(composed)).toEqual(['y', 'z']);
    expect(composed.report.overridden).toEqual([{ id: 'x', from: 'a', by: 'b' }]);
    expect(composed.report.warnings).toEqual([expect.stringContaining('disables rule')]);
  });

  it('have the stamp of a single document, or one stamp over all stamps in order', () => {
    const [a, b] = [part('a', [rule('x')]), part('b', [rule('y')])];
    expect(composeRules([a]).version).toBe(versionOf(a));
    expect(composeRules([a, b]).version).toBe(sha256Hex(`${versionOf(a)}:${versionOf(b)}`));
    expect(composeRules([b, a]).version).not.toBe(composeRules([a, b]).version);
  });

  it('may contain code rules, and documents do not change the mode of those', () => {
    const composed = composeRules([
      { kind: 'Code', source: 'app', rules: [code], mode: 'enforce', version: 'v' },
      part('b', [rule('z')], { defaults: { mode: 'observe' } }),
    ]);
    expect(modes(composed)).toEqual(['enforce', 'observe']);
  });

  it('are rejected while a parent is missing', () => {
    const child = part('a', [rule('x')], { extends: 'base' });
    expect(String(thrownBy(() => composeRules([child])))).toMatch(/"base", which was not loaded/);
  });

  it('know the line of a rule only if the rule came as text', () => {
    expect(composeRules([part('a', [rule('x')])]).rules[0]).not.toHaveProperty('line');
  });
});

describe('a document that observes alongside', () => {
  const alongside = (more: JsonObject = {}): ContractPart =>
    part('b', [rule('x', { mode: 'enforce' }), rule('new')], {
      observe_alongside: true,
      defaults: { mode: 'observe' },
      tools: { R: { side_effect: 'read' } },
      ...more,
    });

  it('adds candidates after all other rules and changes nothing else', () => {
    const later = part('c', [rule('last')]);
    const composed = composeRules([part('a', [rule('x')]), alongside(), later]);
    expect(ids(composed)).toEqual(['x', 'last', 'x:candidate', 'new:candidate']);
    expect(modes(composed)).toEqual(['enforce', 'enforce', 'observe', 'observe']);
    expect(composed.rules.map(({ candidate }) => candidate)).toEqual([false, false, true, true]);
    expect(composed.tools).toEqual([]);
    expect(composed.metadata?.name).toBe('c');
    expect(composed.report).toMatchObject({
      overridden: [],
      candidates: [
        { id: 'x:candidate', from: 'b' },
        { id: 'new:candidate', from: 'b' },
      ],
    });
  });

  it('is treated like any other document if it comes first', () => {
    expect(ids(composeRules([alongside()]))).toEqual(['x', 'new']);
    expect(ids(composeRules([alongside(), part('a', [rule('y')])]))).toEqual(['x', 'new', 'y']);
  });
});

describe('contracts concatenated', () => {
  it('keep the first of a duplicate id, with a warning', () => {
    const a = composeRules([part('a', [rule('x'), rule('y')], { tools: { R: { side_effect: 'read' } } })]);
    const b = composeRules([
      part('b', [rule('x', { tool: 'Sh' }), rule('z')], { defaults: { mode: 'observe' }, tools: { R: {} } }),
    ]);
    const both = concatenateRules([a, b]);
    expect(ids(both)).toEqual(['x', 'y', 'z']);
    expect(modes(both)).toEqual(['enforce', 'enforce', 'observe']);
    expect(both.rules[0]).toMatchObject({ source: 'a', rule: { tool: 'Bash' } });
    expect(both.tools).toEqual([{ tool: 'R', sideEffect: 'read', idempotent: undefined }]);
    expect(both.report.warnings).toEqual([
      expect.stringMatching(/^Rule x of b is ignored: a already has a rule/),
      expect.stringMatching(/tool R/),
    ]);
    expect(both.version).toBe(sha256Hex(`${a.version}:${b.version}`));
  });
});
