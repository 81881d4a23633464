/** The nodes of a trace while it is built. */
import type { SessionNode, TurnNode, CallNode, AttemptNode, EventNode, TraceNode } from './trace-node.ts';

export type TraceDraft<Node extends TraceNode> = { -readonly [Name in keyof Node]: Node[Name] } & {
  children: TraceNode[];
};

export type AnyDraft =
  | TraceDraft<SessionNode>
  | TraceDraft<TurnNode>
  | TraceDraft<CallNode>
  | TraceDraft<AttemptNode>
  | TraceDraft<EventNode>;

export const newAttempt = (attempt: number, at: number): TraceDraft<AttemptNode> => ({
  kind: 'attempt',
  at,
  endedAt: undefined,
  attempt,
  outcome: undefined,
  code: undefined,
  final: false,
  children: [],
});
