import { describe, expect, test } from 'vitest';
import { releaseStages, workflowOf } from '../../../../../test/sample-workflow.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type { PolicyStep } from './action-words.ts';
import { eventsToActionWords, toActionWords } from './action-words.ts';
import { parseWorkflowState } from '../workflow/workflow-state.ts';

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
    'an unknown end',
    { ...session, type: 'tool.responded', attempt: 1, toolSuccess: undefined },
    ['call_failed'],
  ],
  ['a call that never ran', { ...session, type: 'tool.responded', attempt: 0, toolSuccess: undefined }, []],
  ['a change by hand', { ...session, type: 'workflow.updated' }, ['workflow_state_updated']],
  ['the end of a workflow', { ...session, type: 'workflow.completed', stageId: 'x' }, ['workflow_completed']],
])('%s has its own words', (_, step, words) => {
  expect(toActionWords([step]).map(({ action }) => action)).toEqual(words);
});

test('a word carries its session, the parent session and the stage of the workflow', () => {
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

describe('events in words', () => {
  /** Made as readers find them: of unknown type, with the fields that the projection reads. */
  const event = (type: string, more: object = {}): QuittanceEvent =>
    ({ id: type, type, sessionId: 's', turnId: 't', at: 0, cause: undefined, callId: 'c', ...more }) as never;
  const flow = (type: string, active_stage: string, more: object = {}): QuittanceEvent =>
    event(type, {
      workflow: 'w',
      workflowVersion: '2',
      state: { active_stage, completed_stages: [] },
      ...more,
    });

  test("carry the stage that the session's workflow had then, and the parent session", () => {
    const records = eventsToActionWords([
      event('turn.opened', { parentSessionId: 'p' }),
      event('tool.decided', { decision: 'allow', rules: [] }),
      flow('workflow.updated', 'one'),
      event('tool.requested'),
      event('tool.decided', { decision: 'ask', rules: [] }),
      event('tool.held'),
      event('confirmation.decided', { decision: 'approve' }),
      flow('workflow.advanced', 'two', { stageId: 'one', toStageId: 'two' }),
      event('tool.started'),
      event('tool.responded', { attempt: 1, final: false, toolSuccess: false }),
      event('tool.responded', { attempt: 2, final: true, toolSuccess: true }),
      event('tool.decided', { decision: 'deny', rules: [], sessionId: 'other' }),
    ]);
    expect(
      records.map(
        ({ action, session_id, parent_session_id, workflow }) =>
          `${action} ${session_id} ${parent_session_id ?? '-'} ${(workflow?.['active_stage'] ?? '-') as string}`,
      ),
    ).toEqual([
      'call_allowed s p -',
      'workflow_state_updated s p one',
      'call_asked s p one',
      'call_approval_granted s p one',
      'workflow_stage_advanced s p two',
      'call_executed s p two',
      'call_blocked other - -',
    ]);
  });

  test('report what an observing rule would have blocked, and skip unknown events', () => {
    const rules = [{ ruleId: 'r', action: 'block', message: 'm', observed: true }];
    const records = eventsToActionWords([
      event('tool.decided', { decision: 'allow', rules }),
      event('tool.decided', { decision: 'allow', rules: [{ ...rules[0], action: 'ask' }] }),
      event('weather.changed'),
    ]);
    expect(records.map(({ action }) => action)).toEqual(['call_would_block', 'call_allowed', 'call_allowed']);
  });
});
