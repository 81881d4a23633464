/** A question to a person, as listed and shown. Inputs are in their stored form. */
import type { JsonObject } from '../../base/json.ts';
import type { Call, ConfirmationStatus } from '../../call/call.ts';
import type { ArgumentComparison, Ask, ConfirmationDecision, DecidedBy, Preview } from '../../call/event.ts';
import type { MissingSeat } from '../../call/quorum.ts';
import type { FallenVote, Vote } from '../../call/vote.ts';
import { missingOf } from '../../call/quorum.ts';
import type { CallView } from './call-view.ts';
import { viewCall } from './call-view.ts';

export type ConfirmationView = CallView & {
  readonly confirmationId: string;
  /** A decision must name it, so that it applies to this input only. */
  readonly inputDigest: string;
  readonly description: string;
  /** What asks, and why: gates, hooks, rules, stages. */
  readonly asks: readonly Ask[];
  readonly preview: PreviewView | undefined;
  /** What shows the effect of the call: the tool's preview, a comparison by the runtime, or nothing. */
  readonly previewSource: 'tool' | 'comparison' | 'none';
  /** Comparison with the last call on the same resource, if the tool has no preview. */
  readonly comparison: ArgumentComparison | undefined;
  readonly risk: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  /** What happens if no person decides in time. */
  readonly timeoutEffect: 'block' | 'allow';
  readonly status: ConfirmationStatus;
  readonly decision: ConfirmationDecision | undefined;
  readonly by: DecidedBy | undefined;
  readonly reason: string | undefined;
  readonly decidedAt: number | undefined;
  /** What each person has said, if a rule needs several. */
  readonly votes: readonly Vote[];
  /** Votes that are void, because their rights ended before the quorum was complete. */
  readonly fallen: readonly FallenVote[];
  /** What is still missing until the call may run. Empty once it is decided. */
  readonly missing: readonly MissingSeat[];
};

export type PreviewView = {
  readonly operationId: string;
  readonly revision: number;
  readonly ready: boolean;
  readonly preview: Preview;
  readonly snapshot: JsonObject;
  readonly expiresAt: number | undefined;
};

/** The current question of the call. Undefined if it has none. */
export function toConfirmationView(call: Call): ConfirmationView | undefined {
  const { confirmation } = call;
  if (confirmation === undefined) return undefined;
  // After an edit that needs more approvals, the preview is about the earlier input.
  const preview = confirmation.inputDigest === confirmation.judgedDigest ? call.preview : undefined;
  return {
    ...viewCall(call),
    confirmationId: confirmation.confirmationId,
    inputDigest: confirmation.inputDigest,
    description: confirmation.description,
    asks: confirmation.asks,
    preview:
      preview === undefined
        ? undefined
        : {
            operationId: preview.operationId,
            revision: preview.revision,
            ready: preview.ready,
            preview: preview.preview,
            snapshot: preview.snapshot,
            expiresAt: preview.expiresAt,
          },
    previewSource:
      preview !== undefined ? 'tool' : confirmation.comparison === undefined ? 'none' : 'comparison',
    comparison: preview === undefined ? confirmation.comparison : undefined,
    risk: confirmation.risk,
    createdAt: confirmation.askedAt,
    expiresAt: confirmation.expiresAt,
    timeoutEffect: confirmation.timeoutEffect,
    status: confirmation.status,
    decision: confirmation.decision,
    by: confirmation.by,
    reason: confirmation.reason,
    decidedAt: confirmation.decidedAt,
    votes: confirmation.votes,
    fallen: confirmation.fallen,
    missing: confirmation.status === 'pending' ? missingOf(confirmation, confirmation.votes) : [],
  };
}
