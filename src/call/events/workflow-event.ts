import type { JsonObject } from '../../base/json.ts';
import type { Identity } from '../identity.ts';
import type { EventOf } from './event-of.ts';

/** Where a session stands in an order of calls. Each carries the whole state, so that the last one is the state. */
export type WorkflowEvent = WorkflowAdvanced | WorkflowUpdated | WorkflowCompleted;

type WorkflowEventOf<Type extends string, Data> = EventOf<
  Type,
  {
    workflow: string;
    /** As its document says. */
    workflowVersion: string | undefined;
    /** The whole state after this, as it is kept. */
    state: JsonObject;
  } & Data
>;

/** A session has moved on to another stage of a workflow. */
export type WorkflowAdvanced = WorkflowEventOf<'workflow.advanced', { stageId: string; toStageId: string }>;

/** Something about where a session stands in a workflow has changed. */
export type WorkflowUpdated = WorkflowEventOf<
  'workflow.updated',
  {
    why: WorkflowUpdate;
    by: string | undefined;
    /** How the person who moved or approved it was identified. Absent: not recorded, or nobody did. */
    identity?: Identity;
  }
>;

/** Evidence of a call; an approval; a call that was stopped or paused, or one that fits again; a move by the host. */
export type WorkflowUpdate = 'evidence' | 'approval' | 'stopped' | 'resumed' | 'reset' | 'stage_set';

/** A session is through with a workflow. */
export type WorkflowCompleted = WorkflowEventOf<'workflow.completed', { stageId: string }>;
