/** What the bench of adapters needs of a framework: its loop, with the same tool as its author made it or governed. */
import type { PlainTool, Script, StageOptions } from '../suite/harness.ts';

/** Runs the agent once. Time is taken in the script, by the model: from the first round to the last. */
export type RunOnce = (script: Script, sessionId: string) => Promise<unknown>;

export type Lane = {
  readonly name: string;
  /** Whether a run starts a program of its own, so that few of them must do. */
  readonly isSlow?: boolean;
  /** Makes the agent. Without options nothing of Quittance is in it. */
  start(tool: PlainTool, options: StageOptions | undefined): Promise<RunOnce>;
};
