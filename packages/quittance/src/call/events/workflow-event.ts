import type { JsonObject } from '../../base/json.ts';
import type { Identity } from '../identity.ts';
import type { EventOf } from './event-of.ts';

/** The state of a session in a workflow. Each event carries the whole state, so the last one is the state. */
export type WorkflowEvent = WorkflowAdvanced | WorkflowUpdated | WorkflowCompleted;

type WorkflowEventOf<Type extends string, Data> = EventOf<
  Type,
  {
    workflow: string;
    /** The version in its document. */
    workflowVersion: string | undefined;
    /** The whole state after this event. Stored form. */
    state: JsonObject;
  } & Data
>;

/** A session reached another stage of a workflow. */
export type WorkflowAdvanced = WorkflowEventOf<'workflow.advanced', { stageId: string; toStageId: string }>;

/** The state of a session in a workflow has changed. */
export type WorkflowUpdated = WorkflowEventOf<
  'workflow.updated',
  {
    why: WorkflowUpdate;
    by: string | undefined;
    /** How the person who changed or approved it was identified. Absent: not recorded, or no person did. */
    identity?: Identity;
  }
>;

/**
 * Evidence of a call; an approval; a call that was stopped or paused, or one that fits again; a move by the
 * host.
 */
export type WorkflowUpdate = 'evidence' | 'approval' | 'stopped' | 'resumed' | 'reset' | 'stage_set';

/** A session has completed a workflow. */
export type WorkflowCompleted = WorkflowEventOf<'workflow.completed', { stageId: string }>;
