import { describe, expect, test, vi } from 'vitest';
import { releaseStages, workflowOf } from '../../../../../test/sample-workflow.ts';
import type { JsonObject } from '../../base/json.ts';
import type { WorkflowRuling } from './evaluate-workflow.ts';
import { evaluateWorkflow } from './evaluate-workflow.ts';
import type { WorkflowHost } from './first-shut-gate.ts';
import { approveStage } from './set-workflow-stage.ts';
import type { Workflow } from '../language/workflow.ts';
import { evidenceSources } from './evidence-sources.ts';
import { parseWorkflowState } from './workflow-state.ts';

const host: WorkflowHost = { evidence: evidenceSources() };
const release = workflowOf(...releaseStages);

type Situation = {
  readonly workflow?: Workflow;
  readonly host?: WorkflowHost;
  /** The stored state, as on the wire. */
  readonly state?: JsonObject;
};

/** Rules on one call, synchronously. */
function rule(toolName: string, input: JsonObject, situation: Situation = {}): WorkflowRuling {
  const workflow = situation.workflow ?? release;
  const state = parseWorkflowState(workflow, situation.state ?? {});
  const ruling = evaluateWorkflow(workflow, state, { toolName, input }, situation.host ?? host);
  if ('then' in ruling) throw new Error('Nothing here has to wait.');
  return ruling;
}
const bash = (command: string, situation?: Situation): WorkflowRuling => rule('Bash', { command }, situation);

const atCheck = {
  active_stage: 'check',
  completed_stages: ['study', 'change'],
  evidence: { reads: ['docs/plan.md'], stage_calls: {} },
};
const checked = { ...atCheck, evidence: { ...atCheck.evidence, stage_calls: { check: ['make test'] } } };
const atPush = {
  ...checked,
  active_stage: 'push',
  completed_stages: ['study', 'change', 'check', 'review'],
  approvals: { review: 'approved' },
};

describe('in its stage', () => {
  test('a matching call is allowed and moves nothing', () => {
    const state = parseWorkflowState(release, {});
    const ruling = evaluateWorkflow(release, state, { toolName: 'Read', input: {} }, host);
    expect(ruling).toEqual({
      decision: 'allow',
      message: undefined,
      stageId: 'study',
      state,
      advances: [],
    });
    expect('state' in ruling && ruling.state).toBe(state);
  });

  test('a call that no stage accepts is blocked, and the message lists what the stage accepts', () => {
    const ruling = rule('Deploy', {});
    expect(ruling).toMatchObject({
      decision: 'block',
      message: 'Tool "Deploy" is not allowed in this workflow stage, "study": it accepts Read, Grep.',
      state: { activeStage: 'study', blockedReason: 'Tool is not allowed in this workflow stage' },
    });
    expect(ruling.state.lastBlockedAction).toEqual({
      tool: 'Deploy',
      summary: 'Deploy',
      message: ruling.message,
    });
    const about = rule('Deploy', { filePath: '', path: 'site/index.html' });
    expect(about.state.lastBlockedAction).toMatchObject({ tool: 'Deploy', summary: 'site/index.html' });
  });

  test('checks apply to commands only, so a tool that runs none passes them', () => {
    expect(rule('Read', { path: 'x' }, { state: atCheck }).decision).toBe('allow');
  });

  test('the first failing check gives the message', () => {
    expect(bash('git push origin main', { state: atPush }).message).toBe('Push to a branch, never to main');
    expect(bash('ls', { state: atPush }).message).toBe('Only pushes belong in push');
    expect(bash('git push origin main\ngit push origin x', { state: atPush }).decision).toBe('block');
  });

  test.each([
    [{}],
    [{ command: ['git', 'push', 'origin', 'main'] }],
    [{ command: null }],
    [{ Command: 'x' }],
  ])('a command tool whose command is not text passes no check: %j', (input) => {
    const workflow = workflowOf({ id: 'a', checks: [{ command_not_matches: 'main', message: 'm' }] });
    expect(rule('Bash', input, { workflow })).toMatchObject({
      decision: 'block',
      message: expect.stringMatching(/no command text in "command"/),
    });
  });

  test('commands that a tool declares are all checked', () => {
    const workflow = workflowOf({ id: 'a', checks: [{ command_matches: '^make', message: 'make only' }] });
    const state = parseWorkflowState(workflow, {});
    const decide = (input: JsonObject): unknown =>
      evaluateWorkflow(
        workflow,
        state,
        { toolName: 'Run', input, resources: { commands: ['jobs.*.run'] } },
        host,
      );
    expect(decide({ jobs: [{ run: 'make a' }, { run: 'make b' }] })).toMatchObject({ decision: 'allow' });
    expect(decide({ jobs: [{ run: 'make a' }, { run: 'rm b' }] })).toMatchObject({ message: 'make only' });
    expect(decide({ jobs: [{ run: ['make'] }] })).toMatchObject({ decision: 'block' });
    expect(decide({})).toMatchObject({ decision: 'allow' });
  });

  test('a stage without tools accepts any tool, and globs accept what they match', () => {
    const any = workflowOf({ id: 'a', checks: [{ command_not_matches: 'rm', message: 'm' }] });
    expect(rule('Whatever', {}, { workflow: any }).decision).toBe('allow');
    const some = workflowOf({ id: 'a', tools: ['mcp__ci__*'] });
    expect(rule('mcp__ci__status', {}, { workflow: some }).decision).toBe('allow');
    expect(rule('mcp__cd__status', {}, { workflow: some }).decision).toBe('block');
    expect(rule('Bash\0evil', {}, { workflow: workflowOf({ id: 'a', tools: ['Bash'] }) }).decision).toBe(
      'block',
    );
  });
});

