import { expect, test } from 'vitest';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { ConsoleOptions } from './console-options.ts';
import { readConsoleOptions } from './console-options.ts';

test('without options, the ledger has no name, and no other consoles', () => {
  expect(readConsoleOptions()).toEqual({ name: undefined, color: 'gray', currency: undefined, others: [] });
});

test('names, colors, a currency and other consoles are taken', () => {
  expect(
    readConsoleOptions({
      name: 'production',
      color: 'red',
      currency: 'EUR',
      others: [{ name: 'staging 2', url: 'https://staging.example.org' }],
    }),
  ).toEqual({
    name: 'production',
    color: 'red',
    currency: 'EUR',
    others: [{ name: 'staging 2', color: 'gray', url: 'https://staging.example.org/' }],
  });
});

test.each<[string, unknown]>([
  ['an empty name', { name: '' }],
  ['a name with a character that turns text around', { name: 'test\u202Eproduction' }],
  ['a name with an invisible character', { name: 'pro\u200Bduction' }],
  ['a very long name', { name: 'a'.repeat(41) }],
  ['an unknown color', { color: 'pink' }],
  ['a currency that is no code', { currency: '€' }],
  ['a script as an address', { others: [{ name: 'a', url: 'javascript:alert(1)' }] }],
  ['a file as an address', { others: [{ name: 'a', url: 'file:///etc/passwd' }] }],
  ['a password in an address', { others: [{ name: 'a', url: 'https://me:secret@example.org' }] }],
  ['no address', { others: [{ name: 'a', url: 'example' }] }],
  [
    'too many consoles',
    { others: Array.from({ length: 21 }, () => ({ name: 'a', url: 'https://a.example' })) },
  ],
  ['an unknown key', { colour: 'red' }],
])('%s is refused', (_, options) => {
  let thrown: unknown;
  try {
    readConsoleOptions(options as ConsoleOptions);
  } catch (error) {
    thrown = error;
  }
  expect(isQuittanceError(thrown, 'config.invalid')).toBe(true);
});
