import { describe, expect, it } from 'vitest';
import { loadRuleset, preRule, rulesetOf } from '../../../../../test/sample-ruleset.ts';
import { thrownBy } from '../../../../../test/thrown-by.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { resolveExtends } from './resolve-extends.ts';
import type { Ruleset } from '../language/ruleset.ts';
import { sha256Hex } from '../language/join-versions.ts';

const rule = (id: string, more: JsonObject = {}): JsonObject => ({ ...preRule, id, ...more });

const named = (name: string, rules: readonly JsonValue[], more: JsonObject = {}): Ruleset =>
  loadRuleset(rulesetOf(rules, { metadata: { name }, ...more }), `${name}.yaml`);

const resolve = (child: Ruleset, ...others: readonly Ruleset[]): Ruleset =>
  resolveExtends(child, (name) => [child, ...others].find((each) => each.name === name));

const refusal = (child: Ruleset, ...others: readonly Ruleset[]): string =>
  String(thrownBy(() => resolve(child, ...others)));

describe('a ruleset that extends another', () => {
  const root = named('root', [rule('a', { mode: 'enforce' }), rule('b')], {
    tools: { Read: { side_effect: 'read' }, Bash: { idempotent: false } },
    observability: { level: 1 },
  });
  const middle = named('middle', [rule('c')], { extends: 'root', tools: { Read: { idempotent: true } } });
  const child = named('child', [rule('d')], { extends: 'middle', defaults: { mode: 'observe' } });

  it('has the rules of its parents first, then its own', () => {
    expect(resolve(child, root, middle).rules.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('applies its default mode and metadata to all of them', () => {
    const resolved = resolve(child, root, middle);
    expect(resolved).toMatchObject({ name: 'child', mode: 'observe', extends: undefined });
    expect(resolved.rules.map(({ mode }) => mode)).toEqual(['enforce', undefined, undefined, undefined]);
  });

  it('adds facts about tools, fact by fact', () => {
    expect(resolve(middle, root).tools).toEqual([
      { tool: 'Bash', sideEffect: undefined, idempotent: false },
      { tool: 'Read', sideEffect: 'read', idempotent: true },
    ]);
    expect(resolve(child, root, middle).observability).toEqual({ level: 1 });
  });

  it('reports for every rule where it was written', () => {
    expect(resolve(middle, root).positions.get('a')?.source).toBe('root.yaml');
  });

  it('changes its version when any parent changes', () => {
    expect(resolve(root).version).toBe(root.version);
    expect(resolve(middle, root).version).toBe(sha256Hex(`${root.version}:${middle.version}`));
  });

  it('may add nothing', () => {
    expect(resolve(named('bare', [], { extends: 'root' }), root).rules).toHaveLength(2);
  });

  it('may not reuse an id of a parent, even to disable the rule', () => {
    expect(refusal(named('x', [rule('a')], { extends: 'root' }), root)).toMatch(
      /"a" is already used by a rule in root\.yaml, which this ruleset extends/,
    );
    expect(refusal(named('x', [rule('a', { enabled: false })], { extends: 'root' }), root)).toMatch(
      /"a" is already used/,
    );
  });

  it('needs its parent', () => {
    expect(refusal(child, middle)).toMatch(/"root", which is not among the documents: child → middle → root/);
  });

  it('must not extend itself, directly or indirectly', () => {
    expect(refusal(named('a', [], { extends: 'a' }))).toMatch(/circular: a → a/);
    const [a, b] = [named('a', [], { extends: 'b' }), named('b', [], { extends: 'a' })];
    expect(refusal(a, b)).toMatch(/circular: a → b → a/);
    expect(String(thrownBy(() => resolveExtends(a, () => a)))).toMatch(/circular/);
  });

  it('has at most fifty parents', () => {
    const chain = (length: number): readonly Ruleset[] =>
      Array.from({ length }, (_, index) =>
        named(`r${index}`, [rule(`rule-${index}`)], index + 1 < length ? { extends: `r${index + 1}` } : {}),
      );
    const [first, ...parents] = chain(51);
    expect(resolve(first ?? child, ...parents).rules).toHaveLength(51);
    const [deeper, ...more] = chain(52);
    expect(refusal(deeper ?? child, ...more)).toMatch(/more than 50 parents: r0 → r1/);
  });
});
