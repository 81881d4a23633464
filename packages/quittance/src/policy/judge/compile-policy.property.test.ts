/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { policyOf, preRule, sampleCall } from '../../../../../test/sample-policy.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import type { Ruling } from '../language/ruling.ts';

const leaf = fc
  .tuple(
    fc.constantFrom('args.a', 'args.b.c', 'args.__proto__', 'tool.name', 'args.list.0'),
    fc.constantFrom<[string, JsonValue][]>(
      ['exists', true],
      ['exists', false],
      ['equals', 'x'],
      ['not_equals', 'x'],
      ['contains', 'x'],
      ['matches', 'x+y?'],
      ['gt', 3],
      ['not_in', ['x', 1]],
    ),
  )
  .map(([selector, [operator, operand]]): JsonObject => ({ [selector]: { [operator]: operand } }));
const { when } = fc.letrec<{ when: JsonObject }>((tie) => ({
  when: fc.oneof(
    { maxDepth: 3 },
    leaf,
    tie('when').map((not): JsonObject => ({ not })),
    fc.array(tie('when'), { minLength: 1, maxLength: 3 }).map((all): JsonObject => ({ all })),
    fc.array(tie('when'), { minLength: 1, maxLength: 3 }).map((any): JsonObject => ({ any })),
  ),
}));
const body = fc.record({
  when,
  tool: fc.constantFrom('Bash', 'B*', '*', 'Read', '[!B]*'),
  action: fc.constantFrom('block', 'ask'),
  mode: fc.constantFrom('enforce', 'observe'),
});
const toRule = (
  { when: condition, tool, action, mode }: typeof body extends fc.Arbitrary<infer Body> ? Body : never,
  index: number,
): JsonObject =>
  preRule(`rule-${index}`, condition, { tool, mode, then: { action, message: 'No {args.a}' } });
const rules = fc.array(body, { minLength: 1, maxLength: 6 }).map((bodies) => bodies.map(toRule));
const value = fc.oneof(fc.constantFrom<JsonValue[]>('x', 'xy', 1, 5, null, true, {}, [], ['x']), fc.string());
const call = fc
  .record({ a: value, c: value, toolName: fc.constantFrom('Bash', 'Read', 'B', '', '__proto__') })
  .map(({ a, c, toolName }) => sampleCall({ a, b: { c }, list: [c] }, { toolName }));

function judge(given: readonly JsonObject[], about: PolicyCall): Ruling {
  const ruling = policyOf(given).judgeCall(about);
  if ('then' in ruling) throw new Error('No rule here waits.');
  return ruling;
}
const strength = { allow: 0, ask: 1, block: 2 } as const;
const ids = (fired: Ruling['fired']): string[] => fired.map(({ ruleId }) => ruleId);

test('the order of rules changes neither the decision nor the set of fired rules', () => {
  const shuffled = rules.chain((given) =>
    fc.tuple(fc.constant(given), fc.shuffledSubarray([...given], { minLength: given.length })),
  );
  fc.assert(
    fc.property(shuffled, call, ([given, reordered], about) => {
      const one = judge(given, about);
      const other = judge(reordered, about);
      expect(other.decision).toBe(one.decision);
      expect(ids(other.fired).sort()).toEqual(ids(one.fired).sort());
    }),
  );
});

test('observing rules change nothing: the decision without them is the same', () => {
  fc.assert(
    fc.property(rules, call, (given, about) => {
      const enforced = given.filter(({ mode }) => mode === 'enforce');
      const ruling = judge(given, about);
      expect(ruling.decision).toBe(enforced.length === 0 ? 'allow' : judge(enforced, about).decision);
      expect(ruling.fired.every(({ observed }) => !observed)).toBe(true);
      expect(ruling.observed.every(({ observed }) => observed)).toBe(true);
    }),
  );
});

test('adding a rule never allows more', () => {
  fc.assert(
    fc.property(rules, body, call, (given, more, about) => {
      const before = strength[judge(given, about).decision];
      expect(strength[judge([...given, toRule(more, 99)], about).decision]).toBeGreaterThanOrEqual(before);
    }),
  );
});

test('for the same tool and condition, a blocking rule blocks exactly when an asking rule asks', () => {
  fc.assert(
    fc.property(body, call, (given, about) => {
      const enforced = { ...given, mode: 'enforce' as const };
      const asked = judge([toRule({ ...enforced, action: 'ask' }, 0)], about).decision === 'ask';
      expect(judge([toRule({ ...enforced, action: 'block' }, 0)], about).decision === 'block').toBe(asked);
    }),
  );
});

test('judging is pure: the same call gives the same ruling and is not modified', () => {
  fc.assert(
    fc.property(rules, call, (given, about) => {
      const policy = policyOf(given);
      const before = JSON.stringify(about);
      expect(policy.judgeCall(about)).toEqual(policy.judgeCall(about));
      expect(JSON.stringify(about)).toBe(before);
    }),
  );
});

test('a rule about an inherited key never fires, whatever else the call sends', () => {
  const policy = policyOf([
    preRule('proto', { 'args.__proto__': { exists: true } }),
    preRule('constructor', { 'args.a.constructor': { exists: true } }),
  ]);
  fc.assert(
    fc.property(fc.jsonValue(), (a) => {
      // Data that really contains such a key is a different case.
      fc.pre(!JSON.stringify(a).includes('constructor'));
      expect(policy.judgeCall(sampleCall({ a: a as JsonValue }))).toMatchObject({ decision: 'allow' });
    }),
  );
});
