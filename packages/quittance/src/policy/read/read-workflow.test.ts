import { expect, test } from 'vitest';
import { problemsOf, releaseStages, workflowOf } from '../../../../../test/sample-workflow.ts';
import type { JsonObject } from '../../base/json.ts';
import { readDocument } from './parse-document.ts';

test('a workflow is read with its stages in order', () => {
  const workflow = workflowOf(...releaseStages);
  expect(workflow).toMatchObject({ name: 'sample', version: '7' });
  expect(workflow.stages.map(({ id }) => id)).toEqual(['study', 'change', 'check', 'review', 'push']);
  expect(workflow.stages[3]).toMatchObject({
    tools: [],
    approvalMessage: 'Look at the diff before it is pushed',
    terminal: false,
  });
});

test('a gate without a message gets a default message', () => {
  const gates = [
    'stage_complete("a")',
    'file_read("x")',
    'approval()',
    'approval("a")',
    'command_matches("x")',
    'command_not_matches("x")',
    'mcp_result_matches("t","f","v")',
    'exec("x")',
  ];
  const workflow = workflowOf({ id: 'a', exit: gates.map((condition) => ({ condition })) });
  expect(workflow.stages[0]?.exit.map(({ message }) => message)).toMatchInlineSnapshot(`
    [
      "Stage "a" must be complete first",
      "Read "x" first",
      "This stage must be approved first",
      "Stage "a" must be approved first",
      "A command that matches "x" must have succeeded first",
      "A command that matches "x" was run, which this gate forbids",
      ""t" must first return a result whose "f" is "v"",
      ""x" must first end with exit code 0",
    ]
  `);
});

test('the last stage may be of any form, even empty', () => {
  expect(problemsOf({ id: 'only' })).toEqual([]);
  expect(problemsOf({ id: 'only', terminal: true })).toEqual([]);
});

test.each<readonly [what: string, stages: readonly unknown[], problem: RegExp]>([
  ['no stages', [], /stages: .*at least 1/],
  [
    'a terminal stage that is not the last',
    [{ id: 'a', terminal: true }, { id: 'b' }],
    /stages\[0\]\.terminal: .*only the last/,
  ],
  ['a stage nothing leads out of', [{ id: 'a' }, { id: 'b' }], /stages\[0\]: Stage "a" has none of tools/],
  ['one with empty lists only', [{ id: 'a', tools: [], exit: [] }, { id: 'b' }], /Stage "a" has none of/],
  ['an empty approval message', [{ id: 'a', approval: { message: '' } }], /approval\.message: .*not empty/],
  ['an approval without a message', [{ id: 'a', approval: {} }], /message is missing/],
  ['a message that is too long', [{ id: 'a', approval: { message: 'x'.repeat(501) } }], /at most 500/],
  ['the same id twice', [{ id: 'a', tools: ['x'] }, { id: 'a' }], /stages\[1\]\.id: .*duplicate/],
  ['an id with capitals', [{ id: 'Study' }], /stages\[0\]\.id: .*lower-case/],
  ['an unknown key', [{ id: 'a', tool: ['x'] }], /"tool".*Did you mean tools\?/],
  ['an unknown key in a gate', [{ id: 'a', exit: [{ condition: 'approval()', text: 'x' }] }], /"text"/],
  [
    'a misspelt condition',
    [{ id: 'a', exit: [{ condition: 'file_raed("x")' }] }],
    /stages\[0\]\.exit\[0\]\.condition: .*Did you mean file_read\?/,
  ],
  [
    'an unknown stage in a condition',
    [{ id: 'study', exit: [{ condition: 'stage_complete("stdy")' }] }],
    /exit\[0\]\.condition: .*No stage named "stdy". Known stages: study/,
  ],
  [
    'an unknown stage to approve',
    [{ id: 'a', exit: [{ condition: 'approval("b")' }] }],
    /No stage named "b"/,
  ],
  ['a check of nothing', [{ id: 'a', checks: [{ message: 'm' }] }], /neither of command_matches/],
  [
    'a check of both',
    [{ id: 'a', checks: [{ command_matches: 'a', command_not_matches: 'b', message: 'm' }] }],
    /both of command_matches/,
  ],
  ['a check without a message', [{ id: 'a', checks: [{ command_matches: 'a' }] }], /message is missing/],
  [
    'an invalid pattern',
    [{ id: 'a', checks: [{ command_matches: '(', message: 'm' }] }],
    /checks\[0\]\.command_matches: .*invalid regex/,
  ],
  ['a stage that is not an object', ['a'], /stages\[0\] is "a"/],
])('a document with %s is rejected', (_, stages, problem) => {
  // Some of these are not even objects, on purpose.
  expect(problemsOf(...(stages as readonly JsonObject[])).join('\n')).toMatch(problem);
});

test('a terminal stage that is not the last has only that problem', () => {
  expect(problemsOf({ id: 'a', terminal: true }, { id: 'b' })).toHaveLength(1);
});

test('a workflow has at most 500 stages', () => {
  const stages = Array.from({ length: 501 }, (_, index) => ({ id: `s${index}`, tools: ['x'] }));
  expect(problemsOf(...stages.slice(1))).toEqual([]);
  expect(problemsOf(...stages)).toEqual([': stages has 501 items; expected at most 500.']);
});

test('all problems are reported at once, with their lines', () => {
  const result = readDocument(
    [
      'apiVersion: edictum/v2',
      'kind: Workflow',
      'metadata: {name: Bad Name, owner: me}',
      'stages:',
      '  - id: a',
      '    exit:',
      '      - condition: stage_complete("b")',
      '      - condition: nonsense',
      '    checks:',
      '      - command_matches: "("',
      '        message: m',
      '  - id: a',
    ].join('\n'),
    'w.yaml',
  );
  expect(result.ok ? [] : result.problems.map(({ line, field }) => [line, field])).toEqual([
    [1, 'apiVersion'],
    [3, 'metadata.owner'],
    [3, 'metadata.name'],
    [8, 'stages[0].exit[1].condition'],
    [10, 'stages[0].checks[0].command_matches'],
    [12, 'stages[1].id'],
    [7, 'stages[0].exit[0].condition'],
  ]);
});

test('patterns that RE2 does not support are rejected, with a way to rewrite them', () => {
  const text = [
    'apiVersion: edictum/v1',
    'kind: Workflow',
    'metadata: {name: w}',
    'stages:',
    '  - id: a',
    '    checks: [{command_matches: "x(?!rm)", message: m}]',
    '    exit: [{condition: \'command_matches("a(?=b)")\'}]',
  ].join('\n');
  const result = readDocument(text, 'w');
  expect(result.ok ? [] : result.problems.map(({ field, message }) => [field, message])).toEqual([
    ['stages[0].exit[0].condition', expect.stringMatching(/uses lookahead `\(\?=`.*Match each part/)],
    [
      'stages[0].checks[0].command_matches',
      expect.stringMatching(/uses negative lookahead `\(\?!`.*`command_not_matches`/),
    ],
  ]);
});
