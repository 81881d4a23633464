import type { Call } from '../call/call.ts';
import { acceptedInputOf, isUnresolved } from '../call/call.ts';
import type { CallEvent, ConfirmationDecision, ToolPreviewed, ToolRequested } from '../call/event.ts';
import { foldCall } from '../call/evolve.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { missingOf } from '../call/quorum.ts';
import { classifyTool } from '../tool/mode.ts';
import type {
  DisplayStatus,
  ShownAttempt,
  ShownConfirmation,
  ShownPreview,
  ToolCallView,
} from './tool-call-view.ts';
import { toolCallKey } from './tool-call-view.ts';
import { outcomeWord } from './outcome-words.ts';

/** Builds the view of a call from its events, in any order and with duplicates. Needs at least one event. */
export function viewToolCall(known: readonly [CallEvent, ...CallEvent[]]): ToolCallView {
  const events = orderEvents(known);
  const [first = known[0]] = events;
  const request = first.type === 'tool.requested' ? first : undefined;
  const call = foldCall(events, request === undefined ? foldCall([unseenRequest(events, first)]) : undefined);
  if (call === undefined) throw new TypeError('A call has at least one event.');
  return {
    key: toolCallKey(call.sessionId, call.callId),
    sessionId: call.sessionId,
    callId: call.callId,
    toolName: call.toolName,
    displayName: call.displayName,
    status: statusOf(call),
    mode: call.mode,
    modeOrigin: call.modeOrigin,
    ...(call.risk !== undefined && { risk: call.risk }),
    principal: call.principal,
    requestedInput: request?.requestedInput,
    input: call.effectiveInput ?? request?.requestedInput,
    inputForm: call.inputForm,
    acceptedInput:
      request === undefined && call.acceptedInput === undefined ? undefined : acceptedInputOf(call),
    artifacts: artifactsOf(call),
    hidden: call.hidden,
    wasCoerced: call.wasCoerced,
    wasEdited: call.wasEdited,
    preview: previewOf(call, events),
    comparison: comparisonOf(call),
    confirmation: confirmationOf(call, events, request !== undefined),
    attempts: attemptsOf(events),
    nextAttemptAt: call.settled === undefined ? call.retry?.notBefore : undefined,
    decidedBy: call.decidedBy,
    grantId: call.grantId,
    outcome: call.settled?.outcome,
    unresolved: isUnresolved(call),
    resolution: call.resolution,
    late: call.late,
    undo: undoOf(call),
    undone: call.undone,
    reached: [...new Set(events.flatMap((event) => (event.type === 'tool.responded' ? event.reached : [])))],
    log: events.flatMap((event) => (event.type === 'tool.responded' ? event.log : [])),
    requestedAt: request?.at,
    startedAt: events.find(({ type }) => type === 'tool.started')?.at,
    settledAt: call.settled?.at,
    events,
  };
}

/** Servers of earlier versions do not send artifacts. */
const artifactsOf = (call: Partial<Pick<Call, 'artifacts'>>): Call['artifacts'] => call.artifacts ?? [];

/**
 * Stands in for a request that the page missed because it connected later. The mode is inferred from the name; without
 * a name it is the default mode.
 */
function unseenRequest(events: readonly CallEvent[], first: CallEvent): ToolRequested {
  const responded = events.find((event) => event.type === 'tool.responded');
  const toolName = responded?.outcome.toolName ?? '';
  const { mode, origin } = classifyTool(toolName);
  return {
    id: '',
    type: 'tool.requested',
    sessionId: first.sessionId,
    turnId: first.turnId,
    callId: first.callId,
    at: first.at,
    cause: undefined,
    toolName,
    displayName: toolName,
    mode,
    modeOrigin: origin,
    requestedInput: null,
    hidden: [],
    requestDigest: '',
    principal: undefined,
    provenance: undefined,
    attrs: undefined,
    submitted: false,
    schemaDigest: undefined,
    traceparent: undefined,
  };
}

function statusOf({ undone, settled, status }: Call): DisplayStatus {
  if (undone !== undefined) return 'undone';
  if (settled !== undefined) return statusOfOutcome(settled.outcome);
  switch (status) {
    case 'held':
    case 'running':
      return status;
    case 'requested':
    // The body starts only after its intent is stored. Until then an approved call counts as requested.
    case 'approved':
      return 'requested';
  }
}

/** Display status for an outcome. */
export const statusOfOutcome = (outcome: ToolOutcome): DisplayStatus => outcomeWord(outcome);

/** While a question is open, the revision it asks about; otherwise the latest revision for the current arguments. */
/** A safe write shows what it changes, even if no person was asked. */
export function comparisonOf(call: Call): ToolCallView['comparison'] {
  if (call.preview !== undefined || call.confirmation !== undefined) return undefined;
  return call.comparison ?? (call.mode === 'safe_write' && call.attempt > 0 ? 'none' : undefined);
}

