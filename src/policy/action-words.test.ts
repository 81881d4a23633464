import { expect, test } from 'vitest';
import { releaseStages, workflowOf } from '../../test/sample-workflow.ts';
import type { PolicyStep } from './action-words.ts';
import { toActionWords } from './action-words.ts';
import { parseWorkflowState } from './workflow-state.ts';

const session = { sessionId: 's' };

test.each<readonly [string, PolicyStep, readonly string[]]>([
  ['an allowed call', { ...session, type: 'tool.decided', decision: 'allow' }, ['call_allowed']],
  ['a denied call', { ...session, type: 'tool.decided', decision: 'deny' }, ['call_blocked']],
  [
    'a call that only an observing rule would have blocked',
    { ...session, type: 'tool.decided', decision: 'allow', wouldBlock: true },
    ['call_would_block', 'call_allowed'],
  ],
  ['a wish for a person', { ...session, type: 'tool.decided', decision: 'ask' }, []],
  ['a held call', { ...session, type: 'tool.held' }, ['call_asked']],
  [
    'an approval',
    { ...session, type: 'confirmation.decided', decision: 'approve' },
    ['call_approval_granted'],
  ],
  ['a rejection', { ...session, type: 'confirmation.decided', decision: 'deny' }, ['call_approval_denied']],
  ['a wait that ran out', { ...session, type: 'confirmation.expired' }, ['call_approval_timeout']],
  ['a success', { ...session, type: 'tool.responded', attempt: 1, toolSuccess: true }, ['call_executed']],
  ['a failure', { ...session, type: 'tool.responded', attempt: 2, toolSuccess: false }, ['call_failed']],
  [
    'an end nobody could judge',
    { ...session, type: 'tool.responded', attempt: 1, toolSuccess: undefined },
    ['call_failed'],
  ],
  ['a call that never ran', { ...session, type: 'tool.responded', attempt: 0, toolSuccess: undefined }, []],
  ['a change by hand', { ...session, type: 'workflow.updated' }, ['workflow_state_updated']],
  ['the end of a workflow', { ...session, type: 'workflow.completed', stageId: 'x' }, ['workflow_completed']],
])('%s has its words', (_, step, words) => {
  expect(toActionWords([step]).map(({ action }) => action)).toEqual(words);
});

test('a word carries its session, the session it came from and where the workflow stands', () => {
  const workflow = workflowOf(...releaseStages);
  const state = parseWorkflowState(workflow, {
    active_stage: 'review',
    completed_stages: ['study', 'change', 'check'],
    pending_approval: { required: true, stage_id: 'review', message: 'Look' },
  });
  const snapshot = { name: workflow.name, version: workflow.version, state };
  expect(
    toActionWords([
      {
        ...session,
        parentSessionId: 'p',
        workflow: snapshot,
        type: 'workflow.advanced',
        stageId: 'check',
        toStageId: 'review',
      },
      { ...session, workflow: { ...snapshot, version: undefined }, type: 'tool.held' },
    ]),
  ).toEqual([
    {
      action: 'workflow_stage_advanced',
      session_id: 's',
      parent_session_id: 'p',
      workflow: {
        name: 'sample',
        version: '7',
        stage_id: 'check',
        to_stage_id: 'review',
        active_stage: 'review',
        completed_stages: ['study', 'change', 'check'],
        blocked_reason: null,
        pending_approval: { required: true, stage_id: 'review', message: 'Look' },
        last_blocked_action: null,
        last_recorded_evidence: null,
      },
    },
    {
      action: 'call_asked',
      session_id: 's',
      workflow: expect.not.objectContaining({ version: expect.anything(), stage_id: expect.anything() }),
    },
  ]);
});
