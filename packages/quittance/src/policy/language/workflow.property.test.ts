import fc from 'fast-check';
import { expect, test } from 'vitest';
import { workflowOf } from '../../../../../test/sample-workflow.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { WorkflowRuling } from '../workflow/evaluate-workflow.ts';
import { evaluateWorkflow } from '../workflow/evaluate-workflow.ts';
import { approveStage, resetWorkflow } from '../workflow/set-workflow-stage.ts';
import { recordEvidence } from '../workflow/record-evidence.ts';
import type { Stage, StageCondition, Workflow } from './workflow.ts';
import { evidenceSources } from '../workflow/evidence-sources.ts';
import type { WorkflowState } from '../workflow/workflow-state.ts';
import { initialState, toWire } from '../workflow/workflow-state.ts';

const host = { evidence: evidenceSources() };
const tools = ['Read', 'Edit', 'Bash', 'mcp__ci'];
const paths = ['a.md', 'b.md'];
const commands = ['test', 'push x', 'push main'];

const stageIds = ['s0', 's1', 's2', 's3', 's4'];
const conditions = (known: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(...known).map((id) => `stage_complete("${id}")`),
    fc.constantFrom(...known).map((id) => `approval("${id}")`),
    fc.constantFrom(...paths).map((path) => `file_read("${path}")`),
    fc.constantFrom('^test$', '^push').map((pattern) => `command_matches("${pattern}")`),
    fc.constantFrom('main', '^test$').map((pattern) => `command_not_matches("${pattern}")`),
    fc.constantFrom('green', 'red').map((value) => `mcp_result_matches("mcp__ci", "state", "${value}")`),
  );

const stages = (known: readonly string[], id: string, isLast: boolean): fc.Arbitrary<JsonObject> => {
  const gates = fc.array(
    conditions(known).map((condition) => ({ condition })),
    { maxLength: 2 },
  );
  return fc
    .record({
      tools: fc.subarray(tools),
      entry: gates,
      exit: gates,
      checks: fc.subarray([
        { command_matches: '^test$', message: 'Only test' },
        { command_not_matches: 'main$', message: 'Not main' },
      ]),
      isApproved: fc.boolean(),
      terminal: fc.boolean(),
    })
    .map(({ isApproved, terminal, ...stage }) => {
      const wholly = isLast || stage.tools.length + stage.exit.length + stage.checks.length > 0;
      return {
        ...stage,
        id,
        ...(isApproved || !wholly ? { approval: { message: 'Approve' } } : {}),
        ...(isLast ? { terminal } : {}),
      };
    });
};
const workflows: fc.Arbitrary<Workflow> = fc
  .integer({ min: 1, max: stageIds.length })
  .chain((count) => {
    const known = stageIds.slice(0, count);
    return fc.tuple(...known.map((id, index) => stages(known, id, index === count - 1)));
  })
  .map((documents) => workflowOf(...documents));

type Step = {
  readonly toolName: string;
  readonly input: { readonly path: string; readonly command: string };
  readonly output: JsonValue;
  readonly success: boolean;
  readonly approves: boolean;
};
const steps: fc.Arbitrary<Step> = fc.record({
  toolName: fc.constantFrom(...tools, 'Other'),
  input: fc.record({ path: fc.constantFrom(...paths), command: fc.constantFrom(...commands) }),
  output: fc.constantFrom<JsonValue>({ state: 'green' }, { state: 'red' }, 'ok'),
  success: fc.boolean(),
  approves: fc.boolean(),
});

type Watch = (before: WorkflowState, ruling: WorkflowRuling, step: Step) => void;

/** Makes the calls in sequence: asks, approves if the step says so, records what was allowed. */
function run(workflow: Workflow, from: WorkflowState, calls: readonly Step[], watch?: Watch): WorkflowState {
  let state = from;
  for (const step of calls)
    for (;;) {
      const ruling = now(evaluateWorkflow(workflow, state, step, host));
      watch?.(state, ruling, step);
      ({ state } = ruling);
      if (ruling.decision === 'ask' && step.approves && ruling.stageId !== undefined) {
        state = approveStage(workflow, state, ruling.stageId);
        continue;
      }
      if (ruling.decision === 'allow')
        ({ state } = now(recordEvidence(workflow, state, step, step, host, ruling.stageId)));
      break;
    }
  return state;
}

function now<Value extends object>(value: Value | PromiseLike<Value>): Value {
  if ('then' in value) throw new Error('Nothing here has to wait.');
  return value;
}

