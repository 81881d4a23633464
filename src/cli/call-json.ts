/** Everything about one call, for programs, in the field names of the wire format. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { projectAudit } from '../call/audit-projection.ts';
import { auditRecordToWire } from '../call/audit-wire.ts';
import { outcomeToWire } from '../call/outcome-wire.ts';
import { withRefusals } from '../ledger/read-refusals.ts';
import { artifactsToJson } from './artifact-json.ts';
import type { CallPageFacts } from './call-page.ts';
import { callToJson, withoutUndefined } from './call-columns.ts';
import { callTimeline } from './call-timeline.ts';
import { utcTimeText } from './time-text.ts';

export function callFactsToJson({ summary, call, events, refusals }: CallPageFacts): JsonObject {
  const { confirmation, preview, settled, undone, resolution } = call;
  const time = (at: number | undefined): string | undefined =>
    at === undefined ? undefined : utcTimeText(at);
  return withoutUndefined({
    ...callToJson(summary),
    display_name: call.displayName,
    requested_input: call.requestedInput,
    effective_input: call.effectiveInput,
    input_form: call.inputForm,
    accepted_input: call.acceptedInput,
    artifacts: artifactsToJson(call.artifacts),
    request_digest: call.requestDigest,
    changes: events.flatMap((event) =>
      event.type === 'tool.decided' ? event.changes.map((change) => ({ ...change })) : [],
    ),
    grant_id: call.grantId,
    hidden: events.flatMap((event) => (event.type === 'tool.requested' ? event.hidden : [])),
    preview:
      preview &&
      fieldsToJson({
        operationId: preview.operationId,
        revision: preview.revision,
        ready: preview.ready,
        preview: preview.preview,
        snapshot: preview.snapshot,
        expiresAt: time(preview.expiresAt),
      }),
    confirmation:
      confirmation &&
      fieldsToJson({
        ...confirmation,
        askedAt: utcTimeText(confirmation.askedAt),
        expiresAt: time(confirmation.expiresAt),
        decidedAt: time(confirmation.decidedAt),
      }),
    decisions: events.flatMap((event) =>
      event.type === 'confirmation.decided'
        ? [
            fieldsToJson({
              confirmationId: event.confirmationId,
              decision: event.decision,
              by: event.by,
              reason: event.reason,
              inputDigest: event.inputDigest,
              revision: event.revision,
              editedInput: event.editedInput,
              editedDigest: event.editedDigest,
              response: event.response,
              at: utcTimeText(event.at),
            }),
          ]
        : [],
    ),
    handoff: events.flatMap((event) =>
      event.type === 'tool.reported'
        ? [
            fieldsToJson({
              type: event.what.type,
              worker: event.worker,
              identity: event.identity,
              attempt: event.attempt,
              expiresAt: event.what.type === 'claimed' ? time(event.what.expiresAt) : undefined,
              at: utcTimeText(event.at),
            }),
          ]
        : [],
    ),
    undone:
      undone &&
      fieldsToJson({
        undoCallId: undone.undoCallId,
        by: undone.by,
        reason: undone.reason,
        at: utcTimeText(undone.at),
      }),
    result: settled && outcomeToWire(settled.outcome),
    told: settled?.content,
    timeline: callTimeline(events).map((span) => fieldsToJson(span)),
    late: call.late.map(({ attempt, elapsedMs, result, at }) =>
      fieldsToJson({ attempt, elapsedMs, result, at: utcTimeText(at) }),
    ),
    records: projectAudit(withRefusals(events, refusals)).map((record) => ({
      ...auditRecordToWire(record),
      at: utcTimeText(record.at),
    })),
    resolution:
      resolution &&
      fieldsToJson({
        resolution: resolution.resolution,
        by: resolution.by,
        reason: resolution.reason,
        result: resolution.result,
        at: utcTimeText(resolution.at),
      }),
  });
}

/** Renames the fields themselves. Their values are user data and stay unchanged. */
const fieldsToJson = (fields: object): JsonObject =>
  withoutUndefined(
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value as JsonValue | undefined,
      ]),
    ),
  );
