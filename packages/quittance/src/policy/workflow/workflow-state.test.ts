import fc from 'fast-check';
import { expect, test } from 'vitest';
import { releaseStages, workflowOf } from '../../../../../test/sample-workflow.ts';
import type { JsonValue } from '../../base/json.ts';
import type { WorkflowState } from './workflow-state.ts';
import { initialState, isApproved, parseWorkflowState, toWire } from './workflow-state.ts';

const workflow = workflowOf(...releaseStages);

test('a new workflow is in its first stage, without evidence', () => {
  expect(toWire(initialState(workflow))).toEqual({
    active_stage: 'study',
    completed_stages: [],
    approvals: {},
    evidence: { reads: [], stage_calls: {}, mcp_results: {} },
    blocked_reason: null,
    pending_approval: { required: false },
    last_blocked_action: null,
    last_recorded_evidence: null,
  });
});

const names = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString'));
const record = <Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<{ readonly [key: string]: Value }> =>
  fc.array(fc.tuple(names, values)).map((entries) => Object.fromEntries(entries));
const noted = fc.record(
  { tool: names, summary: fc.string(), timestamp: fc.string() },
  { requiredKeys: ['tool', 'summary'] },
);
const states: fc.Arbitrary<WorkflowState> = fc.record({
  activeStage: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
  completedStages: fc.array(fc.string()),
  approvals: record(fc.string()),
  evidence: fc.record({
    reads: fc.array(fc.string()),
    stageCalls: record(fc.array(fc.string())),
    mcpResults: record(fc.array(record(fc.string()))),
  }),
  blockedReason: fc.option(fc.string(), { nil: undefined }),
  pendingApproval: fc.option(fc.record({ stageId: fc.string(), message: fc.string() }), { nil: undefined }),
  lastBlockedAction: fc.option(
    fc.tuple(noted, fc.string()).map(([note, message]) => ({ ...note, message })),
    { nil: undefined },
  ),
  lastRecordedEvidence: fc.option(noted, { nil: undefined }),
});

test('a written state is read back', () => {
  fc.assert(
    fc.property(states, (state) => {
      // Via text, as in a ledger.
      const wire = JSON.parse(JSON.stringify(toWire(state))) as JsonValue;
      expect(toWire(parseWorkflowState(workflow, wire))).toEqual(wire);
    }),
  );
});

test('any other input is read without throwing, and only an empty stage means complete', () => {
  const keys = Object.keys(toWire(initialState(workflow)));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.jsonValue(),
        fc.dictionary(fc.constantFrom(...keys), fc.jsonValue()).filter((wire) => wire['active_stage'] !== ''),
      ),
      (wire) => {
        // fast-check's JSON is JSON.
        const state = parseWorkflowState(workflow, wire as JsonValue);
        expect(state.activeStage).not.toBe(undefined);
        expect(isApproved(state, 'review')).toBe(false);
      },
    ),
  );
});

test('a stage is approved by its own entry only', () => {
  expect(isApproved(initialState(workflow), 'constructor')).toBe(false);
});
