import { describe, expect, test } from 'vitest';
import { releaseStages, workflowOf } from '../../../../../test/sample-workflow.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { EvidenceRecord } from './record-evidence.ts';
import { recordEvidence } from './record-evidence.ts';
import type { WorkflowHost } from './first-shut-gate.ts';
import type { Workflow } from '../language/workflow.ts';
import type { ToolEvidence } from './evidence-sources.ts';
import { evidenceSources } from './evidence-sources.ts';
import type { WorkflowState } from './workflow-state.ts';
import { initialState, parseWorkflowState } from './workflow-state.ts';

const release = workflowOf(...releaseStages);

/** Records one success in the active stage, synchronously. */
function record(
  toolName: string,
  input: JsonObject,
  {
    workflow = release,
    state = initialState(workflow),
    output = 'done',
    success = true,
    sources,
    stageId = state.activeStage,
    at,
  }: {
    readonly workflow?: Workflow;
    readonly state?: WorkflowState;
    readonly output?: JsonValue;
    readonly success?: boolean;
    readonly sources?: Readonly<Record<string, ToolEvidence>>;
    readonly stageId?: string | undefined;
    readonly at?: number;
  } = {},
): EvidenceRecord {
  const host: WorkflowHost = { evidence: evidenceSources(sources) };
  const call = { toolName, input, ...(at === undefined ? {} : { at }) };
  const recording = recordEvidence(workflow, state, call, { success, output }, host, stageId);
  if ('then' in recording) throw new Error('Nothing here has to wait.');
  return recording;
}

describe('a read', () => {
  test.each(['file_path', 'filePath', 'path'])('is recorded under the name in %s', (key) => {
    expect(record('Read', { [key]: './a.md' }).state).toMatchObject({
      evidence: { reads: ['./a.md'], stageCalls: {}, mcpResults: {} },
      lastRecordedEvidence: { tool: 'Read', summary: './a.md' },
    });
  });

  test('is recorded once, in the order of first reads', () => {
    const first = record('Read', { path: 'a' }).state;
    const second = record('Read', { path: 'b' }, { state: first }).state;
    expect(record('Read', { path: 'a' }, { state: second }).state.evidence.reads).toEqual(['a', 'b']);
  });

  test.each([
    [{ file_path: 'plan.md', path: 'other.md' }],
    [{ path: ['plan.md'] }],
    [{ path: '' }],
    [{}],
    [JSON.parse('{"__proto__": {"path": "plan.md"}}') as JsonObject],
  ])('a read that does not identify one file gives no evidence: %j', (input) => {
    const state = initialState(release);
    expect(record('Read', input, { state }).state).toBe(state);
  });

  test('a read of another tool counts if the host says so', () => {
    const sources = { 'fs_*': { reads: ['target'] }, fs_stat: {} };
    expect(record('fs_cat', { target: 'a' }, { sources }).state.evidence.reads).toEqual(['a']);
    expect(record('fs_stat', { target: 'a' }, { sources }).state.evidence.reads).toEqual([]);
    expect(record('Read', { path: 'a' }, { sources: { Read: {} } }).state.evidence.reads).toEqual([]);
  });
});

describe('a command', () => {
  test('is recorded for the stage that allowed it, every time', () => {
    const state = parseWorkflowState(release, {
      active_stage: 'check',
      completed_stages: ['study', 'change'],
    });
    const once = record('Bash', { command: 'make test' }, { state, at: 0 }).state;
    expect(once.lastRecordedEvidence).toEqual({
      tool: 'Bash',
      summary: 'make test',
      timestamp: '1970-01-01T00:00:00.000Z',
    });
    const twice = record('Bash', { command: 'make test' }, { state: once }).state;
    expect(twice.evidence.stageCalls).toEqual({ check: ['make test', 'make test'] });
  });

  test('a command of a stage that was left meanwhile is recorded there', () => {
    const state = parseWorkflowState(release, { active_stage: 'push' });
    expect(record('Bash', { command: 'x' }, { state, stageId: 'check' }).state.evidence.stageCalls).toEqual({
      check: ['x'],
    });
  });

  test('a command of a stage that was reset meanwhile no longer counts', () => {
    const state = parseWorkflowState(release, { active_stage: 'change' });
    expect(record('Bash', { command: 'make test' }, { state, stageId: 'check' }).state).toBe(state);
  });

  test('a command that repeats is recorded a bounded number of times, while a new one always is', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `echo ${index}`);
    const state = parseWorkflowState(release, {
      active_stage: 'check',
      evidence: { stage_calls: { check: many } },
    });
    const again = record('Bash', { command: 'echo 7' }, { state }).state;
    expect(again.evidence.stageCalls['check']).toHaveLength(1000);
    const fresh = record('Bash', { command: 'git push origin main' }, { state }).state;
    expect(fresh.evidence.stageCalls['check']).toHaveLength(1001);
  });
});

