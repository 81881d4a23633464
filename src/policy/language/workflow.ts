/** An order of calls: stages with what may be called in them, and what must be true to enter and leave. */
import type { Glob } from '../regex/glob.ts';
import type { LinearRegex } from '../regex/linear-regex.ts';

export type Workflow = {
  readonly name: string;
  readonly description: string | undefined;
  readonly version: string | undefined;
  /** At least one, with ids of their own. Only the last may be terminal. */
  readonly stages: readonly Stage[];
  /** sha256 of the bytes it was read from. */
  readonly stamp: string;
};

export type Stage = {
  readonly id: string;
  readonly description: string | undefined;
  readonly entry: readonly StageGate[];
  readonly exit: readonly StageGate[];
  /** Empty means any tool, on a terminal stage none. */
  readonly tools: readonly Glob[];
  readonly checks: readonly StageCheck[];
  readonly approvalMessage: string | undefined;
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
  /** Of the stage it stands in, where no id is given. */
  | { readonly type: 'approval'; readonly stageId: string | undefined }
  | { readonly type: 'command_matches' | 'command_not_matches'; readonly regex: LinearRegex }
  | {
      readonly type: 'mcp_result_matches';
      readonly tool: string;
      readonly field: string;
      readonly value: string;
    }
  | { readonly type: 'exec'; readonly command: string; readonly exitCode: number };

/** A stage that takes no call itself: there is something to be shown or approved, and then the next one begins. */
export const isBoundary = (stage: Stage): boolean =>
  !stage.terminal && stage.tools.length === 0 && stage.checks.length === 0 && mustBeLeft(stage);

/** Whether leaving the stage takes more than a call that belongs to the next. */
export const mustBeLeft = (stage: Stage): boolean =>
  stage.exit.length > 0 || stage.approvalMessage !== undefined;

/** Where a stage stands; -1 where there is no such stage. */
export const stageIndex = (workflow: Workflow, stageId: string): number =>
  workflow.stages.findIndex(({ id }) => id === stageId);
