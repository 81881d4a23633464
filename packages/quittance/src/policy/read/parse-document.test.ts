/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { problemsOf, preRule, rulesetOf } from '../../../../../test/sample-ruleset.ts';
import { thrownBy } from '../../../../../test/thrown-by.ts';
import { isQuittanceError } from '../../base/error.ts';
import { parseDocument, readDocument, readDocumentValue } from './parse-document.ts';
import type { Ruleset } from '../language/ruleset.ts';

const head = `apiVersion: edictum/v1
kind: Ruleset
metadata:
  name: sample
defaults:
  mode: enforce
`;
const good = `${head}rules:
  - id: no-rm
    type: pre
    tool: Bash
    when:
      args.command: { contains: rm }
    then:
      action: block
      message: no
`;

/** The rule of `good`. */
const flowRule = {
  ...preRule,
  when: { 'args.command': { contains: 'rm' } },
  then: { action: 'block', message: 'no' },
};

const load = (text: string): Ruleset => {
  const document = parseDocument(text, 'a.yaml');
  if (document.kind !== 'Ruleset') throw new Error(document.kind);
  return document.ruleset;
};

/** Every problem as `line:column field message`. */
const problems = (text: string | Uint8Array): readonly string[] => {
  const result = readDocument(text, 'a.yaml');
  return result.ok
    ? []
    : result.problems.map(({ line, column, field, message }) => `${line}:${column} ${field} ${message}`);
};

describe('a document', () => {
  it('is read from block and flow YAML alike', () => {
    const { version: _, positions: __, ...block } = load(good);
    const flow = JSON.stringify(rulesetOf([flowRule]));
    const { version: ___, positions: ____, ...same } = load(flow);
    expect(same).toEqual(block);
    expect(block.rules).toMatchObject([{ id: 'no-rm', type: 'pre', action: 'block', timeoutSeconds: 300 }]);
  });

  it('is stamped with the sha256 of its raw bytes, a byte order mark included', () => {
    const marked = `\uFEFF${good}`;
    const stamp = (text: string): string => createHash('sha256').update(text).digest('hex');
    expect(load(good).version).toBe(stamp(good));
    expect(load(marked).version).toBe(stamp(marked));
    const bytes = parseDocument(new TextEncoder().encode(good), 'a.yaml');
    expect(bytes).toMatchObject({ ruleset: { version: stamp(good) } });
  });

  it('reads no and yes as text, and numbers as numbers', () => {
    const text = good.replace('{ contains: rm }', '{ in: [no, yes, on, 0x10, 1.5, true, ~] }');
    expect(load(text).rules).toMatchObject([{ when: { operand: ['no', 'yes', 'on', 16, 1.5, true, null] } }]);
  });

  it('stores the line of every rule separately from the rule', () => {
    expect(load(good).positions.get('no-rm')).toEqual({ source: 'a.yaml', line: 8 });
    expect(JSON.stringify(load(good).rules)).toBe(JSON.stringify(load(`\n\n${good}`).rules));
  });

  it('reports all of its problems at once, each with its position', () => {
    const text = `${head}rules:
  - id: Bad
    type: pre
    tool: ""
    when:
      args.n: { gt: five }
    then:
      acton: block
      message: ''
extra: 1
`;
    expect(problems(text)).toEqual([
      expect.stringMatching(/^16:1 extra Unknown field "extra" in document/),
      expect.stringMatching(/^8:9 rules\[0\]\.id id is "Bad"; expected an id/),
      expect.stringMatching(/^10:11 rules\[0\]\.tool tool is ""; expected text that is not empty/),
      expect.stringMatching(/^12:21 rules\[0\]\.when\.args\.n\.gt gt is "five"; expected a number/),
      expect.stringMatching(
        /^14:7 rules\[0\]\.then\.acton Unknown field "acton" in then\. Did you mean action\?/,
      ),
      expect.stringMatching(/^14:7 rules\[0\]\.then action is missing/),
      expect.stringMatching(
        /^15:16 rules\[0\]\.then\.message message is ""; expected text that is not empty/,
      ),
    ]);
  });

  it('throws one error with the problems as facts', () => {
    const error = thrownBy(() => parseDocument('kind: Ruleset', 'a.yaml'));
    expect(isQuittanceError(error, 'contracts.invalid')).toBe(true);
    expect(String(error)).toContain('a.yaml:1:1');
  });
});