describe('a result of an MCP server', () => {
  const results = (
    toolName: string,
    output: JsonValue,
    sources?: Readonly<Record<string, ToolEvidence>>,
  ): unknown =>
    record(toolName, {}, { output, ...(sources === undefined ? {} : { sources }) }).state.evidence.mcpResults;

  test('is recorded by tool, as it was given', () => {
    expect(results('mcp__ci', { state: 'green', n: 1 })).toEqual({ mcp__ci: [{ state: 'green', n: 1 }] });
  });

  test('is its structured content if it comes in an envelope', () => {
    const output = { content: [{ type: 'text', text: '…' }], structuredContent: { state: 'green' } };
    expect(results('mcp__ci', output)).toEqual({ mcp__ci: [{ state: 'green' }] });
  });

  test('is not an envelope without content', () => {
    const output = { structuredContent: { state: 'green' } };
    expect(results('mcp__ci', output)).toEqual({ mcp__ci: [output] });
  });

  test('a result of an MCP server without fields is not recorded, nor are results of other tools', () => {
    expect(results('mcp__ci', 'fine')).toEqual({});
    expect(results('mcp__ci', [{ state: 'green' }])).toEqual({});
    expect(results('ci', { state: 'green' })).toEqual({});
  });

  test('is recorded or not as the host says', () => {
    expect(results('ci', { a: 1 }, { ci: { results: true } })).toEqual({ ci: [{ a: 1 }] });
    expect(results('mcp__ci', { a: 1 }, { mcp__ci: { results: false } })).toEqual({});
    const odd = results('__proto__', { a: 1 }, { '*': { results: true } });
    expect(Object.entries(odd as JsonObject)).toEqual([['__proto__', [{ a: 1 }]]]);
  });
});

describe('nothing is recorded', () => {
  test('nothing is recorded for a call that failed', () => {
    const state = initialState(release);
    expect(record('Read', { path: 'docs/plan.md' }, { state, success: false })).toEqual({
      state,
      completed: undefined,
    });
  });

  test('once the workflow is complete', () => {
    const state = parseWorkflowState(release, { active_stage: '' });
    expect(record('Read', { path: 'x' }, { state }).state).toBe(state);
  });
});

describe('the last stage', () => {
  const atPush = parseWorkflowState(release, {
    active_stage: 'push',
    completed_stages: ['study', 'change', 'check', 'review'],
  });

  test('completes the workflow with the evidence it waited for', () => {
    expect(record('Bash', { command: 'git push origin x' }, { state: atPush })).toMatchObject({
      state: {
        activeStage: undefined,
        completedStages: ['study', 'change', 'check', 'review', 'push'],
        evidence: { stageCalls: { push: ['git push origin x'] } },
      },
      completed: 'push',
    });
  });

  test('stays if it waits for more, waits for nothing, or is terminal', () => {
    expect(record('Bash', { command: 'git fetch' }, { state: atPush }).completed).toBe(undefined);
    for (const stage of [
      { id: 'a', tools: ['Bash'] },
      { id: 'a', exit: [{ condition: 'command_matches("x")' }], terminal: true },
      { id: 'a', exit: [{ condition: 'command_matches("x")' }], approval: { message: 'm' } },
    ])
      expect(record('Bash', { command: 'x' }, { workflow: workflowOf(stage) })).toMatchObject({
        state: { activeStage: 'a', completedStages: [] },
        completed: undefined,
      });
  });
});
