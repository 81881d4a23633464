/** What the adapter bench needs from a framework: its loop, with the same tool, plain or governed. */
import type { PlainTool, Script, StageOptions } from '../suite/harness.ts';

/** Runs the agent once. The scripted model measures the time: from the first round to the last. */
export type RunOnce = (script: Script, sessionId: string) => Promise<unknown>;

export type Lane = {
  readonly name: string;
  /** Does a run start a separate program, so that only few runs are possible? */
  readonly isSlow?: boolean;
  /** Makes the agent. Without options it runs without Quittance. */
  start(tool: PlainTool, options: StageOptions | undefined): Promise<RunOnce>;
};