describe('rejected YAML', () => {
  it.each([
    [
      'a key that appears twice',
      good.replace('tool: Bash', 'tool: Bash\n    tool: Read'),
      /11:5 .*"tool" appears twice/,
    ],
    ['a syntax error', good.replace('{ contains: rm }', '{ contains: rm'), /not valid YAML/],
    ['a second document', `${good}---\n${good}`, /second document begins here.*one file per document/],
    ['a tag', good.replace('message: no', 'message: !js/function no'), /This YAML is not supported/],
    ['binary data', good.replace('message: no', 'message: !!binary aGk='), /This YAML is not supported/],
    ['an older YAML', `%YAML 1.1\n---\n${good}`, /YAML 1\.1; expected YAML 1\.2/],
    [
      'a merge key',
      good.replace('type: pre', 'type: pre\n    <<: {mode: observe}'),
      /Merge keys are not part/,
    ],
    ['a key that is not text', good.replace('tool: Bash', '? [a]\n    : b'), /A key must be text/],
    ['an alias of nothing', good.replace('message: no', 'message: *nothing'), /anchor|alias/i],
    [
      'an alias inside itself',
      good.replace('{ contains: rm }', '&a { in: [*a] }'),
      /alias "a" contains itself/,
    ],
    ['infinity', good.replace('{ contains: rm }', '{ gt: .inf }'), /finite/],
    [
      'an integer that a number cannot hold',
      good.replace('{ contains: rm }', '{ equals: 12345678901234567891 }'),
      /in quotes/,
    ],
    ['a NUL', good.replace('message: no', 'message: n\0o'), /control character \(U\+0000\)/],
    ['half a character', good.replace('message: no', 'message: \uD800'), /lone surrogate/],
    ['nothing', '', /document is empty; expected an object/],
    ['a list', '- a', /document is a list; expected an object/],
    [
      'a prototype',
      good.replace('tool: Bash', 'tool: Bash\n    __proto__: {mode: observe}'),
      /Unknown field "__proto__"/,
    ],
    ['a constructor', `${good}constructor: 1`, /Unknown field "constructor"/],
  ])('contains %s', (_, text, expected) => {
    expect(problems(text).join('\n')).toMatch(expected);
  });

  it('is larger than one mebibyte, counted in bytes', () => {
    const padded = (size: number): string => `${good}# ${'ä'.repeat((size - good.length - 2) / 2)}`;
    expect(problems(padded(2 ** 20 + 2)).join()).toMatch(/1 MiB/);
    expect(problems(good + '#'.padEnd(2 ** 20 - good.length, 'x'))).toEqual([]);
  });

  it('is not UTF-8', () => {
    expect(problems(new Uint8Array([0xff, 0xfe, 0x61, 0]))).toEqual([expect.stringContaining('not UTF-8')]);
  });

  it('is nested too deep, in any possible way', () => {
    for (const text of ['['.repeat(100_000), '{a: '.repeat(50_000), '- '.repeat(50_000)])
      expect(problems(text).join('\n')).toMatch(/nested too deep/);
  });

  it('multiplies itself by aliases', () => {
    const lines = Array.from({ length: 12 }, (_, index) =>
      index === 0
        ? 'a0: &a0 [x, x]'
        : `a${index}: &a${index} [${Array(9)
            .fill(`*a${index - 1}`)
            .join(', ')}]`,
    );
    expect(problems(`observability:\n  ${lines.join('\n  ')}`)).toEqual([
      expect.stringContaining('too large once its aliases are written out'),
    ]);
  });

  it('may repeat a part of itself by an alias', () => {
    const text = `${good.replace('{ contains: rm }', '&when { contains: rm }')}  - id: again
    type: pre
    tool: Sh
    when: { args.command: *when }
    then: { action: ask, message: sure? }
`;
    const { rules } = load(text);
    expect(rules.map((rule) => ('when' in rule ? rule.when : undefined))[1]).toEqual(
      rules.map((rule) => ('when' in rule ? rule.when : undefined))[0],
    );
  });
});

describe('any text', () => {
  it('gives a document or problems, and never throws', () => {
    const piece = fc.constantFrom(
      'rules', ': ', '\n', '  ', '- ', '{', '}', '[', ']', '&a ', '*a', '!t ', '"', "'", '|\n', '>', '#', '%', '---\n', '~', '<<', '? ', good, head, '\t', ',',
    ); // oxfmt-ignore
    fc.assert(
      fc.property(
        fc.array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 8 })), { maxLength: 30 }),
        (parts) => {
          const result = readDocument(parts.join(''), 'a.yaml');
          return result.ok || result.problems.length > 0;
        },
      ),
      { numRuns: 300 },
    );
  });

  it('any value gives a document or problems, too', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true }), (value) => {
        const result = readDocumentValue(value, 'v');
        return result.ok || result.problems.length > 0;
      }),
      { numRuns: 300 },
    );
  });
});

describe('a value given by a program', () => {
  it('is read like its text, without lines', () => {
    expect(problemsOf(rulesetOf([{ ...preRule, tool: 1 }]))).toEqual([
      'rules[0].tool: tool is the number 1; expected text: put it in quotes.',
    ]);
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect(readDocumentValue({ rules: cyclic }, 'v')).toMatchObject({ ok: false });
  });
});
