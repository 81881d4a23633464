/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Data } from '../conformance/case.ts';
import { casesIn, findCases } from '../conformance/find-cases.ts';
import { reportOn, runCases } from '../conformance/run-cases.ts';
import { documentOf, postRule, preRule } from './sample-policy.ts';

/** The runner's problems with one case. */
async function problemsOf(data: Data, file: Data = {}): Promise<readonly string[]> {
  const place = { folder: 'own', file: 'own/cases.yaml' };
  const [result] = await runCases(casesIn({ ...file, fixtures: [{ id: 'case', ...data }] }, place));
  return result?.problems ?? ['there was no such case'];
}

const expectPass = async (data: Data, file?: Data): Promise<void> =>
  expect(await problemsOf(data, file)).toEqual([]);

const expectFailure = async (data: Data, words: RegExp, file?: Data): Promise<void> =>
  expect((await problemsOf(data, file)).join('\n')).toMatch(words);

const ask = (changes: Data = {}): Data => ({
  action: 'ask',
  message: 'May it run?',
  tags: ['people'],
  ...changes,
});
const bash = { tool_name: 'Bash', arguments: { command: 'deploy' } };
const always = { 'args.command': { exists: true } };
const asking = documentOf([preRule('people', always, { then: ask() as never })]);
const blocking = documentOf([
  preRule('no', always, { then: { action: 'block', message: 'Not here', tags: ['safety', 'shell'] } }),
]);

describe('a ruleset case passes', () => {
  it.each<readonly [string, Data]>([
    ['when nothing matches', { contract: blocking, envelope: { tool_name: 'Read' }, verdict: 'allowed' }],
    ['when a rule blocks', { contract: blocking, verdict: 'denied', message_contains: 'NOT here' }],
    ['when the tags are there', { contract: blocking, verdict: 'denied', tags: ['shell'] }],
    ['for an ask without a scripted answer', { contract: asking, verdict: 'allowed' }],
    ['for an approval', { contract: asking, approval_decision: 'approved', verdict: 'allowed' }],
    [
      'for a rejection',
      { contract: asking, approval_decision: 'rejected', verdict: 'denied', message_contains: 'may it run' },
    ],
    [
      'before an answer',
      { contract: asking, approval_pending: true, verdict: 'denied', message_contains: 'approval' },
    ],
    [
      'for a wait that ran out and blocks',
      { contract: asking, timeout_expired: true, verdict: 'denied', message_contains: 'approval' },
    ],
    [
      'for a wait that ran out and allows',
      {
        contract: documentOf([preRule('a', always, { then: ask({ timeout_effect: 'allow' }) as never })]),
        timeout_expired: true,
        verdict: 'allowed',
      },
    ],
    [
      'for a name no runtime can have a tool of',
      { contract: blocking, envelope: { ...bash, tool_name: 'Bash\0evil' }, verdict: 'allowed' },
    ],
    [
      'for the name of a tool that runtimes have themselves',
      { contract: blocking, envelope: { ...bash, tool_name: 'read_artifact' }, verdict: 'allowed' },
    ],
    [
      'for arguments that JSON cannot hold',
      {
        contract: documentOf([preRule('many', { 'args.n': { gt: 1 } })]),
        envelope: { tool_name: 'Bash', arguments: { n: Number.POSITIVE_INFINITY } },
        verdict: 'denied',
        message_contains: 'many fired',
      },
    ],
    [
      'by claims of the principal',
      {
        contract: documentOf([
          preRule('team', {
            all: [
              { 'principal.user_id': { equals: 'u1' } },
              { 'principal.claims.team.lead': { equals: true } },
            ],
          }),
        ]),
        principal: { id: 'u1', shoe_size: 44, claims: { team: { lead: true } } },
        verdict: 'denied',
      },
    ],
    [
      'by metadata of the call and by the environment, whose values have types',
      {
        contract: documentOf([
          preRule('both', {
            all: [{ 'metadata.trace.id': { equals: 't' } }, { 'env.REPLICAS': { gt: 2 } }],
          }),
        ]),
        call_metadata: { trace: { id: 't' } },
        environment: { REPLICAS: 3 },
        verdict: 'denied',
      },
    ],
    [
      'by the counters of a session',
      {
        contract: documentOf([
          {
            id: 'few',
            type: 'session',
            limits: { max_tool_calls: 9, max_attempts: 9, max_calls_per_tool: { 'B*': 2 } },
            then: { action: 'block', message: 'Enough of Bash' },
          },
        ]),
        session: { tool_calls: 3, attempts: 4, per_tool: { Bash: 2, Read: 1 } },
        verdict: 'denied',
        message_contains: 'enough',
      },
    ],
    [
      'by what would have been blocked',
      {
        contract: documentOf([preRule('no', always)], { defaults: { mode: 'observe' } }),
        verdict: 'allowed',
        audit_action: 'observed',
      },
    ],
    ...(['warn', 'redact', 'block'] as const).map(
      (action) =>
        [
          `when a result is judged: ${action}`,
          {
            contract: documentOf([postRule('look', action, { 'result.out': { contains: 'secret' } })]),
            result: { out: 'a secret' },
            verdict: { warn: 'warned', redact: 'redacted', block: 'denied' }[action],
            message_contains: 'look fired',
          },
        ] as const,
    ),
  ])('%s', async (_, { verdict, message_contains, tags, audit_action, ...data }) => {
    const expected = { verdict, message_contains, tags, audit_action };
    await expectPass({
      envelope: bash,
      ...data,
      expected: Object.fromEntries(Object.entries(expected).filter(([, value]) => value !== undefined)),
    });
  });

  it('a ruleset case passes with a document of its file that extends another one there', async () => {
    const rulesets = {
      parent: documentOf([preRule('no', always)], { metadata: { name: 'parent' } }),
      child: documentOf([], { metadata: { name: 'child' }, extends: 'parent' }),
    };
    await expectPass(
      { contract: 'child', envelope: bash, expected: { verdict: 'denied', message_contains: 'no fired' } },
      { rulesets },
    );
  });
});

