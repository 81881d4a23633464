import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedactor } from '../base/redaction.ts';
import type { JsonValue } from '../base/json.ts';
import { collectHidden, scrubJson, scrubText } from './hidden-values.ts';

const redactor = createRedactor();
const hiddenIn = (input: JsonValue): readonly string[] => collectHidden(input, redactor.input(input).value);

describe('the values that were hidden', () => {
  it.each<[string, JsonValue, readonly string[]]>([
    ['by the name of their key', { password: 'hunter2', name: 'ada' }, ['hunter2']],
    ['as numbers', { otp: 123_456 }, ['123456']],
    [
      'in everything below such a key',
      { credentials: { user: 'ada1', list: ['hunter2', { deep: 'hunter3' }] } },
      ['hunter2', 'hunter3', 'ada1'],
    ],
    ['in a part of a text', { note: 'password=hunter2 and more' }, ['hunter2']],
    ['in several parts of a text', { note: 'password=hunter2, token=abcd1234 end' }, ['abcd1234', 'hunter2']],
    ['in lists', ['x', { token: 'abcd1234' }], ['abcd1234']],
    ['nowhere', { name: 'ada', next_page_token: 'abcd1234' }, []],
    ['but are too short to be told from innocent text', { password: 'abc', cvv: '123' }, []],
  ])('are found %s', (_, input, expected) => {
    expect(hiddenIn(input)).toEqual(expected);
  });

  it('are found in the forms they are quoted in', () => {
    expect(hiddenIn({ password: 'a"b\nc&d' })).toEqual(['a%22b%0Ac%26d', 'a\\"b\\nc&d', 'a"b\nc&d']);
  });

  it('are found under a key that was masked itself', () => {
    const key = `sk-${'a1B2'.repeat(8)}`;
    const found = hiddenIn({ before: 1, [key]: { password: 'hunter2' }, after: 2 });
    expect(found).toContain('hunter2');
    expect(found).toContain(key);
  });

  it('are taken out of any text and any JSON that holds them, the longer ones first', () => {
    const hidden = hiddenIn({ password: 'hunter', token: 'hunter2-long' });
    expect(scrubText('hunter2-long, hunter and hunted', hidden)).toBe('[REDACTED], [REDACTED] and hunted');
    expect(scrubJson({ 'x-hunter': ['hunter', 7, null, { a: 'no' }] }, hidden)).toEqual({
      'x-[REDACTED]': ['[REDACTED]', 7, null, { a: 'no' }],
    });
    expect(scrubJson({ n: 123_456, m: 1_234_567 }, hiddenIn({ otp: 123_456 }))).toEqual({
      n: '[REDACTED]',
      m: 1_234_567,
    });
  });

  it('are taken out also where a cut left only their beginning', () => {
    const hidden = hiddenIn({ password: 'Sw0rdfish-of-the-deep' });
    expect(scrubText('it was Sw0rdfish-of…', hidden)).toBe('it was [REDACTED]…');
    expect(scrubText('it was Sw0rd…; then Sw0r…', hidden)).toBe('it was [REDACTED]…; then [REDACTED]…');
    expect(scrubText('it was Sw0…', hidden)).toBe('it was Sw0…');
    expect(scrubText('and so on…', hidden)).toBe('and so on…');
  });

  it('are gone from whatever echoes them', () => {
    const secret = fc
      .string({ minLength: 4, maxLength: 12, unit: 'grapheme' })
      .filter((text) => text.trim().length >= 4);
    fc.assert(
      fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
        const hidden = hiddenIn({ password: value });
        const echo = scrubText(`${before}${value}${after}`, hidden);
        const quoted = scrubText(JSON.stringify({ before, value, after }), hidden);
        fc.pre(!'[REDACTED]'.includes(value) && !before.includes(value) && !after.includes(value));
        expect(echo.replaceAll('[REDACTED]', '')).not.toContain(value);
        expect(quoted.replaceAll('[REDACTED]', '')).not.toContain(JSON.stringify(value).slice(1, -1));
      }),
    );
  });
});
