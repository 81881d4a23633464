/** What the processes of the chaos run and the one that disturbs them say to each other. */
import type { ToolOutcome } from 'quittance';

export type Errand = {
  readonly ledger: string;
  /** Unlike every other process of the run, also those that are dead. */
  readonly name: string;
  readonly seed: number;
  /** Files the process appends to: what its callers were told, and the effects of its tools. */
  readonly told: string;
  readonly effects: string;
};

/** What a process is told to do. `jump`: sets its clock ahead or back. */
export type Order =
  | { readonly type: 'fill' | 'free' | 'protect' | 'release' | 'starve' | 'feed' | 'close' }
  | { readonly type: 'jump'; readonly byMs: number };

export type Said =
  | { readonly type: 'ready'; readonly ownerId: string }
  /** An error that is not one of ours reached a caller. */
  | { readonly type: 'bare'; readonly where: string; readonly error: string };

/** A line of the file of what was told. */
export type ToldLine = { readonly sessionId: string; readonly callId: string; readonly outcome: ToolOutcome };

/** Tools whose bodies may run more than once: `put` is idempotent, `get_it` only reads. */
export const mayRunAgain = (toolName: string): boolean => toolName === 'put' || toolName === 'get_it';
