import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRegex } from '../regex/linear-regex.ts';
import type { ConditionReading } from './read-workflow.ts';
import { parseCondition } from './read-workflow.ts';

const parse = (text: string): ConditionReading => parseCondition(text, parseRegex);
const conditionOf = (text: string): unknown => {
  const reading = parse(text);
  return reading.ok ? reading.condition : reading.problem;
};

describe('a condition', () => {
  test.each([
    ['stage_complete("study")', { type: 'stage_complete', stageId: 'study' }],
    ['file_read("docs/a b.md")', { type: 'file_read', path: 'docs/a b.md' }],
    ['approval()', { type: 'approval', stageId: undefined }],
    ['approval("")', { type: 'approval', stageId: undefined }],
    ['approval("review")', { type: 'approval', stageId: 'review' }],
    ['exec("make test")', { type: 'exec', command: 'make test', exitCode: 0 }],
    ['exec("make test", exit_code=3)', { type: 'exec', command: 'make test', exitCode: 3 }],
    [' exec ( "make test" ,exit_code = 3 ) ', { type: 'exec', command: 'make test', exitCode: 3 }],
    ['mcp_result_matches("a","b","c")', { type: 'mcp_result_matches', tool: 'a', field: 'b', value: 'c' }],
  ])('is read from %s', (text, condition) => {
    expect(conditionOf(text)).toEqual(condition);
  });

  test('contains a pattern whose backslashes are written twice', () => {
    const reading = parse('command_matches("^git\\\\s+\\"x\\"$")');
    expect(reading.ok && reading.condition).toMatchObject({
      type: 'command_matches',
      regex: { source: '^git\\s+"x"$' },
    });
  });

  test('returns any text that was written into it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (path) => {
        expect(conditionOf(`file_read(${JSON.stringify(path)})`)).toEqual({ type: 'file_read', path });
      }),
    );
  });

  test('is rejected or read, whatever the input, and never throws', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('exec', '"', '\\', ',', ')', '=0', ' ', 'u', 'exit_code') }),
        (text) => {
          expect(typeof parse(`exec(${text}`).ok).toBe('boolean');
        },
      ),
    );
  });
});

describe('an invalid condition', () => {
  test.each([
    ['', /not a condition/],
    ['file_read', /not a condition/],
    ['file_raed("x")', /Did you mean file_read\?/],
    ['constructor("x")', /no condition named "constructor"/],
    ['file_read()', /has 0 texts; expected file_read\("path"\)/],
    ['file_read("a", "b")', /has 2 texts/],
    ['file_read("")', /an empty path/],
    ["file_read('a')", /double quotes/],
    ['file_read("a', /no closing quotation mark/],
    ['file_read("a"', /no closing parenthesis/],
    ['file_read("a",)', /double quotes/],
    ['file_read("a") or approval()', /a gate has exactly one condition/],
    ['file_read("a", exit_code=1)', /takes no exit_code/],
    ['approval("a", "b")', /has 2 texts/],
    ['exec("")', /an empty command/],
    ['exec("a", exit_code=-1)', /double quotes/],
    ['exec("a", exit_code=1x)', /double quotes/],
    ['exec(exit_code=1)', /has 0 texts/],
    ['exec(exit_code=1, "a")', /no closing parenthesis/],
    ['mcp_result_matches("a", "b")', /has 2 texts/],
    ['command_matches("(")', /regex "\(" of command_matches is invalid/],
    ['command_matches("a\\s")', /a backslash is written twice/],
    ['command_not_matches("push\\b")', /a word boundary is written \\\\b/],
    ['command_matches("a(?=b)")', /lookahead/],
  ])('is rejected: %s', (text, problem) => {
    expect(conditionOf(text)).toMatch(problem);
  });
});
