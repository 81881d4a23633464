import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskUnreadable } from './call-input.ts';
import { cpuMsOf } from '../../../../test/cpu-time.ts';

const isSecretName = (name: string): boolean => /^(?:password|otp|credentials|api[_-]?key)$/i.test(name);
const mask = (text: string): string => maskUnreadable(text, isSecretName);

describe('text that is not JSON', () => {
  it.each([
    ['{"password":"hunter2", ', '{"password":"[REDACTED]", '],
    ['{"password":"hunter2', '{"password":"[REDACTED]'],
    ['{"password":"say \\"hi\\" hunter2", "a": 1', '{"password":"[REDACTED]", "a": 1'],
    ["{'password': 'hunter2', 'a': 1}", "{'password': '[REDACTED]', 'a': 1}"],
    ['{password: hunter2, a: 1}', '{password: [REDACTED], a: 1}'],
    ['{"otp": 123456 "a": 1}', '{"otp": [REDACTED] "a": 1}'],
    ['{"a": 1 "credentials": {"user": "ada", "pw": "x"}, "b": 2', '{"a": 1 "credentials": [REDACTED]'],
    ['{"credentials": ["x", "y"', '{"credentials": [REDACTED]'],
    ['"{\\"password\\":\\"hunter2\\",\\"a\\":1', '"{\\"password\\":\\"[REDACTED]\\",\\"a\\":1'],
    ['password => "hunter2"', 'password => "[REDACTED]"'],
    ['api-key=hunter2&x=1, a', 'api-key=[REDACTED], a'],
    ['{"password":"a","password":"b"', '{"password":"[REDACTED]","password":"[REDACTED]"'],
    ['{"password" : \n "hunter2"', '{"password" : \n "[REDACTED]"'],
  ])('hides the value after a secret name: %s', (text, masked) => {
    expect(mask(text)).toBe(masked);
  });

  it.each(['', '{', 'hello: world', '{"user": "ada", "passwords_seen": 3', '{"password":', '{"password"'])(
    'stays unchanged without such a name: %s',
    (text) => {
      expect(mask(text)).toBe(text);
    },
  );

  it('hides the secret wherever the text is cut off', () => {
    const secret = 'Sw0rdf1sh';
    const whole = JSON.stringify({ a: [1, 'two'], password: secret, b: { otp: `${secret}!` }, c: 'end' });
    for (let length = 0; length < whole.length; length++)
      expect(mask(whole.slice(0, length))).not.toMatch(/Sw0r|f1sh/);
  });

  it('is read in linear time, whatever it contains', () => {
    fc.assert(
      fc.property(fc.constantFrom('\\', '"', 'a', ' ', ':', '\\"', 'password:', 'a:', '="', '{'), (piece) => {
        const text = piece.repeat(200_000 / piece.length);
        expect(cpuMsOf(() => void mask(text))).toBeLessThan(1_500);
      }),
      { numRuns: 20 },
    );
  });
});
