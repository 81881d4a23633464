import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import type { KnownNames } from '../../packages/console/src/rule-editor/completions.ts';
import { completionsAt, noNames } from '../../packages/console/src/rule-editor/completions.ts';
import { newLineAt } from '../../packages/console/src/rule-editor/insert-text.ts';
import { paintYaml } from '../../packages/console/src/rule-editor/paint-yaml.ts';
import { placeInTexts } from '../../packages/console/src/pages/contracts/rule-place.ts';
import { toolAtLine } from '../../packages/console/src/pages/contracts/tool-at-line.ts';
import { shopRules } from './shop.ts';

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../packages/quittance/schema/contracts.schema.json'), 'utf8'),
) as JsonObject;
const names: KnownNames = {
  tools: ['refund', 'send_mail'],
  argumentsOf: (tool) => (tool === 'refund' ? ['order', 'cents'] : []),
};

/** The labels offered at `|`. */
const offered = (marked: string, known = noNames): readonly string[] | undefined => {
  const offset = marked.indexOf('|');
  return completionsAt(marked.replace('|', ''), offset, schema, known)?.suggestions.map(({ label }) => label);
};

const head = 'apiVersion: quittance/v1\nkind: Ruleset\nmetadata: { name: a }\ndefaults: { mode: enforce }\n';

describe('suggestions from the schema', () => {
  test('suggestions from the schema at the top, the keys that are still missing', () => {
    const labels = offered('apiVersion: quittance/v1\nkind: Ruleset\n|');
    expect(labels).toEqual(expect.arrayContaining(['metadata', 'defaults', 'rules', 'tools']));
    expect(labels).not.toContain('kind');
  });

  test('keys that come later in the document are not offered again', () => {
    expect(offered('kind: Ruleset\n|\nmetadata: { name: a }\nrules:\n')).not.toContain('metadata');
  });

  test.each([
    ['defaults:\n  mode: |', ['enforce', 'observe']],
    ['defaults: { mode: ob|', ['observe']],
    ['defaults: { mode: enforce, unl|', ['unlisted_tools']],
    ['kind: |', ['Ruleset', 'ContractBundle', 'Workflow']],
    [`${head}rules:\n  - type: p|`, ['pre', 'post']],
    [
      `${head}rules:\n  - id: a\n    type: pre\n    then:\n      action: |`,
      ['block', 'ask', 'deny', 'approve'],
    ],
    [`${head}rules:\n- id: a\n  type: post\n  then:\n    action: r|`, ['redact']],
    [`${head}rules:\n  - id: a\n    type: pre\n    enabled: |`, ['true', 'false']],
    [`${head}rules:\n  - id: a\n    type: pre\n    when:\n      args.cents: { g|`, ['gt', 'gte']],
    [
      `${head}rules:\n  - id: a\n    type: pre\n    when:\n      args.cents:\n        on_missing: |`,
      ['fire', 'skip'],
    ],
  ])('%j', (text, expected) => {
    expect(offered(text)?.toSorted()).toEqual([...expected].toSorted());
  });

  test('the type of a rule decides its keys', () => {
    const rule = (type: string): readonly string[] | undefined =>
      offered(`${head}rules:\n  - id: a\n    type: ${type}\n    |`);
    expect(rule('session')).toContain('limits');
    expect(rule('session')).not.toContain('when');
    expect(rule('pre')).toContain('when');
    expect(rule('pre')).not.toContain('limits');
    // Required keys come first.
    expect(rule('pre')?.slice(0, 2).toSorted()).toEqual(['then', 'tool']);
  });

  test('expressions may contain expressions', () => {
    const labels = offered(
      `${head}rules:\n  - id: a\n    type: pre\n    when:\n      all:\n        - any:\n            - |`,
    );
    expect(labels).toEqual(expect.arrayContaining(['all', 'any', 'not', 'principal.role']));
  });

  test('tools of the server, and arguments of the tool of the rule', () => {
    expect(offered(`${head}rules:\n  - id: a\n    type: pre\n    tool: |`, names)).toEqual([
      'refund',
      'send_mail',
    ]);
    const rule = `${head}rules:\n  - id: a\n    type: pre\n    tool: refund\n    when:\n      `;
    expect(offered(`${rule}args|`, names)).toEqual(['args.order', 'args.cents']);
    expect(offered(`${rule}args|`)).toBeUndefined();
  });

  test('every offered selector is one that the schema accepts', () => {
    const labels = offered(`${head}rules:\n  - id: a\n    type: pre\n    when:\n      |`) ?? [];
    const { preExpression } = schema['$defs'] as Record<
      string,
      { patternProperties: object; properties: object }
    >;
    const [pattern = ''] = Object.keys(preExpression?.patternProperties ?? {});
    for (const label of labels.filter((each) => !Object.hasOwn(preExpression?.properties ?? {}, each)))
      expect(label).toMatch(new RegExp(pattern, 'u'));
  });

  test.each([
    '# mode: |',
    'metadata: { name: "a|',
    'metadata:\n  description: |-\n    mode|'.replace('|-', '>'),
    'metadata:\n  description: some text\n    goes on|',
    'defaults:\n  mode: enforce|',
    'nothing_like_it:\n  |',
  ])('nothing in %j', (text) => {
    expect(offered(text)).toBeUndefined();
  });

  test('no position in the rules of the shop fails, also in half a document', () => {
    let found = 0;
    for (let offset = 0; offset <= shopRules.length; offset++)
      for (const text of [shopRules, shopRules.slice(0, offset)])
        found += completionsAt(text, offset, schema, names)?.suggestions.length ?? 0;
    expect(found).toBeGreaterThan(100);
  });

  test('a very long line takes no time', () => {
    const before = process.cpuUsage();
    const long = `${'a '.repeat(100_000)}`;
    completionsAt(`rules:\n  - message: ${long}\n    |`, 20, schema, names);
    expect(paintYaml(long)).toEqual([{ text: long, as: 'plain' }]);
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });
});

