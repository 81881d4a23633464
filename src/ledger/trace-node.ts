/** The nodes of a trace. */
import type { ToolOutcome } from '../call/outcome.ts';

/** Start and end in milliseconds since 1970, and the nodes it caused. */
interface Spanning {
  readonly at: number;
  /** Undefined if it has not ended, or is a moment. */
  readonly endedAt: number | undefined;
  readonly children: readonly TraceNode[];
}

export interface SessionNode extends Spanning {
  readonly kind: 'session';
  readonly sessionId: string;
  readonly parentSessionId: string | undefined;
}

export interface TurnNode extends Spanning {
  readonly kind: 'turn';
  readonly turnId: string;
  readonly sessionId: string;
  /** Why it ended. */
  readonly why: string | undefined;
}

export interface CallNode extends Spanning {
  readonly kind: 'call';
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly outcome: ToolOutcome['type'] | undefined;
  readonly code: string | undefined;
  /** The event that caused it; `known` is false if there is no such event before it. */
  readonly cause: { readonly eventId: string; readonly known: boolean } | undefined;
}

export interface AttemptNode extends Spanning {
  readonly kind: 'attempt';
  readonly attempt: number;
  readonly outcome: ToolOutcome['type'] | undefined;
  readonly code: string | undefined;
  /** False if another attempt followed, or the call has no end. */
  readonly final: boolean;
}

/** A short description of one event. */
export interface EventNode extends Spanning {
  readonly kind: 'event';
  readonly eventId: string;
  readonly type: string;
  readonly note: string;
  /** Does this version know the type? */
  readonly known: boolean;
}

export type TraceNode = SessionNode | TurnNode | CallNode | AttemptNode | EventNode;