describe('a ruleset case fails', () => {
  const denied = { verdict: 'denied' };
  it.each<readonly [string, Data, RegExp]>([
    ['on another verdict', { expected: { verdict: 'allowed' } }, /evaluate: .*allowed.*got denied/],
    ['in the runtime too', { expected: { verdict: 'allowed' } }, /runtime: .*allowed.*got denied/],
    ['on other words', { expected: { ...denied, message_contains: 'elsewhere' } }, /elsewhere.*Not here/],
    ['on a missing tag', { expected: { ...denied, tags: ['safety', 'money'] } }, /tags \["safety","money"\]/],
    ['without the record it wants', { expected: { ...denied, audit_action: 'observed' } }, /got none/],
    ['on an unknown word for records', { expected: { ...denied, audit_action: 'loud' } }, /"loud"/],
    ['on an unknown expectation', { expected: { ...denied, color: 'red' } }, /"color".*cannot check/],
    ['on an unknown answer', { approval_decision: 'maybe', expected: denied }, /"maybe"/],
    [
      'on a document that cannot be loaded',
      { contract: { kind: 'Ruleset' }, expected: denied },
      /threw .*apiVersion/s,
    ],
    ['on a document that is not there', { contract: 'gone', expected: denied }, /unknown kind/],
    ['without a call', { envelope: 'Bash', expected: denied }, /unknown kind/],
    ['without a tool', { envelope: { arguments: {} }, expected: denied }, /tool_name/],
  ])('%s', (_, data, words) => expectFailure({ contract: blocking, envelope: bash, ...data }, words));
});

describe('a rejection', () => {
  const bundle = documentOf([preRule('no', always, { then: { action: 'block', message: '' } })]);
  it('passes when the document is refused for that reason', () =>
    expectPass({ bundle, expected: { rejected: true, error_contains: 'MESSAGE' } }));
  it('fails when it is refused for another', () =>
    expectFailure({ bundle, expected: { rejected: true, error_contains: 'apple' } }, /"apple"/));
  it('fails when the document is loaded', () =>
    expectFailure({ bundle: blocking, expected: { rejected: true, error_contains: 'x' } }, /but it loaded/));
});