describe('leaving a stage with exit gates', () => {
  test('a call of a later stage is stopped by the gate', () => {
    expect(rule('Edit', {})).toMatchObject({ decision: 'block', message: 'Read the plan first' });
    expect(bash('git push origin x')).toMatchObject({ message: 'Read the plan first' });
  });

  test('a call of the next stage proceeds once the gate is open', () => {
    const ruling = rule('Edit', {}, { state: { evidence: { reads: ['docs/plan.md'] } } });
    expect(ruling).toMatchObject({
      decision: 'allow',
      stageId: 'change',
      state: { activeStage: 'change', completedStages: ['study'] },
      advances: [{ from: 'study', to: 'change' }],
    });
  });

  test('a call of a stage after the next does not, and gets the reason of its own stage', () => {
    const ruling = bash('make test', { state: { evidence: { reads: ['docs/plan.md'] } } });
    expect(ruling).toMatchObject({ decision: 'block', state: { activeStage: 'study' }, advances: [] });
    expect(ruling.message).toMatch(/"study": it accepts Read, Grep/);
  });

  test.each(['docs/plan.md', './docs/plan.md', 'docs//plan.md', './docs/./plan.md', '/repo/docs/plan.md'])(
    'a file counts under another spelling: %s',
    (path) => {
      const withDirectory = { ...host, workingDirectory: '/repo/' };
      expect(rule('Edit', {}, { state: { evidence: { reads: [path] } }, host: withDirectory }).decision).toBe(
        'allow',
      );
    },
  );

  test.each([
    'docs/plan.md\0',
    'x/../docs/plan.md',
    '/docs/plan.md',
    'docs/PLAN.md',
    '/repo2/docs/plan.md',
    '',
  ])('another file does not: %j', (path) => {
    const withDirectory = { ...host, workingDirectory: '/repo' };
    expect(rule('Edit', {}, { state: { evidence: { reads: [path] } }, host: withDirectory }).decision).toBe(
      'block',
    );
  });
});

describe('leaving a stage without exit gates', () => {
  const atChange = { active_stage: 'change', completed_stages: ['study'] };

  test('a call of the next stage proceeds', () => {
    expect(bash('make test', { state: atChange })).toMatchObject({
      decision: 'allow',
      stageId: 'check',
      state: { completedStages: ['study', 'change'] },
    });
  });

  test('a closed entry gate gives its message, and nothing moves', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Edit'] },
      {
        id: 'b',
        entry: [
          { condition: 'stage_complete("a")' },
          { condition: 'file_read("list.md")', message: 'Read the list' },
        ],
        tools: ['Bash'],
        exit: [{ condition: 'command_matches("x")' }],
      },
    );
    expect(bash('x', { workflow })).toMatchObject({
      decision: 'block',
      message: 'Read the list',
      state: { activeStage: 'a', completedStages: [] },
    });
  });

  test('a call cannot slip from one unconditional stage into another', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Bash'], checks: [{ command_not_matches: 'push', message: 'Pushes belong in b' }] },
      { id: 'b', entry: [{ condition: 'stage_complete("a")' }], tools: ['Bash'] },
    );
    expect(bash('git push', { workflow })).toMatchObject({
      decision: 'block',
      message: 'Pushes belong in b',
      state: { activeStage: 'a' },
    });
  });

  test('leaving a stage without exit gates between two such stages a closed entry gate is reported before the reason of the first', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Read'] },
      { id: 'b', entry: [{ condition: 'file_read("x")', message: 'Read x' }], tools: ['Edit'] },
    );
    expect(rule('Edit', {}, { workflow }).message).toBe('Read x');
  });
});

