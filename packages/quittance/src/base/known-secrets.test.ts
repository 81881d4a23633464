import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsPerRun } from '../../../../test/cpu-time.ts';
import { createKnownSecrets } from './known-secrets.ts';
import { createRedactor } from './redaction.ts';

const hide = (text: string, ...secrets: readonly string[]): string =>
  createKnownSecrets(secrets, 4).text(text);

describe('a secret known by its value', () => {
  const value = `Sw0rd"fi/sh & <é>'$x`;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  it.each<[string, string]>([
    ['as it is', value],
    ['in JSON', JSON.stringify(value).slice(1, -1)],
    ['in JSON inside JSON', JSON.stringify(JSON.stringify(value)).slice(3, -3)],
    ['in JSON that keeps to ASCII', 'Sw0rd\\"fi/sh & <\\u00e9>\'$x'],
    ['in JSON with escaped slashes', 'Sw0rd\\"fi\\/sh & <é>\'$x'],
    ['in JSON that is safe in a page', 'Sw0rd\\"fi/sh \\u0026 \\u003cé\\u003e\'$x'],
    ['in a URL', encodeURIComponent(value)],
    ['in a URL in lower case', encodeURIComponent(value).replaceAll(/%../g, (hex) => hex.toLowerCase())],
    ['in a form', new URLSearchParams({ q: value }).toString().slice(2)],
    ['in XML', 'Sw0rd&quot;fi/sh &amp; &lt;é&gt;&apos;$x'],
    ['in HTML', 'Sw0rd&quot;fi/sh &amp; &lt;é&gt;&#39;$x'],
    ['in a quoted argument', `Sw0rd"fi/sh & <é>'\\''$x`],
    ['in SQL', `Sw0rd"fi/sh & <é>''$x`],
    ['in CSV', `Sw0rd""fi/sh & <é>'$x`],
    ['in hex', Buffer.from(value).toString('hex')],
    ['in base64', base64(value)],
  ])('is found %s', (_, text) => {
    const left = hide(`before ${text} after`, value);
    expect(left).toBe('before [REDACTED] after');
  });

  it('is found in hex of either case, and in either Unicode form', () => {
    const hex = Buffer.from(value).toString('hex');
    expect(hide(`x ${hex} y`, value)).toBe('x [REDACTED] y');
    expect(hide(`x ${hex.toUpperCase()} y`, value)).toBe('x [REDACTED] y');
    const accented = 'caf\u00e9-au-lait';
    expect(hide(`x ${accented.normalize('NFD')} y`, accented)).toBe('x [REDACTED] y');
    expect(hide(`x ${accented} y`, accented.normalize('NFD'))).toBe('x [REDACTED] y');
  });

  it('is found in the base64 of a surrounding text, at any offset', () => {
    for (const before of ['', 'u:', 'us:', 'user:', 'a longer name:'])
      for (const after of ['', 'x', 'xy', ' and more']) {
        const left = hide(base64(`${before}${value}${after}`), value).split('[REDACTED]');
        expect(left).toHaveLength(2);
        const known = Buffer.from(left.join(''), 'base64').toString('latin1');
        expect(known).not.toMatch(/Sw0|rd"|fi\/|sh |\$x/);
      }
  });

  it('is removed together with longer ones, and without a rest if two overlap', () => {
    expect(hide('hunter2-long, hunter and hunted', 'hunter', 'hunter2-long')).toBe(
      '[REDACTED], [REDACTED] and hunted',
    );
    expect(hide('abcdefghijkl', 'abcdefgh', 'efghijkl')).toBe('[REDACTED]');
  });

  it('is removed if a cut left only its beginning', () => {
    const secret = 'Sw0rdfish-of-the-deep';
    expect(hide('it was Sw0rdfish-of…', secret)).toBe('it was [REDACTED]…');
    expect(hide('it was Sw0rd…; then Sw0r...', secret)).toBe('it was [REDACTED]…; then [REDACTED]...');
    expect(hide('it was Sw0…', secret)).toBe('it was Sw0…');
    expect(hide('and so on…', secret)).toBe('and so on…');
    const long = 'abcdefghij'.repeat(50);
    expect(hide(`${long.slice(0, 100)} or ${long.slice(0, 499)}!`, long)).toBe('[REDACTED] or [REDACTED]!');
  });

  it('is removed from JSON, including keys and numbers, and no member is lost', () => {
    const known = createKnownSecrets(['hunter22', 'hunter33', '123456'], 4);
    const hidden: string[] = [];
    const value = { 'x-hunter22': ['hunter22', 7, null, { a: 'no' }], n: 123_456, m: 1_234_567 };
    expect(known.json(value, hidden)).toEqual({
      'x-[REDACTED]': ['[REDACTED]', 7, null, { a: 'no' }],
      n: '[REDACTED]',
      m: 1_234_567,
    });
    expect(hidden).toEqual(['$["x-[REDACTED]"]', '$["x-[REDACTED]"][0]', '$.n']);
    expect(Object.keys(known.json({ hunter22: 1, hunter33: 2 }) as object)).toHaveLength(2);
    const plain = { a: ['nothing', { b: 1 }] };
    expect(known.json(plain)).toBe(plain);
  });

  it('is neither a mask nor empty space', () => {
    expect(hide('[REDACTED] and REDACTED', 'REDACTED', '[REDACTED]')).toBe('[REDACTED] and REDACTED');
    expect(hide('a        b', '        ')).toBe('a        b');
  });

  it('is removed from every echo', () => {
    const secret = fc
      .string({ minLength: 4, maxLength: 200, unit: 'grapheme' })
      .filter((text) => text.trim().length >= 4 && !'[REDACTED]'.includes(text));
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 6 }), fc.string(), (values, between) => {
        const text = `${between}${values.join(between)}${between}`;
        const known = createKnownSecrets(values, 4);
        for (const echo of [text, JSON.stringify(text), JSON.stringify({ [text]: [text] })]) {
          const left = known.text(echo).split('[REDACTED]');
          for (const value of values) for (const piece of left) expect(piece).not.toContain(value);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('costs one pass, however many are known', () => {
    const secrets = Array.from({ length: 4_000 }, (_, index) => `secret-number-${index}-${index * 7}`);
    const text = 'An ordinary line with secret-number in it.\n'.repeat(25_000);
    const cpuOf = (count: number): number => {
      const known = createKnownSecrets(secrets.slice(0, count), 8);
      return cpuMsPerRun(() => expect(known.text(text)).toBe(text));
    };
    // Searching for each value separately would take 400 times as long.
    expect(cpuOf(4_000) / cpuOf(10)).toBeLessThan(40);
  });

  it('costs one pass even if the text nearly matches one of them everywhere', () => {
    const long = 'a'.repeat(100_000);
    const text = 'a'.repeat(1_000_000);
    expect(createKnownSecrets([`${'a'.repeat(31)}b`], 8).text(text)).toBe(text);
    expect(createKnownSecrets([`${long}b`], 8).text(text)).toBe('[REDACTED]');
  });
});

describe('a value hidden in one argument', () => {
  const redactor = createRedactor();

  it('is hidden in all arguments', () => {
    const secret = 'correct horse battery';
    const { value, hidden } = redactor.input({
      password: secret,
      note: `use ${secret} please`,
      url: `https://example.org/?q=${encodeURIComponent(secret)}`,
      json: JSON.stringify({ note: secret }),
      [`key ${secret}`]: 1,
      list: [secret, { deep: secret }],
      header: `Basic ${Buffer.from(`bob:${secret}`).toString('base64')}`,
    });
    expect(JSON.stringify(value)).not.toMatch(/correct horse|Y29ycmVjdCBob3JzZ/);
    expect(hidden).toEqual(
      expect.arrayContaining(['$.password', '$.note', '$.url', '$.json', '$.list[0]', '$.list[1].deep']),
    );
    expect(redactor.input(value).value).toBe(value);
  });

  it('is hidden with all its parts', () => {
    const { value } = redactor.input({
      headers: { Authorization: 'Bearer abcdefghij', Cookie: 'sid=klmnopqrst; theme=dark' },
      basic: { authorization: `Basic ${Buffer.from('bob:uvwxyzuvwxyz').toString('base64')}` },
      credentials: { url: 'postgres://bob:fedcbafedcba@db/x' },
      note: 'abcdefghij klmnopqrst uvwxyzuvwxyz fedcbafedcba dark',
    });
    expect(value).toMatchObject({ note: '[REDACTED] [REDACTED] [REDACTED] [REDACTED] dark' });
  });

  it('is hidden only in its place if it has less than 8 characters', () => {
    expect(redactor.input({ password: 'hunter2', user: 'hunter2', pin: 1 })).toMatchObject({
      value: { password: '[REDACTED]', user: 'hunter2' },
    });
  });
});
