/** Everything about one call, for programs: in the spelling of files and wires. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { projectAudit } from '../call/audit-projection.ts';
import { auditRecordToWire, outcomeToWire } from '../call/wire.ts';
import type { CallFacts } from './call-page.ts';
import { callToJson, withoutUndefined } from './call-table.ts';
import { timelineOf } from './call-timeline.ts';
import { utcTime } from './time-text.ts';

export function callFactsToJson({ summary, call, events }: CallFacts): JsonObject {
  const { confirmation, settled, resolution } = call;
  return withoutUndefined({
    ...callToJson(summary),
    display_name: call.displayName,
    requested_input: call.requestedInput,
    effective_input: call.effectiveInput,
    request_digest: call.requestDigest,
    changes: events.flatMap((event) =>
      event.type === 'tool.decided' ? event.changes.map((change) => ({ ...change })) : [],
    ),
    grant_id: call.grantId,
    hidden: events.flatMap((event) => (event.type === 'tool.requested' ? event.hidden : [])),
    confirmation: confirmation && fieldsToJson({ ...confirmation, askedAt: utcTime(confirmation.askedAt) }),
    result: settled && outcomeToWire(settled.outcome),
    told: settled?.content,
    timeline: timelineOf(events).map((span) => fieldsToJson(span)),
    late: call.late.map(({ attempt, elapsedMs, result, at }) =>
      fieldsToJson({ attempt, elapsedMs, result, at: utcTime(at) }),
    ),
    records: projectAudit(events).map((record) => ({ ...auditRecordToWire(record), at: utcTime(record.at) })),
    resolution:
      resolution &&
      fieldsToJson({
        resolution: resolution.resolution,
        by: resolution.by,
        reason: resolution.reason,
        result: resolution.result,
        at: utcTime(resolution.at),
      }),
  });
}

/** Its own fields respelled; what they hold is somebody's data and stays as it is. */
const fieldsToJson = (fields: object): JsonObject =>
  withoutUndefined(
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value as JsonValue | undefined,
      ]),
    ),
  );
