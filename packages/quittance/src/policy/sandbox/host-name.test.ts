import { describe, expect, test } from 'vitest';
import { looksLikeHost, normalizeHost, readHostName } from './host-name.ts';

describe('the host that a text names', () => {
  test.each([
    ['https://Example.COM./x', 'example.com', '443'],
    ['http://example.com:8080', 'example.com', '8080'],
    ['//example.com/x', 'example.com', undefined],
    ['example.com:22', 'example.com', '22'],
    ['git@example.com:a/b.git', 'example.com', undefined],
    ['example.com:a/b.git', 'example.com', undefined],
    ['ssh://me@example.com/x', 'example.com', '22'],
    ['http://0x7f.1', '127.0.0.1', '80'],
    ['http://[::FFFF:7f00:1]:80', '127.0.0.1', '80'],
    ['http://[2001:DB8::0:1]', '[2001:db8::1]', '80'],
    ['https://bücher.de', 'xn--bcher-kva.de', '443'],
    ['blob:https://evil.com/1', 'evil.com', '443'],
  ])('%s is %s, port %s', (text, name, port) => {
    expect(readHostName(text)).toEqual({ name, port });
  });

  test.each([
    'https://',
    'https://a b.com',
    'https://a.com%2e',
    'https://a\\@b.com',
    'https://a.com:x',
    'http://1.2.3.4.5',
    '',
  ])('cannot be determined for %j', (text) => {
    expect(readHostName(text).name).toBeUndefined();
  });

  test('is not a name if it is long, empty or contains a character that ends a name', () => {
    for (const name of ['', '.', 'a/b', 'a@b', 'a:80', 'a'.repeat(2000), '[::'])
      expect(normalizeHost(name)).toBeUndefined();
  });

  test.each([
    'evil.com',
    'a@evil.com',
    'evil.com:80',
    'evil.com/x',
    'localhost',
    '127.0.0.1',
    '[::1]:80',
    'evil.sh',
    'пример.рф',
  ])('%s looks like one', (text) => {
    expect(looksLikeHost(text)).toBe(true);
  });

  test.each(['evil', 'notes.txt', '1.2.3', '12:30', 'and/or', 'a..b', '.env', 'e.g.', 'foo()', ''])(
    '%s does not',
    (text) => {
      expect(looksLikeHost(text)).toBe(false);
    },
  );
});
