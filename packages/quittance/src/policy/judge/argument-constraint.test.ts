import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import { parseArgumentConstraint } from './argument-constraint.ts';

const holds = (where: JsonObject, input: JsonObject): boolean => {
  const reading = parseArgumentConstraint(where);
  if (!reading.ok) throw new Error(reading.problems.join('\n'));
  return reading.constraint.holds(input);
};

const problems = (where: JsonObject): string => {
  const reading = parseArgumentConstraint(where);
  return reading.ok ? '' : reading.problems.join('\n');
};

describe('a condition on arguments', () => {
  it.each<[JsonObject, JsonObject, boolean]>([
    [{ 'args.cents': { lte: 500 } }, { cents: 500 }, true],
    [{ 'args.cents': { lte: 500 } }, { cents: 501 }, false],
    [{ 'args.to.name': { in: ['ada', 'bob'] } }, { to: { name: 'bob' } }, true],
    [{ 'args.path': { matches: '^/tmp/' } }, { path: '/tmp/x' }, true],
    [{ all: [{ 'args.a': { equals: 1 } }, { 'args.b': { equals: 2 } }] }, { a: 1, b: 2 }, true],
    [{ any: [{ 'args.a': { equals: 1 } }, { 'args.b': { equals: 2 } }] }, { a: 9, b: 2 }, true],
    [{ not: { 'args.a': { equals: 1 } } }, { a: 2 }, true],
    [{ not: { 'args.a': { equals: 1 } } }, { a: 1 }, false],
  ])('%j of %j is %s', (where, input, expected) => {
    expect(holds(where, input)).toBe(expected);
  });

  it.each<[JsonObject, JsonObject]>([
    [{ 'args.a': { equals: 1 } }, {}],
    [{ 'args.a': { not_equals: 1 } }, {}],
    [{ 'args.a': { not_in: [1] } }, { a: null }],
    [{ not: { 'args.a': { equals: 1 } } }, {}],
    [{ not: { 'args.a': { equals: 1 } } }, { a: null }],
    [{ not: { not: { 'args.a': { not_equals: 1 } } } }, {}],
    [{ not: { any: [{ 'args.a': { equals: 1 } }, { 'args.b': { equals: 1 } }] } }, { a: 2 }],
    [{ not: { all: [{ 'args.a': { equals: 1 } }] } }, {}],
  ])('does not hold for a missing value: %j of %j', (where, input) => {
    expect(holds(where, input)).toBe(false);
  });

  it.each<[JsonObject, JsonObject]>([
    [{ 'args.a': { lte: 5 } }, { a: '3' }],
    [{ not: { 'args.a': { lte: 5 } } }, { a: '3' }],
    [{ not: { 'args.a': { contains: 'x' } } }, { a: 7 }],
    [{ any: [{ 'args.a': { gt: 0 } }, { 'args.b': { equals: 1 } }] }, { a: 'x', b: 1 }],
  ])('does not hold for a value of the wrong type: %j of %j', (where, input) => {
    expect(holds(where, input)).toBe(false);
  });

  it('can require that a value is missing, with exists: false', () => {
    expect(holds({ 'args.force': { exists: false } }, {})).toBe(true);
    expect(holds({ 'args.force': { exists: false } }, { force: false })).toBe(false);
  });

  it('follows own keys only', () => {
    expect(holds({ not: { 'args.constructor': { equals: 'x' } } }, {})).toBe(false);
    expect(
      holds({ 'args.__proto__.admin': { exists: false } }, JSON.parse('{"__proto__":{"admin":1}}')),
    ).toBe(false);
  });

  it('looks only at arguments', () => {
    for (const selector of ['principal.role', 'env.HOME', 'tool.name', 'metadata.x', 'snapshot.x'])
      expect(problems({ [selector]: { equals: 'x' } })).toContain('only args.');
    expect(problems({ not: { 'output.text': { contains: 'x' } } })).toContain('after the tool has run');
  });

  it('reports everything that is wrong with it', () => {
    expect(problems({})).toContain('where');
    expect(problems({ 'args.a': { equal: 1 } })).toContain('Did you mean equals');
    expect(problems({ 'args.a': { equals: 1, lt: 2 } })).toContain('one operator');
    expect(problems({ 'args.a': { equals: 1, on_missing: 'fire' } })).toContain(
      'a missing value never satisfies a permission',
    );
    expect(problems({ 'args.a': { matches: '(' } })).toContain('regular expression');
    const both = problems({ all: [{ 'args.a': { equal: 1 } }, { nonsense: { equals: 1 } }] });
    expect(both.split('\n').length).toBeGreaterThan(1);
    let deep: JsonObject = { 'args.a': { equals: 1 } };
    for (let n = 0; n < 60; n++) deep = { not: deep };
    expect(problems(deep)).toContain('too deep');
  });

  it('shows each operand at the place of its argument', () => {
    const reading = parseArgumentConstraint({
      all: [{ 'args.to.iban': { equals: 'x' } }, { 'args.n': { exists: true } }],
    });
    expect(reading.ok && reading.constraint.samples).toEqual([{ to: { iban: 'x' } }]);
  });

  it('never throws, and holds for no arguments only if it asks for that', () => {
    const leaf = fc.constantFrom<JsonObject>(
      { 'args.a': { equals: 1 } },
      { 'args.a': { not_in: ['x'] } },
      { 'args.a.b': { gt: 1 } },
      { 'args.a': { matches: 'x' } },
    );
    const { where } = fc.letrec<{ where: JsonObject }>((tie) => ({
      where: fc.oneof(
        { maxDepth: 6 },
        leaf,
        fc.record({ not: tie('where') }),
        fc.record({ all: fc.array(tie('where'), { minLength: 1, maxLength: 3 }) }),
        fc.record({ any: fc.array(tie('where'), { minLength: 1, maxLength: 3 }) }),
      ),
    }));
    fc.assert(
      fc.property(where, (condition) => {
        expect(holds(condition, {})).toBe(false);
      }),
    );
    fc.assert(
      fc.property(where, fc.dictionary(fc.string(), fc.jsonValue()), (condition, input) => {
        expect(typeof holds(condition, input as JsonObject)).toBe('boolean');
      }),
    );
  });
});
