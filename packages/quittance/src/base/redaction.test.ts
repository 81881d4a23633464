import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isQuittanceError } from './error.ts';
import type { JsonValue } from './json.ts';
import { freezeJson } from './json.ts';
import type { RedactionOptions } from './redaction.ts';
import { createRedactor } from './redaction.ts';

const redactor = createRedactor();
const gitHubToken = `ghp_${'a1B2'.repeat(9)}`;

function configErrorOf(options: unknown): string {
  try {
    createRedactor(options as RedactionOptions);
  } catch (thrown) {
    if (isQuittanceError(thrown, 'config.invalid')) return thrown.message;
    throw thrown;
  }
  return 'no error';
}

describe('a redacted input', () => {
  test('is the input itself, with a constant empty list, if nothing was hidden', () => {
    const input = freezeJson({
      to: 'alice',
      amount: 5,
      lines: [{ text: 'hello', next_page_token: 'abc' }, null, true],
    });
    const first = redactor.input(input);
    expect(first.value).toBe(input);
    expect(first.hidden).toEqual([]);
    expect(Object.isFrozen(first.hidden)).toBe(true);
    expect(redactor.output(input, ['not.there']).hidden).toBe(first.hidden);
    expect(redactor.output(input, ['not.there']).value).toBe(input);
  });

  test('hides the values of members named like a secret, whatever their type', () => {
    const input = {
      user: 'bob',
      password: 'hunter2',
      nested: [{ apiKey: { id: 1, parts: ['a'] }, cvv: 123, token: true }],
    };
    expect(redactor.input(input)).toMatchObject({
      value: {
        user: 'bob',
        password: '[REDACTED]',
        nested: [{ apiKey: '[REDACTED]', cvv: '[REDACTED]', token: '[REDACTED]' }],
      },
      hidden: ['$.password', '$.nested[0].apiKey', '$.nested[0].cvv', '$.nested[0].token'],
    });
    expect(input.password).toBe('hunter2');
  });

  test('hides nothing in empty values: null and the empty text', () => {
    const input = { password: null, token: '', next_page_token: 'abc', max_tokens: 5 };
    expect(redactor.input(input).value).toBe(input);
  });

  test('hides only the secret part of other texts', () => {
    expect(
      redactor.input({ command: 'mysql --password hunter2 -u bob', url: 'https://a:b1@c/d' }),
    ).toMatchObject({
      value: { command: 'mysql --password [REDACTED] -u bob', url: 'https://a:[REDACTED]@c/d' },
      hidden: ['$.command', '$.url'],
    });
  });

  test('also hides declared paths', () => {
    expect(
      redactor.input({ a: [{ b: 1 }, { b: 2 }], password: 'x' }, ['a[].b', 'password', 'nobody']),
    ).toMatchObject({
      value: { a: [{ b: '[REDACTED]' }, { b: '[REDACTED]' }], password: '[REDACTED]' },
      hidden: ['$.password', '$.a[0].b', '$.a[1].b'],
    });
  });

  test('lists a path once, even if two rules hide it', () => {
    const { value, hidden } = redactor.input({ note: `a ${gitHubToken}` }, ['note', '*']);
    expect(value).toEqual({ note: '[REDACTED]' });
    expect(hidden).toEqual(['$.note']);
  });

  test('hides card numbers that are numbers', () => {
    expect(redactor.input({ number: 4111111111111111, id: 1234567890123456, n: -5.5 })).toMatchObject({
      value: { number: '[REDACTED]', id: 1234567890123456, n: -5.5 },
      hidden: ['$.number'],
    });
  });

  test('may be a single value', () => {
    expect(redactor.input('password=hunter2')).toMatchObject({ value: 'password=[REDACTED]', hidden: ['$'] });
    expect(redactor.input(null)).toMatchObject({ value: null, hidden: [] });
    expect(redactor.input('x', ['$'])).toMatchObject({ value: '[REDACTED]', hidden: ['$'] });
  });
});