/** The conditions again, written as plainly as possible. */
function holds(
  condition: StageCondition,
  workflow: Workflow,
  stage: Stage,
  state: WorkflowState,
  isEntry: boolean,
): boolean {
  const { reads, stageCalls, mcpResults } = state.evidence;
  const index = workflow.stages.indexOf(stage);
  const isEmpty = stage.tools.length === 0 && stage.checks.length === 0;
  const counted =
    isEntry || isEmpty
      ? workflow.stages.slice(0, index + 1).flatMap(({ id }) => stageCalls[id] ?? [])
      : (stageCalls[stage.id] ?? []);
  switch (condition.type) {
    case 'stage_complete':
      return state.completedStages.includes(condition.stageId);
    case 'approval':
      return state.approvals[condition.stageId ?? stage.id] === 'approved';
    case 'file_read':
      return reads.includes(condition.path);
    case 'command_matches':
      return counted.some((command) => new RegExp(condition.regex.source).test(command));
    case 'command_not_matches':
      return counted.every((command) => !new RegExp(condition.regex.source).test(command));
    case 'mcp_result_matches':
      return (mcpResults[condition.tool] ?? []).some((result) => result[condition.field] === condition.value);
    case 'exec':
      return false;
  }
}

/** The tools and commands of a stage again. */
function takes(stage: Stage, { toolName, input: { command } }: Step): boolean {
  if (stage.tools.length > 0 && !stage.tools.some(({ pattern }) => pattern === toolName)) return false;
  if (toolName !== 'Bash') return true;
  return stage.checks.every(
    ({ type, regex }) => new RegExp(regex.source).test(command) === (type === 'command_matches'),
  );
}

test('no stage is entered or left while a gate or an approval prevents it', () => {
  fc.assert(
    fc.property(workflows, fc.array(steps, { maxLength: 25 }), (workflow, calls) => {
      run(workflow, initialState(workflow), calls, (before, ruling) => {
        const completed = [...before.completedStages];
        for (const { from, to } of ruling.advances) {
          const left = workflow.stages.find(({ id }) => id === from);
          const entered = workflow.stages.find(({ id }) => id === to);
          if (left === undefined) throw new Error('It left a stage it does not have.');
          const leaving = { ...before, completedStages: completed };
          expect(left.exit.every(({ condition }) => holds(condition, workflow, left, leaving, false))).toBe(
            true,
          );
          expect(left.approvalMessage === undefined || before.approvals[from] === 'approved').toBe(true);
          completed.push(from);
          const entering = { ...before, completedStages: completed };
          expect(workflow.stages.indexOf(left) + 1).toBe(
            entered === undefined ? workflow.stages.length : workflow.stages.indexOf(entered),
          );
          expect(
            entered?.entry.every(({ condition }) => holds(condition, workflow, entered, entering, true)) ??
              true,
          ).toBe(true);
        }
      });
    }),
    { numRuns: 300 },
  );
});

test('a call is allowed only by a stage that accepts it, or after the last stage', () => {
  fc.assert(
    fc.property(workflows, fc.array(steps, { maxLength: 25 }), (workflow, calls) => {
      run(workflow, initialState(workflow), calls, (_, ruling, step) => {
        if (ruling.decision !== 'allow') return;
        const stage = workflow.stages.find(({ id }) => id === ruling.state.activeStage);
        expect(stage === undefined ? ruling.state.activeStage === undefined : takes(stage, step)).toBe(true);
        expect(ruling.stageId).toBe(stage?.id);
      });
    }),
    { numRuns: 300 },
  );
});

test('deciding modifies no input, loses no evidence, and is repeatable', () => {
  fc.assert(
    fc.property(workflows, fc.array(steps, { maxLength: 25 }), (workflow, calls) => {
      let seen = initialState(workflow).evidence;
      run(workflow, initialState(workflow), calls, (before, ruling, step) => {
        const copy = structuredClone(before);
        expect(evaluateWorkflow(workflow, before, step, host)).toEqual(ruling);
        expect(before).toEqual(copy);
        expect(ruling.state.evidence).toBe(before.evidence);
        expect(before.evidence.reads).toEqual(expect.arrayContaining([...seen.reads]));
        for (const [id, list] of Object.entries(seen.stageCalls))
          expect(before.evidence.stageCalls[id]?.slice(0, list.length)).toEqual(list);
        for (const [tool, list] of Object.entries(seen.mcpResults))
          expect(before.evidence.mcpResults[tool]?.slice(0, list.length)).toEqual(list);
        seen = before.evidence;
      });
    }),
    { numRuns: 200 },
  );
});

test('a workflow that was reset to its first stage proceeds like a new one', () => {
  fc.assert(
    fc.property(
      workflows,
      fc.array(steps, { maxLength: 15 }),
      fc.array(steps, { maxLength: 15 }),
      (workflow, earlier, calls) => {
        const fresh = initialState(workflow);
        const used = resetWorkflow(workflow, run(workflow, fresh, earlier), stageIds[0] ?? '');
        const verdicts = (from: WorkflowState): unknown => {
          const heard: unknown[] = [];
          const {
            last_recorded_evidence: _,
            pending_approval: __,
            ...end
          } = toWire(
            run(workflow, from, calls, (___, { decision, message, stageId }) =>
              heard.push({ decision, message, stageId }),
            ),
          );
          return { heard, end };
        };
        expect(verdicts(used)).toEqual(verdicts(fresh));
      },
    ),
    { numRuns: 200 },
  );
});
