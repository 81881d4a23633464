/** The messages between the processes of the chaos run and their parent. */
import type { ToolOutcome } from 'quittance';

export type Errand = {
  readonly ledger: string;
  /** Unique among all processes of the run, including dead ones. */
  readonly name: string;
  readonly seed: number;
  /** Files the process appends to: the answers to its callers, and the effects of its tools. */
  readonly told: string;
  readonly effects: string;
};

/** Orders to a process. `jump`: sets its clock ahead or back. */
export type Order =
  | { readonly type: 'fill' | 'free' | 'protect' | 'release' | 'starve' | 'feed' | 'close' }
  | { readonly type: 'jump'; readonly byMs: number };

export type Said =
  | { readonly type: 'ready'; readonly ownerId: string }
  /** An error that is not one of ours reached a caller. */
  | { readonly type: 'bare'; readonly where: string; readonly error: string };

/** A line of the file of answers. */
export type ToldLine = { readonly sessionId: string; readonly callId: string; readonly outcome: ToolOutcome };

/** Tools that may run more than once: `put` is idempotent, `get_it` only reads. */
export const mayRunAgain = (toolName: string): boolean => toolName === 'put' || toolName === 'get_it';
