/** An order of calls: stages with the calls they allow, and the conditions to enter and leave them. */
import type { ApprovalPolicy } from '../../call/approval-policy.ts';
import type { Glob } from '../regex/glob.ts';
import type { LinearRegex } from '../regex/linear-regex.ts';

export type Workflow = {
  readonly name: string;
  readonly description: string | undefined;
  readonly version: string | undefined;
  /** At least one, with unique ids. Only the last may be terminal. */
  readonly stages: readonly Stage[];
  /** sha256 of the bytes it was read from. */
  readonly stamp: string;
};

export type Stage = {
  readonly id: string;
  readonly description: string | undefined;
  readonly entry: readonly StageGate[];
  readonly exit: readonly StageGate[];
  /** Empty means any tool; on a terminal stage, no tool. */
  readonly tools: readonly Glob[];
  readonly checks: readonly StageCheck[];
  readonly approvalMessage: string | undefined;
  /** Who must approve the stage. Absent: any one person. Extends the public language. */
  readonly approval?: ApprovalPolicy;
  readonly terminal: boolean;
};

export type StageGate = { readonly condition: StageCondition; readonly message: string };
export type StageCheck = {
  readonly type: 'command_matches' | 'command_not_matches';
  readonly regex: LinearRegex;
  readonly message: string;
};

export type StageCondition =
  | { readonly type: 'stage_complete'; readonly stageId: string }
  | { readonly type: 'file_read'; readonly path: string }
  /** Without an id: the stage that contains the condition. */
  | { readonly type: 'approval'; readonly stageId: string | undefined }
  | { readonly type: 'command_matches' | 'command_not_matches'; readonly regex: LinearRegex }
  | {
      readonly type: 'mcp_result_matches';
      readonly tool: string;
      readonly field: string;
      readonly value: string;
    }
  | { readonly type: 'exec'; readonly command: string; readonly exitCode: number };

/** A stage that accepts no call itself: it needs evidence or an approval, and then the next stage begins. */
export const isBoundary = (stage: Stage): boolean =>
  !stage.terminal && stage.tools.length === 0 && stage.checks.length === 0 && mustBeLeft(stage);

/** Does leaving the stage take more than a call that belongs to the next one? */
export const mustBeLeft = (stage: Stage): boolean =>
  stage.exit.length > 0 || stage.approvalMessage !== undefined;

/** Index of a stage; -1 if there is no such stage. */
export const stageIndex = (workflow: Workflow, stageId: string): number =>
  workflow.stages.findIndex(({ id }) => id === stageId);