describe('an approval', () => {
  test('is requested at the boundary, which the workflow has then reached', () => {
    expect(bash('git push origin x', { state: checked })).toMatchObject({
      decision: 'ask',
      message: 'Look at the diff before it is pushed',
      stageId: 'review',
      state: {
        activeStage: 'review',
        completedStages: ['study', 'change', 'check'],
        pendingApproval: { stageId: 'review', message: 'Look at the diff before it is pushed' },
      },
      advances: [{ from: 'check', to: 'review' }],
    });
  });

  test('is not requested for a call that would not be accepted after it', () => {
    expect(bash('git push origin main', { state: checked })).toMatchObject({
      decision: 'block',
      message: 'Only make test runs in check',
      state: { activeStage: 'check' },
    });
    const atReview = { ...checked, active_stage: 'review' };
    expect(rule('Write', {}, { state: atReview })).toMatchObject({
      decision: 'block',
      message: expect.stringMatching(/"review": it accepts no calls itself/),
    });
  });

  test('lets the call proceed when given', () => {
    const asked = bash('git push origin x', { state: checked });
    const approved = approveStage(release, asked.state, 'review');
    const call = { toolName: 'Bash', input: { command: 'git push origin x' } };
    expect(evaluateWorkflow(release, approved, call, host)).toMatchObject({
      decision: 'allow',
      stageId: 'push',
      state: { pendingApproval: undefined, approvals: { review: 'approved' } },
      advances: [{ from: 'review', to: 'push' }],
    });
  });

  test('may be needed several times in a row', () => {
    const workflow = workflowOf(
      { id: 'a', approval: { message: 'First' } },
      { id: 'b', approval: { message: 'Second' } },
      { id: 'c', tools: ['Bash'] },
    );
    const first = bash('x', { workflow });
    expect(first).toMatchObject({ decision: 'ask', stageId: 'a', advances: [] });
    const call = { toolName: 'Bash', input: { command: 'x' } };
    const second = evaluateWorkflow(workflow, approveStage(workflow, first.state, 'a'), call, host);
    expect(second).toMatchObject({ decision: 'ask', stageId: 'b', message: 'Second' });
    if ('then' in second) throw new Error('Nothing here has to wait.');
    const third = evaluateWorkflow(workflow, approveStage(workflow, second.state, 'b'), call, host);
    expect(third).toMatchObject({ decision: 'allow', stageId: 'c', advances: [{ from: 'b', to: 'c' }] });
  });

  test('an approval of a stage that accepts calls is requested only when a call leads out of it', () => {
    const workflow = workflowOf(
      {
        id: 'a',
        tools: ['Read'],
        exit: [{ condition: 'approval()' }, { condition: 'file_read("x")', message: 'Read x' }],
        approval: { message: 'Go on?' },
      },
      { id: 'b', tools: ['Edit'] },
    );
    expect(rule('Read', {}, { workflow }).decision).toBe('allow');
    expect(rule('Edit', {}, { workflow }).message).toBe('Read x');
    const state = { evidence: { reads: ['x'] } };
    expect(rule('Edit', {}, { workflow, state })).toMatchObject({ decision: 'ask', stageId: 'a' });
  });

  test('counts for a gate elsewhere, and only as the word approved', () => {
    const workflow = workflowOf(
      { id: 'constructor', tools: ['Read'], exit: [{ condition: 'approval()', message: 'Not yet' }] },
      { id: 'b', tools: ['Edit'] },
    );
    expect(rule('Edit', {}, { workflow }).message).toBe('Not yet');
    expect(rule('Edit', {}, { workflow, state: { approvals: { constructor: 'yes' } } }).message).toBe(
      'Not yet',
    );
    expect(rule('Edit', {}, { workflow, state: { approvals: { constructor: 'approved' } } }).decision).toBe(
      'allow',
    );
  });
});

