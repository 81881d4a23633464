/** An order of calls: stages with what may be called in them, and what must be true to enter and leave. */
import type { LinearRegex } from './linear-regex.ts';

export type Workflow = {
  readonly name: string;
  readonly description: string | undefined;
  readonly version: string | undefined;
  readonly stages: readonly Stage[];
  /** sha256 of the bytes it was read from. */
  readonly stamp: string;
};

export type Stage = {
  readonly id: string;
  readonly description: string | undefined;
  readonly entry: readonly StageGate[];
  readonly exit: readonly StageGate[];
  /** Names or globs. Empty means any tool, on a terminal stage none. */
  readonly tools: readonly string[];
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
