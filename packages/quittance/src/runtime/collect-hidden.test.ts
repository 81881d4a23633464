import { describe, expect, it } from 'vitest';
import { createRedactor } from '../base/redaction.ts';
import type { JsonValue } from '../base/json.ts';
import { collectHidden } from './call-input.ts';

const redactor = createRedactor();
const hiddenIn = (input: JsonValue): readonly string[] => collectHidden(input, redactor.input(input).value);

describe('hidden values', () => {
  it.each<[string, JsonValue, readonly string[]]>([
    ['by the name of their key', { password: 'hunter2', name: 'ada' }, ['hunter2']],
    ['as numbers', { otp: 123_456 }, ['123456']],
    [
      'in everything below such a key',
      { credentials: { user: 'ada1', list: ['hunter2', { deep: 'hunter3' }] } },
      ['ada1', 'hunter2', 'hunter3'],
    ],
    ['in a part of a text', { note: 'password=hunter2 and more' }, ['hunter2']],
    ['in several parts of a text', { note: 'password=hunter2, token=abcd1234 end' }, ['hunter2', 'abcd1234']],
    ['in lists', ['x', { token: 'abcd1234' }], ['abcd1234']],
    ['nowhere', { name: 'ada', next_page_token: 'abcd1234' }, []],
    ['but are too short to distinguish from innocent text', { password: 'abc', cvv: '123' }, []],
  ])('are found %s', (_, input, expected) => {
    expect(hiddenIn(input)).toEqual(expected);
  });

  it('are found under a key that was masked itself', () => {
    const key = `sk-${'a1B2'.repeat(8)}`;
    const found = hiddenIn({ before: 1, [key]: { password: 'hunter2' }, after: 2 });
    expect(found).toContain('hunter2');
    expect(found).toContain(key);
  });
});
