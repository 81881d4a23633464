import type { JsonObject, JsonValue } from '../../packages/quittance/src/base/json.ts';
import { secret, type Attack } from './attack.ts';

const named = (id: string, tries: string, document: 'names' | 'closed', tool: string): Attack => ({
  id,
  tries,
  document,
  tool,
  input: { command: 'rm -rf /' },
});
const transfer = (id: string, tries: string, input: JsonObject): Attack => ({
  id,
  tries,
  document: 'values',
  tool: 'Transfer',
  input: { to: 'alice', ...input },
});
const leak = (id: string, tries: string, output: JsonValue): Attack => ({
  id,
  tries,
  document: 'outputs',
  tool: 'Anything',
  input: {},
  output,
});

const nest = (value: JsonValue, depth: number): JsonValue =>
  depth === 0 ? value : [{ in: nest(value, depth - 1) }];

export const nameAttacks: readonly Attack[] = [
  named('name-slash', 'slashes and dots in a name a glob matches', 'names', 'mcp_../../etc/passwd'),
  named('name-nul', 'a NUL in a name a glob matches', 'names', 'mcp_\0x'),
  named('name-newline', 'a newline in a name a glob matches', 'names', 'mcp_\nx'),
  named('name-surrogate', 'half a letter in a name a glob matches', 'names', 'mcp_\ud800'),
  named('name-empty-rest', 'nothing where a glob has a star', 'names', 'mcp_'),
  named('name-bracket', 'a name that looks like a pattern', 'names', '[x]y'),
  named('name-closed-case', 'other capitals, where only listed names pass', 'closed', 'READ'),
  named('name-closed-nul', 'a NUL behind a listed name', 'closed', 'Read\0'),
  named('name-closed-blank', 'a blank behind a listed name', 'closed', 'Read '),
  named('name-closed-homoglyph', 'a letter of another alphabet', 'closed', 'Rеad'),
  named('name-closed-zero-width', 'an invisible letter', 'closed', 'Re\u200bad'),
  named('name-closed-direction', 'a letter that turns the direction', 'closed', '\u202eRead'),
  named('name-closed-fullwidth', 'fullwidth letters', 'closed', 'Ｒｅａｄ'),
  named('name-closed-proto', 'a name every object has', 'closed', '__proto__'),
  named('name-closed-empty', 'no name', 'closed', ''),
];

export const valueAttacks: readonly Attack[] = [
  transfer('value-string', 'a number as a text', { amount: '99999' }),
  transfer('value-list', 'a number in a list', { amount: [99999] }),
  transfer('value-object', 'an object for a number', { amount: { valueOf: 1 } }),
  transfer('value-boolean', 'a boolean for a number', { amount: true }),
  transfer('value-huge', 'the largest number', { amount: Number.MAX_VALUE }),
  transfer('value-fraction', 'a little more than allowed', { amount: 1000.0000001 }),
  transfer('value-case', 'other capitals, where the pattern takes any', { account: 'INTERNAL-7' }),
  transfer('value-regex-type', 'a list where a pattern wants a text', { account: ['internal-7'] }),
  transfer('value-catastrophe', 'a text that makes other engines try for ever', {
    memo: `${'a'.repeat(50_000)}! drop table`,
  }),
  transfer('value-late', 'the text behind a megabyte of others', {
    memo: `${'x'.repeat(1_000_000)}drop table`,
  }),
  transfer('value-nul', 'the text behind a NUL', { memo: '\0drop table' }),
  transfer('value-missing', 'leaving the value out, where the rule minds', { to: null }),
  transfer('value-list-member', 'a listed value in a list', { to: ['alice'] }),
  transfer('value-zero-width', 'an invisible letter in a listed value', { to: 'ali\u200bce' }),
  transfer('value-prototype-key', 'a value every object has', { to: 'constructor' }),
  transfer('value-own-proto', 'a value below `__proto__` next to the real one', {
    ...(JSON.parse('{"__proto__":{"amount":1}}') as JsonObject),
    amount: 5000,
  }),
  transfer('value-forced', 'the switch below an own key', { options: { force: true } }),
];

export const outputAttacks: readonly Attack[] = [
  leak('output-text', 'a secret as the whole output', secret),
  leak('output-middle', 'a secret in the middle of a text', `key=${secret};`),
  leak('output-late', 'a secret behind a megabyte', `${'x'.repeat(1_000_000)} ${secret}`),
  leak('output-twice', 'a secret many times', `${secret} `.repeat(100)),
  leak('output-deep', 'a secret deep in lists and maps', nest(secret, 40)),
  leak('output-key', 'a secret as a key', { [secret]: 1 }),
  leak(
    'output-proto',
    'a secret below `__proto__`',
    JSON.parse(`{"__proto__":{"a":"${secret}"}}`) as JsonObject,
  ),
  leak('output-escaped', 'a secret next to escapes', { a: `"\\\n${secret}\u0000` }),
  leak('output-json', 'a secret in JSON in a text', JSON.stringify({ a: JSON.stringify({ b: secret }) })),
  leak(
    'output-list',
    'a secret among ten thousand others',
    Array.from({ length: 10_000 }, () => secret),
  ),
];