describe('the last stage', () => {
  test('a terminal stage without exit blocks every call', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Edit'] },
      { id: 'done', terminal: true, tools: ['Write'] },
    );
    for (const tool of ['Edit', 'Write', 'Read'])
      expect(rule(tool, {}, { workflow, state: { active_stage: 'done' } })).toMatchObject({
        decision: 'block',
        message: expect.stringContaining('workflow complete'),
      });
  });

  test('a call that fits no stage leads from an unconditional stage into a terminal one', () => {
    const workflow = workflowOf({ id: 'a', tools: ['Edit'] }, { id: 'done', terminal: true });
    expect(rule('Read', {}, { workflow })).toMatchObject({
      decision: 'block',
      message: expect.stringContaining('workflow complete'),
      state: { activeStage: 'done', completedStages: ['a'] },
      advances: [{ from: 'a', to: 'done' }],
    });
  });

  test('the entry gates of a terminal stage apply too', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Edit'] },
      { id: 'done', terminal: true, entry: [{ condition: 'file_read("x")', message: 'Read x' }] },
    );
    expect(rule('Read', {}, { workflow })).toMatchObject({ message: 'Read x', state: { activeStage: 'a' } });
  });

  test('a terminal stage with an exit accepts its tools until the exit is satisfied', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Edit'] },
      { id: 'end', tools: ['Bash'], exit: [{ condition: 'command_matches("^fin$")' }], terminal: true },
    );
    expect(bash('fin', { workflow })).toMatchObject({ decision: 'allow', state: { activeStage: 'end' } });
    expect(rule('Edit', {}, { workflow, state: { active_stage: 'end' } }).message).toMatch(/not allowed/);
    const state = { active_stage: 'end', evidence: { stage_calls: { end: ['fin'] } } };
    expect(bash('fin', { workflow, state }).message).toMatch(/workflow complete/);
  });

  test('a terminal stage without tools accepts none, and is not a boundary', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Edit'], exit: [{ condition: 'command_not_matches("x")' }] },
      { id: 'end', exit: [{ condition: 'file_read("x")' }], terminal: true },
    );
    expect(rule('Read', {}, { workflow, state: { active_stage: 'end' } }).message).toMatch(
      /accepts no calls itself/,
    );
    expect(rule('Deploy', {}, { workflow })).toMatchObject({
      decision: 'block',
      message: expect.stringMatching(/"a": it accepts Edit/),
    });
  });

  test('a complete workflow allows everything', () => {
    expect(rule('Anything', {}, { state: { active_stage: '' } })).toMatchObject({
      decision: 'allow',
      stageId: undefined,
    });
  });

  test('a satisfied last stage is left by a call it does not accept', () => {
    const state = { ...atPush, evidence: { stage_calls: { push: ['git push origin x'] } } };
    expect(rule('Write', {}, { state })).toMatchObject({
      decision: 'allow',
      state: { activeStage: undefined },
      advances: [{ from: 'push', to: undefined }],
    });
    expect(rule('Write', {}, { state: atPush }).message).toMatch(/"push": it accepts Bash/);
  });

  test('a boundary at the end needs approval, and then everything is allowed', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Edit'], exit: [{ condition: 'file_read("x")', message: 'Read x' }] },
      { id: 'sign-off', approval: { message: 'Done?' } },
    );
    expect(rule('Deploy', {}, { workflow }).message).toBe('Read x');
    const state = { evidence: { reads: ['x'] } };
    const asked = rule('Deploy', {}, { workflow, state });
    expect(asked).toMatchObject({ decision: 'ask', stageId: 'sign-off' });
    const approved = approveStage(workflow, asked.state, 'sign-off');
    expect(evaluateWorkflow(workflow, approved, { toolName: 'Deploy', input: {} }, host)).toMatchObject({
      decision: 'allow',
      state: { activeStage: undefined, completedStages: ['a', 'sign-off'] },
    });
  });

  test('a stage that the workflow does not have allows nothing', () => {
    expect(rule('Read', {}, { state: { active_stage: 'gone' } })).toMatchObject({
      decision: 'block',
      message: expect.stringMatching(/in the unknown stage "gone"; reset it to one of study, change/),
    });
  });
});

describe('a block that leads nowhere', () => {
  test('leaves the workflow in a stage where calls can still open the gate', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Read'], exit: [{ condition: 'file_read("x")' }] },
      { id: 'b', exit: [{ condition: 'file_read("y")', message: 'Read y' }] },
      { id: 'c', tools: ['Edit'] },
    );
    const state = { evidence: { reads: ['x'] } };
    expect(rule('Edit', {}, { workflow, state })).toMatchObject({
      decision: 'block',
      message: 'Read y',
      state: { activeStage: 'a', completedStages: [] },
      advances: [],
    });
  });

  test('twice gives the same state object', () => {
    const first = rule('Edit', {});
    const again = evaluateWorkflow(release, first.state, { toolName: 'Edit', input: {} }, host);
    expect('state' in again && again.state).toBe(first.state);
  });

  test('is forgotten once a call is allowed', () => {
    const blocked = rule('Edit', {});
    expect(evaluateWorkflow(release, blocked.state, { toolName: 'Read', input: {} }, host)).toMatchObject({
      state: { blockedReason: undefined, lastBlockedAction: undefined },
    });
  });
});