describe('a redacted output', () => {
  test('keeps members whatever their names, and hides values that look like a secret', () => {
    const output = { next_page_token: 'CAUQAA', token: 'abc', password: 'none set', cookie: 'chocolate' };
    expect(redactor.output(output).value).toBe(output);
    expect(redactor.output({ ...output, text: `token is ${gitHubToken}` })).toMatchObject({
      value: { ...output, text: 'token is [REDACTED]' },
      hidden: ['$.text'],
    });
  });

  test('hides declared paths', () => {
    expect(redactor.output({ rows: [{ ssn: '078-05-1120', name: 'a' }] }, ['rows[].ssn'])).toMatchObject({
      value: { rows: [{ ssn: '[REDACTED]', name: 'a' }] },
      hidden: ['$.rows[0].ssn'],
    });
  });
});

describe('a key that contains a secret', () => {
  test('is masked, in the path too', () => {
    const { value, hidden } = redactor.output({ [gitHubToken]: { a: 1, text: 'password=hunter2' }, b: 2 });
    expect(value).toEqual({ '[REDACTED]': { a: 1, text: 'password=[REDACTED]' }, b: 2 });
    expect(hidden).toEqual(['$["[REDACTED]"]', '$["[REDACTED]"].text']);
  });

  test('is distinguished from others that now look the same', () => {
    const keys = [0, 1, 2].map((number) => `ghp_${String(number).repeat(36)}`);
    const output = {
      ...Object.fromEntries(keys.map((key) => [key, key.length])),
      '[REDACTED]': 'own',
      [`${keys[0]} 2`]: 'late',
    };
    const { value } = redactor.output(output);
    expect(Object.keys(value as object)).toHaveLength(5);
    expect(JSON.stringify(value)).not.toContain('ghp_');
    expect(value).toMatchObject({ '[REDACTED]': 'own' });
    expect(redactor.output(value).value).toBe(value);
  });

  test('is distinguished in time proportional to their number', () => {
    const many = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, number) => [`token=a${number}b`, number]),
    );
    expect(Object.keys(redactor.output(many).value as object)).toHaveLength(20_000);
  });
});

