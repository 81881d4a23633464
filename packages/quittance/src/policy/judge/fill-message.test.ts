import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sampleCall, sampleWorld } from '../../../../../test/sample-policy.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { createRedactor } from '../../base/redaction.ts';
import { compileMessage } from './fill-message.ts';
import { viewOutput } from './output-view.ts';

const redactor = createRedactor();

const fill = (message: string, input: JsonObject = {}, result?: JsonValue): string =>
  compileMessage(
    message,
    sampleWorld({
      selectors: {
        host: () => {
          throw new Error('no');
        },
      },
    }),
    redactor,
  )(sampleCall(input), result === undefined ? undefined : viewOutput({ type: 'result', value: result }));

test.each<[message: string, input: JsonObject, expected: string]>([
  ['No {args.path} for {tool.name}', { path: '/etc' }, 'No /etc for Bash'],
  ['{args.n} and {args.yes}', { n: 1.5, yes: true }, '1.5 and true'],
  ['{args.map}', { map: { a: [1] } }, '{"a":[1]}'],
  ['{args.gone} stays', {}, '{args.gone} stays'],
  ['{args.none} stays', { none: null }, '{args.none} stays'],
  ['{} {nonsense} {args} {args.} {args..a}', { '': 1 }, '{} {nonsense} {args} {args.} {args..a}'],
  ['{{args.a}}', { a: 'x' }, '{x}'],
  ['{args.a}', { a: '{tool.name}' }, '"{tool.name}"'],
  ['{args.__proto__} {args.constructor}', {}, '{args.__proto__} {args.constructor}'],
  ['{output.text} comes later', {}, '{output.text} comes later'],
  ['{host.a} stays', {}, '{host.a} stays'],
  ['$& $1 {args.a}', { a: '$&' }, '$& $1 $&'],
])('%j with %j reads %j', (message, input, expected) => {
  expect(fill(message, input)).toBe(expected);
});

test('a value is masked if it looks like a secret or its name says it is one', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  expect(fill('{args.text}', { text: `use ${token}` })).toBe('"use [REDACTED]"');
  expect(fill('{args.password}', { password: 'hunter2' })).toBe('[REDACTED]');
  expect(fill('{args.db.password}', { db: { password: 'hunter2' } })).toBe('[REDACTED]');
  expect(fill('{args.db}', { db: { password: 'hunter2', host: 'h' } })).toBe(
    '{"password":"[REDACTED]","host":"h"}',
  );
  expect(fill('Tried password={args.word}', { word: 'hunter2' })).toBe('Tried password=[REDACTED]');
});

test('a secret is masked before the text is cut', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const filled = fill('{args.text}', { text: `${'x'.repeat(180)} ${token}` });
  expect(filled).not.toContain('ghp_');
});

test('a value takes at most 200 characters and the whole message at most 500', () => {
  expect(fill('{args.a}', { a: 'a'.repeat(1_000) })).toHaveLength(200);
  expect(fill('{args.a}{args.a}{args.a}{args.a}', { a: 'a'.repeat(1_000) })).toHaveLength(500);
  expect(fill('{result.list}', {}, { list: Array.from({ length: 1_000 }, () => 'word') })).toHaveLength(200);
});

test('no cut splits a character, whatever the values', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), fc.nat(600), (text, pad) => {
      const filled = fill(`${'.'.repeat(Math.min(pad, 450))}{args.a}{args.a}`, {
        a: `${'.'.repeat(pad)}${text}`,
      });
      expect(filled.length).toBeLessThanOrEqual(500);
      expect(filled.isWellFormed()).toBe(true);
    }),
  );
});