const workflows = {
  release: {
    apiVersion: 'edictum/v1',
    kind: 'Workflow',
    metadata: { name: 'release', version: '3' },
    stages: [
      { id: 'look', tools: ['Read'], exit: [{ condition: 'file_read("a.md")', message: 'Read a.md first' }] },
      { id: 'agree', approval: { message: 'Agree to it' } },
      {
        id: 'check',
        tools: ['mcp__ci'],
        exit: [{ condition: 'mcp_result_matches("mcp__ci","state","green")', message: 'CI is not green' }],
      },
      { id: 'ship', tools: ['Ship'] },
    ],
  },
};
const read = (execution: string, expect_: Data): Data => ({
  call: { tool: 'Read', args: { path: 'a.md' } },
  execution,
  expect: expect_,
});
const ci = (changes: Data): Data => ({ call: { tool: 'mcp__ci' }, execution: 'success', ...changes });
const at = (active_stage: string, more: Data = {}): Data => ({
  session_id: 'w',
  active_stage,
  ...more,
});
const workflowCase = (steps: readonly Data[], more: Data = {}): readonly [Data, Data] => [
  { workflow: 'release', steps, ...more },
  { workflows },
];

describe('a workflow case passes', () => {
  it('step by step: evidence after a success, a pause, approvals, results of a server, a reset', () =>
    expectPass(
      ...workflowCase([
        read('error', { decision: 'allow', evidence: { reads: [] } }),
        ci({ execution: 'not_run', expect: { decision: 'deny', message_contains: 'read a.md' } }),
        read('success', { decision: 'allow', active_stage: 'look', evidence: { reads: ['a.md'] } }),
        ci({
          execution: 'not_run',
          expect: {
            decision: 'pause',
            approval_requested_for: 'agree',
            message_contains: 'agree to it',
            active_stage: 'agree',
            completed_stages: ['look'],
            pending_approval: { required: true, stage_id: 'agree' },
          },
        }),
        ci({ approval_outcomes: ['rejected'], expect: { decision: 'block', approvals: {} } }),
        ci({
          approval_outcomes: ['approved'],
          mcp_result: { state: 'red' },
          expect: {
            decision: 'allow',
            active_stage: 'check',
            approvals: { agree: 'approved' },
            evidence: { reads: ['a.md'], mcp_results: { mcp__ci: [{ state: 'red' }] } },
            last_recorded_evidence: { tool: 'mcp__ci' },
          },
        }),
        { call: { tool: 'Ship' }, execution: 'not_run', expect: { decision: 'deny' } },
        { reset_to: 'agree', expect: { active_stage: 'agree', approvals: {} } },
        { set_stage_to: 'ship', expect: { active_stage: 'ship', blocked_reason: null } },
        { call: { tool: 'Ship' }, execution: 'success', expect: { decision: 'allow' } },
      ]),
    ));

  it('a workflow case passes from its initial state, with records in order and its original session', () =>
    expectPass(
      ...workflowCase(
        [
          ci({
            approval_outcomes: ['approved'],
            mcp_result: { state: 'green' },
            expect: {
              decision: 'allow',
              audit_events: [
                { action: 'call_asked', workflow: { pending_approval: { required: true } } },
                { action: 'call_approval_granted', session_id: 'w', parent_session_id: 'p' },
                {
                  action: 'workflow_stage_advanced',
                  workflow: { version: '3', stage_id: 'agree', to_stage_id: 'check' },
                },
                {
                  action: 'call_allowed',
                  workflow: { active_stage: 'check', completed_stages: ['look', 'agree'] },
                },
                { action: 'call_executed', parent_session_id: 'p' },
              ],
            },
          }),
          read('not_run', { decision: 'deny', audit_events: [{ action: 'call_blocked' }] }),
        ],
        {
          lineage: { parent_session_id: 'p' },
          initial_state: at('agree', { completed_stages: ['look'], pending_approval: { required: false } }),
        },
      ),
    ));
});