function previewOf(call: Call, events: readonly CallEvent[]): ShownPreview | undefined {
  const { confirmation, inputDigest } = call;
  const shown = confirmation?.status === 'pending' ? previewAskedAbout(call, events) : call.preview;
  if (shown === undefined || (inputDigest !== undefined && shown.inputDigest !== inputDigest))
    return undefined;
  const { revision, ready, preview, snapshot, expiresAt } = shown;
  return { revision, ready, preview, snapshot, expiresAt };
}

const previewAskedAbout = ({ confirmation }: Call, events: readonly CallEvent[]): ToolPreviewed | undefined =>
  events.findLast(
    (event): event is ToolPreviewed =>
      event.type === 'tool.previewed' &&
      event.revision === confirmation?.revision &&
      event.inputDigest === confirmation.inputDigest,
  );

const everyAnswer: readonly ConfirmationDecision[] = ['approve', 'deny', 'edit', 'respond'];

function confirmationOf(
  call: Call,
  events: readonly CallEvent[],
  sawRequest: boolean,
): ShownConfirmation | undefined {
  const { confirmation, settled, inputDigest } = call;
  if (confirmation === undefined) return undefined;
  const {
    schemaDigest: _,
    askedAt: __,
    decidedAt: ___,
    judgedDigest: ____,
    remindedAt: _____,
    ...shown
  } = confirmation;
  return {
    ...shown,
    missing: shown.status === 'pending' ? missingOf(confirmation, confirmation.votes) : [],
    isOpen: shown.status === 'pending' && settled === undefined,
    isComplete:
      sawRequest &&
      inputDigest === shown.inputDigest &&
      (shown.revision === undefined || previewAskedAbout(call, events) !== undefined),
    answers: everyAnswer,
  };
}

function attemptsOf(events: readonly CallEvent[]): readonly ShownAttempt[] {
  const attempts = new Map<number, ShownAttempt>();
  for (const event of events) {
    if (event.type !== 'tool.started' && event.type !== 'tool.responded') continue;
    // Attempt 0 means that the body never ran.
    if (event.attempt === 0) continue;
    const { startedAt } = attempts.get(event.attempt) ?? { startedAt: undefined };
    attempts.set(
      event.attempt,
      event.type === 'tool.started'
        ? { attempt: event.attempt, startedAt: event.at, endedAt: undefined, outcome: undefined }
        : { attempt: event.attempt, startedAt, endedAt: event.at, outcome: event.outcome },
    );
  }
  return [...attempts.values()].toSorted((one, other) => one.attempt - other.attempt);
}

function undoOf({ settled, undone, copiedFrom }: Call): ToolCallView['undo'] {
  const outcome = settled?.outcome;
  // A copy had no effect of its own: the original call is the one to undo.
  if (outcome === undefined || undone !== undefined || copiedFrom !== undefined) return undefined;
  return 'undo' in outcome ? outcome.undo : undefined;
}

/**
 * Returns the events of one call in order, without duplicates. A page that reconnects may receive events twice or out
 * of order. An event names its predecessor; if that one is present, it decides the order. Otherwise the ledger's clock
 * decides, and within a millisecond the usual order of event types.
 */
function orderEvents(events: readonly CallEvent[]): readonly CallEvent[] {
  const byId = new Map<string, CallEvent>();
  for (const event of events) if (!byId.has(event.id)) byId.set(event.id, event);
  const sorted = [...byId.values()].toSorted(
    (one, other) =>
      Number(other.type === 'tool.requested') - Number(one.type === 'tool.requested') ||
      one.at - other.at ||
      usualCourse.indexOf(one.type) - usualCourse.indexOf(other.type),
  );
  // A set keeps insertion order, so it serves as both result and visited marks.
  const ordered = new Set<CallEvent>();
  for (const event of sorted) {
    const chain = new Set<CallEvent>();
    for (
      let next: CallEvent | undefined = event;
      next !== undefined && !ordered.has(next) && !chain.has(next);
      next = next.cause === undefined ? undefined : byId.get(next.cause)
    )
      chain.add(next);
    for (const each of [...chain].toReversed()) ordered.add(each);
  }
  return [...ordered];
}

const usualCourse: readonly CallEvent['type'][] = [
  'tool.requested',
  'tool.decided',
  'tool.previewed',
  'tool.held',
  'confirmation.voted',
  'confirmation.reminded',
  'confirmation.decided',
  'confirmation.expired',
  'confirmation.withdrawn',
  'tool.taken_over',
  'tool.started',
  'tool.reported',
  'runtime.budget_exhausted',
  'tool.responded',
  'retry.requested',
  'persistence.failed',
  'tool.late',
  'tool.recalled',
  'tool.resolved',
  'tool.undone',
];