test('the painted text is the text, character for character', () => {
  for (const line of [
    ...shopRules.split('\n'),
    "  - id: 'a: b' # c",
    '{a: [1, true, "x"]}',
    '- - x',
    ':',
    '"',
  ])
    expect(
      paintYaml(line)
        .map(({ text }) => text)
        .join(''),
    ).toBe(line);
  expect(paintYaml('  - id: x # why').map(({ as }) => as)).toEqual([
    'plain',
    'mark',
    'plain',
    'key',
    'mark',
    'plain',
    'comment',
  ]);
});

test.each([
  ['rules:', '\n  '],
  ['  - id: a', '\n    '],
  ['    then:', '\n      '],
  ['', '\n'],
])('a new line after %j keeps the indentation', (line, expected) => {
  expect(newLineAt(line, line.length)).toBe(expected);
});

test('a rule of an earlier version is found by its id', () => {
  const text = 'rules:\n  - type: pre\n    id: "a" # first\n  - id: b\n';
  const documents = [{ name: 'r.yaml', stamp: '', text }];
  expect(placeInTexts(documents, 'a')).toEqual({ document: 'r.yaml', line: 3 });
  expect(placeInTexts(documents, 'b')).toEqual({ document: 'r.yaml', line: 4 });
  expect(placeInTexts(documents, 'c')).toBeUndefined();
});

test('the tool of a rule is found from every line of the rule', () => {
  const text = 'rules:\n  - id: a\n    tool: refund\n    when:\n  - id: b\n    when:\n    tool: send_mail\n';
  expect([2, 3, 4, 5, 6, 7].map((line) => toolAtLine(text, line))).toEqual([
    'refund',
    'refund',
    'refund',
    'send_mail',
    'send_mail',
    'send_mail',
  ]);
});
