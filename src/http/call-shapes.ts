/** Shapes of what many routes answer with: a call, its outcome, its events. */
import { auditKinds } from '../call/audit.ts';
import type { ToolAuditRecord } from '../call/audit.ts';
import type { Call, CallStatus } from '../call/call.ts';
import type { ContentPart } from '../call/model-content.ts';
import type { DenialReason, ToolOutcome } from '../call/outcome.ts';
import { denialReasons, outcomeTypes } from '../call/outcome.ts';
import type { CallSummary } from '../ledger/call-query.ts';
import type { LargeCallRef } from './api/confirmation.ts';
import type { TraceNode } from '../ledger/trace.ts';
import type { ReadEvent } from '../ledger/unknown-event.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import { toolModeTreatments } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { Provenance } from '../call/event.ts';
import type { CallAnswer, CallDetail, RelatedCall } from './api/call.ts';
import type { Shape } from './shape.ts';
import {
  anyObject,
  choice,
  decimal,
  flag,
  integer,
  list,
  maybe,
  moment,
  object,
  oneOf,
  only,
  open,
  text,
} from './shape.ts';

export const modeShape: Shape<ToolMode> = choice(toolModeTreatments);
export const modeOriginShape: Shape<ToolModeOrigin> = choice({
  declared: true,
  inferred: true,
  default: true,
});
export const outcomeTypeShape: Shape<ToolOutcome['type']> = choice(outcomeTypes);
export const denialReasonShape: Shape<DenialReason> = choice(denialReasons);
export const callStatusShape: Shape<CallStatus> = choice({
  requested: true,
  held: true,
  approved: true,
  running: true,
  settled: true,
});
export const auditKindShape: Shape<keyof typeof auditKinds> = choice(auditKinds);

/** On whose behalf; the runtime looks at it field by field. */
export const principalShape: Shape<Principal> = open('Principal', 'On whose behalf a call is made.', {
  userId: maybe(text()),
  serviceId: maybe(text()),
  orgId: maybe(text()),
  role: maybe(text()),
  ticketRef: maybe(text()),
  claims: maybe(anyObject()),
});
export const provenanceShape: Shape<Provenance> = object<Provenance>(
  { provider: maybe(text()), model: maybe(text()) },
  'Provenance',
);

export const outcomeShape: Shape<ToolOutcome> = open(
  'ToolOutcome',
  'How a call ended: one of five, told apart by `type`. See the page on outcomes.',
  { type: outcomeTypeShape, callId: text(), toolName: text() },
);

export const eventShape: Shape<ReadEvent> = open(
  'Event',
  'What was appended to the ledger, in its kept form. `type` tells events apart; unknown ones are carried.',
  { id: text(), type: text(), sessionId: text(), at: decimal() },
);

export const auditRecordShape: Shape<ToolAuditRecord> = open(
  'ToolAuditRecord',
  'One lifecycle fact of a call.',
  {
    recordId: text(),
    sessionId: text(),
    callId: text(),
    toolName: text(),
    at: decimal(),
  },
);

export const traceNodeShape: Shape<TraceNode> = open('TraceNode', 'What brought about what.', {
  kind: choice({ session: true, turn: true, call: true, attempt: true, event: true }),
  at: decimal(),
});

export const callShape: Shape<Call> = open('Call', 'What the events of a call fold to.', {
  sessionId: text(),
  turnId: text(),
  callId: text(),
  toolName: text(),
  mode: modeShape,
  status: callStatusShape,
  attempt: integer(),
  requestedAt: decimal(),
});

export const contentPartShape: Shape<ContentPart> = open(
  'ContentPart',
  'A part of what the model was told.',
  {},
);

export const callSummaryShape: Shape<CallSummary> = object<CallSummary>(
  {
    sessionId: text(),
    callId: text(),
    turnId: text(),
    toolName: text(),
    mode: modeShape,
    modeOrigin: modeOriginShape,
    status: callStatusShape,
    outcome: maybe(outcomeTypeShape),
    reason: maybe(denialReasonShape),
    code: maybe(text()),
    message: maybe(text()),
    inputDigest: maybe(text()),
    attempts: integer(),
    unresolved: flag(),
    requestedAt: moment(),
    settledAt: maybe(moment()),
    elapsedMs: maybe(decimal()),
    costMicros: integer(),
    userId: maybe(text()),
  },
  'CallSummary',
);

export const relatedCallShape: Shape<RelatedCall> = object<RelatedCall>(
  {
    how: choice({ caused_by: true, copied_from: true, undone_by: true, undoes: true, duplicate_of: true }),
    sessionId: text(),
    callId: text(),
  },
  'RelatedCall',
);

export const callDetailShape: Shape<CallDetail> = object<CallDetail>(
  {
    call: callShape,
    version: integer(),
    summary: callSummaryShape,
    events: list(eventShape),
    audit: list(auditRecordShape),
    trace: list(traceNodeShape),
    content: maybe(list(contentPartShape)),
    related: list(relatedCallShape),
    equivalents: object<CallDetail['equivalents']>({ cli: text(), curl: text() }),
  },
  'CallDetail',
);

type Answer<Decision extends CallAnswer['decision']> = Extract<CallAnswer, { readonly decision: Decision }>;

const ref = { sessionId: text(), callId: text(), toolName: text() } as const;
const told = { ...ref, outcome: outcomeShape, content: text(), isError: flag() } as const;

export const callAnswerShape: Shape<CallAnswer> = oneOf<CallAnswer>(
  [
    object<Answer<'allow'>>(
      {
        decision: only('allow'),
        ...ref,
        arguments: anyObject(),
        token: text(),
        attempt: integer(),
        idempotencyKey: text(),
        deadlineMs: moment(),
        expiresAt: moment(),
      },
      'CallAllowed',
    ),
    object<Answer<'deny'>>({ decision: only('deny'), ...told }, 'CallDenied'),
    object<Answer<'settled'>>({ decision: only('settled'), ...told }, 'CallSettled'),
    object<Answer<'held'>>(
      {
        decision: only('held'),
        ...ref,
        confirmationId: text(),
        description: text(),
        inputDigest: text(),
        expiresAt: maybe(moment()),
      },
      'CallHeld',
    ),
    object<Answer<'running'>>({ decision: only('running'), ...ref, worker: maybe(text()) }, 'CallRunning'),
  ],
  'CallAnswer',
);

export const largeCallShape: Shape<LargeCallRef> = object<LargeCallRef>(
  { sessionId: text(), callId: text(), bytes: integer() },
  'LargeCallRef',
);