describe('gates about commands', () => {
  test('gates about commands at the exit read the commands of their own stage', () => {
    const state = { ...atCheck, evidence: { stage_calls: { study: ['make test'] } } };
    expect(bash('git push origin x', { state }).message).toBe('Let make test succeed first');
  });

  test('gates about commands at the entry, and in a boundary, read the stages before', () => {
    const workflow = workflowOf(
      { id: 'a', tools: ['Bash'], checks: [{ command_not_matches: '^ship', message: 'm' }] },
      {
        id: 'b',
        exit: [
          { condition: 'command_matches("^test")', message: 'Test first' },
          { condition: 'command_not_matches("--force")', message: 'No force' },
        ],
      },
      { id: 'c', entry: [{ condition: 'command_matches("^lint")', message: 'Lint first' }], tools: ['Bash'] },
    );
    const ship = (commands: readonly string[]): string | undefined =>
      bash('ship', { workflow, state: { evidence: { stage_calls: { a: commands } } } }).message;
    expect(ship([])).toBe('Test first');
    expect(ship(['test', 'x --force'])).toBe('No force');
    expect(ship(['test'])).toBe('Lint first');
    expect(ship(['test', 'lint'])).toBe(undefined);
  });
});

test('many boundaries are passed at once', () => {
  const boundaries = Array.from({ length: 499 }, (_, index) => ({
    id: `s${index}`,
    exit: [{ condition: 'command_not_matches("x")' }],
  }));
  const workflow = workflowOf(...boundaries, { id: 'end', tools: ['Edit'] });
  expect(rule('Edit', {}, { workflow }).advances).toHaveLength(499);
});

describe('gates about MCP results', () => {
  const workflow = workflowOf(
    { id: 'a', tools: ['mcp__ci'], exit: [{ condition: 'mcp_result_matches("mcp__ci", "state", "green")' }] },
    { id: 'b', tools: ['Edit'] },
  );
  test.each([
    [[{ state: 'red' }, { state: 'green' }], 'allow'],
    [[{ state: 'red' }], 'block'],
    [[{ state: ['green'] }], 'block'],
    [[{ inner: { state: 'green' } }], 'block'],
    [[], 'block'],
  ])('are open for a result whose field is exactly the text: %j', (results, decision) => {
    const state = { evidence: { mcp_results: { mcp__ci: results } } };
    expect(rule('Edit', {}, { workflow, state }).decision).toBe(decision);
  });
});

describe('gates that run a command', () => {
  const workflow = workflowOf(
    {
      id: 'a',
      tools: ['Read'],
      exit: [{ condition: 'exec("make ready", exit_code=2)', message: 'Not ready' }],
    },
    { id: 'b', tools: ['Edit'] },
  );
  const edit = (exec: WorkflowHost['exec']): ReturnType<typeof evaluateWorkflow> =>
    evaluateWorkflow(
      workflow,
      parseWorkflowState(workflow, {}),
      { toolName: 'Edit', input: {} },
      exec === undefined ? host : { ...host, exec },
    );

  test('are closed if the host runs no commands, and say so', () => {
    expect(rule('Edit', {}, { workflow }).message).toMatch(/^Not ready \(exec conditions are disabled/);
  });

  test('are open for the exit code they name', async () => {
    expect(edit(() => 2)).toMatchObject({ decision: 'allow' });
    await expect(edit(() => Promise.resolve(2))).resolves.toMatchObject({ decision: 'allow', stageId: 'b' });
    await expect(edit(() => Promise.resolve(0))).resolves.toMatchObject({ message: 'Not ready' });
  });

  test('are closed if the host cannot tell', async () => {
    const throwing = (): number => {
      throw new Error('no shell');
    };
    expect(edit(throwing)).toMatchObject({ decision: 'block', message: 'Not ready' });
    await expect(edit(() => Promise.reject(new Error('slow')))).resolves.toMatchObject({ decision: 'block' });
  });

  test('are not run for a matching call, nor for one that fits no stage', () => {
    const exec = vi.fn<() => number>(() => 2);
    void evaluateWorkflow(
      workflow,
      parseWorkflowState(workflow, {}),
      { toolName: 'Read', input: {} },
      { ...host, exec },
    );
    void evaluateWorkflow(
      workflow,
      parseWorkflowState(workflow, {}),
      { toolName: 'Nope', input: {} },
      { ...host, exec },
    );
    expect(exec).not.toHaveBeenCalled();
  });
});
