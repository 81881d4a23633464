/** The nodes of a trace while it is built. */
import type { SessionNode, TurnNode, CallNode, AttemptNode, EventNode, TraceNode } from './trace-node.ts';

export type Draft<Node extends TraceNode> = { -readonly [Name in keyof Node]: Node[Name] } & {
  children: TraceNode[];
};

export type AnyDraft =
  Draft<SessionNode> | Draft<TurnNode> | Draft<CallNode> | Draft<AttemptNode> | Draft<EventNode>;

export const newAttempt = (attempt: number, at: number): Draft<AttemptNode> => ({
  kind: 'attempt',
  at,
  endedAt: undefined,
  attempt,
  outcome: undefined,
  code: undefined,
  final: false,
  children: [],
});