describe('a redacted value', () => {
  const key = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom('password', 'apiKey', 'page_token', 'ssn', gitHubToken, '__proto__', 'a'),
  );
  const leaf = fc.oneof(
    fc.constantFrom(
      null,
      true,
      4111111111111111,
      7,
      '',
      '[REDACTED]',
      gitHubToken,
      'password=hunter2',
      'Bearer a1b2c3d4',
    ),
    fc.string(),
  );
  const { value: json } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
    ),
  }));

  test('stays the same when it is redacted again', () => {
    fc.assert(
      fc.property(json, fc.subarray(['a', '*.a', '[].password', '*']), (value, paths) => {
        for (const direction of ['input', 'output'] as const) {
          const once = redactor[direction](value, paths);
          const twice = redactor[direction](once.value, paths);
          expect(twice.value).toBe(once.value);
          expect(twice.hidden).toEqual([]);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('contains no secret any more, nor do the paths, and every other value is still there', () => {
    fc.assert(
      fc.property(json, (value) => {
        const { value: kept, hidden } = redactor.input(value);
        expect(JSON.stringify([kept, hidden])).not.toMatch(/ghp_|hunter2|a1b2c3d4|4111111111111111/);
        expect(hidden.length > 0).toBe(kept !== value);
      }),
      { numRuns: 500 },
    );
  });

  test('keeps __proto__ as a key and touches no prototype', () => {
    const hostile = JSON.parse(
      '{"__proto__":{"password":"x","polluted":1},"constructor":{"token":"y"}}',
    ) as JsonValue;
    const { value, hidden } = redactor.input(hostile);
    expect(JSON.stringify(value)).toBe(
      '{"__proto__":{"password":"[REDACTED]","polluted":1},"constructor":{"token":"[REDACTED]"}}',
    );
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(hidden).toEqual(['$.__proto__.password', '$.constructor.token']);
  });

  test('includes own members only', () => {
    const inherited = Object.create({ password: 'inherited' }) as { a: number };
    inherited.a = 1;
    expect(redactor.input(inherited).value).toBe(inherited);
  });

  test('may contain lone surrogates, NULs, long texts and 512 levels', () => {
    let deep: JsonValue = { password: '\ud800\u0000' };
    for (let level = 0; level < 511; level++) deep = level % 2 === 0 ? [deep] : { a: deep };
    expect(redactor.input(deep).hidden).toHaveLength(1);
    const text = `\ud800\u0000${'x '.repeat(2_500_000)}`;
    expect(redactor.input({ text }).value).toEqual({ text });
    expect(redactor.text(`${text}password=hunter2`)).toBe(`${text}password=[REDACTED]`);
  });
});

describe('a text', () => {
  test('loses the parts that look like a secret', () => {
    expect(redactor.text('curl -H "Authorization: Bearer abc" https://x')).toBe(
      'curl -H "Authorization: Bearer [REDACTED]" https://x',
    );
    expect(redactor.text('nothing')).toBe('nothing');
  });
});

describe('the options of a redactor', () => {
  test('add names and shapes', () => {
    const own = createRedactor({
      keyNames: ['customer_reference', /^x-internal-/gi],
      patterns: [{ name: 'employee', pattern: /EMP-\d{4}/g }],
    });
    const input = {
      customerReference: 1,
      'X-Internal-A': 2,
      'x-internal-b': 3,
      note: 'by EMP-1234 and EMP-5678',
      password: 'x',
    };
    for (let count = 0; count < 2; count++)
      expect(own.input(input).value).toEqual({
        customerReference: '[REDACTED]',
        'X-Internal-A': '[REDACTED]',
        'x-internal-b': '[REDACTED]',
        note: 'by [REDACTED] and [REDACTED]',
        password: '[REDACTED]',
      });
    expect(own.text('EMP-1234')).toBe('[REDACTED]');
  });

  test('keep names, in any spelling, but not values that look like a secret', () => {
    const own = createRedactor({ keepKeys: ['session_token'], keyNames: [/token/i] });
    expect(own.input({ sessionToken: 'abc', 'Session-Token': gitHubToken, user_token: 'abc' }).value).toEqual(
      {
        sessionToken: 'abc',
        'Session-Token': '[REDACTED]',
        user_token: '[REDACTED]',
      },
    );
  });

  test('disable the defaults', () => {
    const own = createRedactor({
      defaults: false,
      keyNames: ['reference'],
      patterns: [{ name: 'x', pattern: /z+/ }],
    });
    expect(own.input({ password: 'hunter2', reference: 'a', text: `zz ${gitHubToken}` })).toMatchObject({
      value: { password: 'hunter2', reference: '[REDACTED]', text: `[REDACTED] ${gitHubToken}` },
      hidden: ['$.reference', '$.text'],
    });
    const nothing = { password: gitHubToken };
    expect(createRedactor({ defaults: false }).input(nothing).value).toBe(nothing);
  });

  test('leave no trace in each other or in the host', () => {
    const pattern = /a1/g;
    const own = createRedactor({ patterns: [{ name: 'a', pattern }] });
    own.text('a1 a1');
    expect(pattern.lastIndex).toBe(0);
    expect(redactor.text('a1')).toBe('a1');
  });

  test.each<[string, unknown, string]>([
    [
      'a pattern that is text',
      { patterns: [{ name: 'x', pattern: 'abc' }] },
      'redaction.patterns takes a RegExp as the pattern of "x"; found "abc".',
    ],
    [
      'a pattern that is a function',
      { patterns: [{ name: 'x', pattern: () => true }] },
      'redaction.patterns takes a RegExp as the pattern of "x"; found a value of type function.',
    ],
    [
      'a pattern without a name',
      { patterns: [{ pattern: /x/ }] },
      'redaction.patterns takes entries with a name; found a value of type undefined.',
    ],
    [
      'a bare RegExp',
      { patterns: [/x/] },
      'redaction.patterns takes entries with a name; found a value of type undefined.',
    ],
    [
      'nothing for a pattern',
      { patterns: [null] },
      'redaction.patterns takes entries with a name; found a value of type undefined.',
    ],
    [
      'a number for a name',
      { keyNames: [5] },
      'redaction.keyNames takes names with at least one letter, or RegExps; found a value of type number.',
    ],
    [
      'an empty name',
      { keyNames: ['__'] },
      'redaction.keyNames takes names with at least one letter, or RegExps; found "__".',
    ],
    [
      'a RegExp to keep',
      { keepKeys: [/x/] },
      'redaction.keepKeys takes strings; found a value of type object.',
    ],
  ])('are rejected if they cannot work: %s', (_, options, message) => {
    expect(configErrorOf(options)).toBe(message);
  });

  test('reject an invalid path when it is used', () => {
    let thrown: unknown;
    try {
      redactor.input({ a: 1 }, ['a[']);
    } catch (error) {
      thrown = error;
    }
    expect(isQuittanceError(thrown, 'config.invalid')).toBe(true);
  });
});