describe('a workflow case fails', () => {
  it.each<readonly [string, Data, RegExp]>([
    ['on another decision', read('success', { decision: 'deny' }), /decision "deny", got allow/],
    ['on other words', ci({ expect: { decision: 'deny', message_contains: 'nope' } }), /"nope"/],
    ['on another stage', read('success', { active_stage: 'ship' }), /active_stage "ship", got "look"/],
    ['on evidence that is missing', read('error', { evidence: { reads: ['a.md'] } }), /evidence/],
    ['on evidence too much', read('success', { evidence: { reads: [] } }), /evidence/],
    [
      'on a stage that should wait',
      ci({ expect: { approval_requested_for: 'agree' } }),
      /"agree" to await approval/,
    ],
    [
      'on an approval without a question',
      { ...read('success', {}), approval_outcomes: ['approved'] },
      /\["approved"\] was not/,
    ],
    ['on an unknown approval', { ...read('success', {}), approval_outcomes: ['yes'] }, /"yes"/],
    ['on an unknown execution', read('perhaps', {}), /"perhaps"/],
    ['on an unknown expectation', read('success', { weather: 'fine' }), /"weather"/],
    ['on a step that does nothing', { expect: {} }, /none of call/],
    ['on an unknown stage', { reset_to: 'nowhere', expect: {} }, /nowhere/],
    [
      'on a missing record',
      read('success', { audit_events: [{ action: 'call_allowed' }, { action: 'call_asked' }] }),
      /event 2 to be .*call_asked/,
    ],
    [
      'on a record too much',
      read('success', { audit_events: [{ action: 'call_allowed' }] }),
      /no audit event after/,
    ],
    [
      'on records in another order',
      read('success', { audit_events: [{ action: 'call_executed' }, { action: 'call_allowed' }] }),
      /event 1 to be .*call_executed/,
    ],
    ['on a field of a record', read('success', { audit_events: [{ session_id: 'x' }] }), /event 1/],
  ])('%s', (_, step, words) => expectFailure({ workflow: 'release', steps: [step] }, words, { workflows }));

  it('a workflow case fails on a workflow that does not exist', () =>
    expectFailure({ workflow: 'gone', steps: [{}] }, /no workflow named "gone"/, { workflows }));
});

describe('the runner', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-conformance-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const run = async (path: string) => reportOn(await runCases(findCases(path)));
  const write = (name: string, text: string): void => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  };

  it('fails for a folder that is missing or empty', async () => {
    mkdirSync(join(folder, 'empty/below'), { recursive: true });
    for (const name of ['missing', 'empty']) {
      const { lines, ok } = await run(join(folder, name));
      expect([ok, lines.at(-1)]).toEqual([false, '0 passed, 1 failed']);
    }
    expect(reportOn([]).ok).toBe(false);
  });

  it.each([
    ['no-yaml', '{ a: [', /cannot be read/],
    ['a-list', '- 1', /not a map/],
    ['no-cases', 'fixtures: []', /contains no cases/],
    ['no-map', 'fixtures: [1]', /not a map/],
    ['no-kind', 'fixtures: [{id: x, poem: true}]', /unknown kind/],
  ])('fails for a file with %s', async (name, text, words) => {
    write(`${name}/behavioral/x.fixtures.yaml`, text);
    const { lines, ok } = await run(join(folder, name));
    expect([ok, lines.join('\n')]).toEqual([false, expect.stringMatching(words)]);
  });

  it('gives a score per folder, every failure, the errata, and the count last', async () => {
    const rule = JSON.stringify(blocking);
    const of = (id: string, verdict: string): string =>
      `- {id: ${id}, contract: ${rule}, envelope: ${JSON.stringify(bash)}, expected: {verdict: ${verdict}}}`;
    write('mixed/a/one.fixtures.yaml', `fixtures:\n${of('good', 'denied')}\n${of('bad', 'allowed')}`);
    write('mixed/b/two.yaml', `fixtures:\n${of('adv-inject-002', 'allowed')}`);
    const mixed = await run(join(folder, 'mixed'));
    expect(mixed.ok).toBe(false);
    expect(mixed.lines.slice(0, 2)).toEqual(['a: 1 passed, 1 failed', 'b: 0 passed, 1 failed']);
    expect(mixed.lines.join('\n')).toMatch(
      /FAILED bad \(a\/one\.fixtures\.yaml\)[^]*Errata, counted as failed:\n {2}adv-inject-002: .*\n\n1 passed, 2 failed$/,
    );
    // Only errata: that is the best possible result.
    expect((await run(join(folder, 'mixed/b'))).ok).toBe(true);
  });
});
