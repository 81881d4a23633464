/** Everything about one call, for programs: the summary, the fields of the call as HTTP names them, and its audit records. */
import type { JsonObject } from '../base/json.ts';
import { projectAudit } from '../call/audit-projection.ts';
import type { ConfirmationDecided, ToolPreviewed, ToolReported } from '../call/event.ts';
import type { PreviewView } from '../runtime/host/confirmation-view.ts';
import { withRefusals } from '../ledger/read-refusals.ts';
import type { CallPageFacts } from './call-page.ts';
import { callToJson } from './call-columns.ts';
import { callTimeline } from './call-timeline.ts';
import { toJsonWithTimes, withoutUndefined } from './to-json.ts';

export function callFactsToJson({ summary, call, events, refusals }: CallPageFacts): JsonObject {
  const { confirmation, preview, settled, undone, resolution } = call;
  return withoutUndefined({
    ...callToJson(summary),
    displayName: call.displayName,
    requestedInput: call.requestedInput,
    effectiveInput: call.effectiveInput,
    inputForm: call.inputForm,
    acceptedInput: call.acceptedInput,
    artifacts: call.artifacts,
    requestDigest: call.requestDigest,
    changes: events.flatMap((event) => (event.type === 'tool.decided' ? event.changes : [])),
    grantId: call.grantId,
    hidden: call.hidden,
    preview: preview && toJsonWithTimes(previewFields(preview), 'expiresAt'),
    confirmation: confirmation && toJsonWithTimes(confirmation, 'askedAt', 'expiresAt', 'decidedAt'),
    decisions: events.flatMap((event) =>
      event.type === 'confirmation.decided' ? [toJsonWithTimes(decisionFields(event), 'at')] : [],
    ),
    handoff: events.flatMap((event) =>
      event.type === 'tool.reported' ? [toJsonWithTimes(handoffFields(event), 'expiresAt', 'at')] : [],
    ),
    undone: undone && toJsonWithTimes(undone, 'at'),
    settled: settled && toJsonWithTimes(settled, 'at'),
    timeline: callTimeline(events),
    late: call.late.map((late) => toJsonWithTimes(late, 'at')),
    audit: projectAudit(withRefusals(events, refusals)).map((record) => toJsonWithTimes(record, 'at')),
    resolution: resolution && toJsonWithTimes(resolution, 'at'),
  });
}

const previewFields = ({
  operationId,
  revision,
  ready,
  preview,
  snapshot,
  expiresAt,
}: ToolPreviewed): PreviewView => ({
  operationId,
  revision,
  ready,
  preview,
  snapshot,
  expiresAt,
});

type DecisionField =
  | 'confirmationId'
  | 'decision'
  | 'by'
  | 'reason'
  | 'inputDigest'
  | 'revision'
  | 'editedInput'
  | 'editedDigest'
  | 'response'
  | 'at';

const decisionFields = (event: ConfirmationDecided): Pick<ConfirmationDecided, DecisionField> => ({
  confirmationId: event.confirmationId,
  decision: event.decision,
  by: event.by,
  reason: event.reason,
  inputDigest: event.inputDigest,
  revision: event.revision,
  editedInput: event.editedInput,
  editedDigest: event.editedDigest,
  response: event.response,
  at: event.at,
});

const handoffFields = ({
  what,
  worker,
  identity,
  attempt,
  at,
}: ToolReported): { readonly [name: string]: unknown } => ({
  type: what.type,
  worker,
  identity,
  attempt,
  expiresAt: what.type === 'claimed' ? what.expiresAt : undefined,
  at,
});
