import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describeUnknownName, nearestNames, quote } from './nearest.ts';
import { cpuMsOf } from '../../../../test/cpu-time.ts';

describe('nearestNames', () => {
  const known = ['refund', 'lookup', 'get_user', 'get_users', 'send_mail'];

  test.each([
    ['refnd', ['refund']],
    ['refudn', ['refund']],
    ['refundd', ['refund']],
    ['rafund', ['refund']],
    ['REFUND', ['refund']],
    ['getUser', ['get_user', 'get_users']],
    ['get_users', ['get_users', 'get_user']],
    ['weather', []],
    ['', []],
  ])('%j is like %j', (wanted, names) => {
    expect(nearestNames(wanted, known)).toEqual(names);
  });

  test('returns at most the requested number, the nearest first', () => {
    expect(nearestNames('tool_1', ['tool_234', 'tool_2', 'tool_1'], 2)).toEqual(['tool_1', 'tool_2']);
  });

  test('nearestNames of two equally near names, the one with the longer common start comes first', () => {
    expect(nearestNames('timout', ['tumult', 'timeoutMs'])).toEqual(['timeoutMs', 'tumult']);
  });

  test.each([
    ['nope', 'code', []],
    ['kode', 'code', ['code']],
    ['imeout', 'timeout', ['timeout']],
    ['ledeger', 'ledger', ['ledger']],
  ])('%j may not differ from %j by more than a third if it starts otherwise', (wanted, name, found) => {
    expect(nearestNames(wanted, [name])).toEqual(found);
  });

  test('treats names of Object.prototype like any other name', () => {
    expect(nearestNames('__proto_', ['__proto__', 'constructor'])).toEqual(['__proto__']);
  });

  test('is cheap for ten thousand long names and a wanted name of a megabyte', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `${'x'.repeat(100)}${index}`);
    const search = () => {
      expect(nearestNames(`${'x'.repeat(100)}77`, many)).toContain(`${'x'.repeat(100)}77`);
      nearestNames('x'.repeat(1_000_000), many);
    };
    expect(cpuMsOf(search)).toBeLessThan(2_000);
  });

  test('a name is nearest to itself, and one slip is always found', () => {
    const names = fc.string({ minLength: 4, maxLength: 12, unit: fc.constantFrom('a', 'b', 'c', '_') });
    fc.assert(
      fc.property(names, fc.nat({ max: 11 }), (name, where) => {
        expect(nearestNames(name, [name])).toEqual([name]);
        const cut = name.slice(0, where % name.length) + name.slice((where % name.length) + 1);
        expect(nearestNames(cut, [name])).toEqual([name]);
      }),
    );
  });
});

describe('describeUnknownName', () => {
  test('says what was found and what exists, the nearest first', () => {
    expect(describeUnknownName('tool', 'refnd', ['lookup', 'refund'])).toBe(
      'No tool named "refnd". Known tools: refund, lookup.',
    );
  });

  test('says so if nothing exists', () => {
    expect(describeUnknownName('tool', 'refund', [])).toBe('No tool named "refund". There are no tools.');
  });

  test('never lists more than five', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `tool_${index}`);
    expect(describeUnknownName('tool', 'weather', many)).toBe(
      'No tool named "weather". Known tools: tool_0, tool_1, tool_2, tool_3, tool_4 and 9995 more.',
    );
  });

  test('quotes and cuts a hostile name', () => {
    expect(quote('a"\n')).toBe(String.raw`"a\"\n"`);
    const said = describeUnknownName('tool', `${'😀'.repeat(100_000)}`, ['refund']);
    expect(said.length).toBeLessThan(400);
    expect(said.isWellFormed()).toBe(true);
  });
});
