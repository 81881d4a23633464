/**
 * Writes an entry in its permanent form. One text is hashed into the chain of its session. The bodies are separate and
 * may be erased without breaking the chain. Neither contains sealed data.
 */
import type { CounterTotal } from '../../claims.ts';
import type { Entry, Move } from '../../journal.ts';
import type { ReadEvent } from '../../unknown-event.ts';
import { bodiesDigest } from '../../chain.ts';
import type { JsonObject } from '../../../base/json.ts';
import type {
  CallEvent,
  ToolDecided,
  ToolRequested,
  ToolResponded,
  ToolStarted,
} from '../../../call/event.ts';
import type { ToolExecutionResult } from '../../../call/outcome.ts';
import type { EncodedEvent, Holder, Previous } from './event-table.ts';
import { encodeEvent, rename, eventTable, outcomeFields } from './event-table.ts';

/** An entry to write. Its events may have been read from a newer ledger. */
type WritableEntry = Omit<Entry, 'events'> & {
  readonly events: readonly ReadEvent[];
  /** Totals of the counters after this entry. A store that computes them while it appends uses `addTotals`. */
  readonly totals?: readonly CounterTotal[] | undefined;
};

export type WrittenEntry = {
  /** Hashed into the chain. JSON without anything that a person may have a right to have erased. */
  readonly text: string;
  /** A JSON array with the body of each event; undefined if no event has one. */
  readonly bodies: string | undefined;
  /** Protects the bodies in the digest within the text. Erased with them. */
  readonly salt: string | undefined;
};

/**
 * An entry in its permanent form without the digest of its bodies. `finishEntry` adds the digest, in any thread: it
 * takes as long as the rest. Each part is written at once, because the parts of a joined text are garbage.
 */
export type DraftEntry = {
  /** JSON of the members before the bodies. */
  readonly head: string;
  /** JSON of the events, without their bodies. */
  readonly events: string;
  readonly bodies: string | undefined;
  readonly salt: string | undefined;
};

/** `random` returns a new text of at least 16 random bytes, as base64url. */
export function draftEntry(entry: WritableEntry, ownerId: string, random: () => string): DraftEntry {
  const texts: object[] = [];
  let bodies = '[';
  let hasBodies = false;
  let previous: ReadEvent | undefined;
  for (const event of entry.events) {
    const { text, body } = encodeCommonEvent(event, entry, previous);
    texts.push(text);
    bodies += previous === undefined ? body : `,${body}`;
    previous = event;
    hasBodies ||= body !== 'null';
  }
  return {
    head: headOf(entry, ownerId),
    events: JSON.stringify(texts),
    bodies: hasBodies ? `${bodies}]` : undefined,
    salt: hasBodies ? random() : undefined,
  };
}

/** `digestOf`: computes the digest of bodies. */
export function finishEntry(
  { head, events, bodies, salt }: DraftEntry,
  digestOf: (salt: string, bodies: string) => string = bodiesDigest,
): WrittenEntry {
  const digest = salt === undefined || bodies === undefined ? 'null' : `"${digestOf(salt, bodies)}"`;
  return { text: `${head.slice(0, -1)},"bodies":${digest},"events":${events}}`, bodies, salt };
}

/** `random` returns a new text of at least 16 random bytes, as base64url. */
export const writeEntry = (entry: WritableEntry, ownerId: string, random: () => string): WrittenEntry =>
  finishEntry(draftEntry(entry, ownerId, random));

function headOf(entry: WritableEntry, ownerId: string): string {
  const { claim, moves, depth, totals } = entry;
  return JSON.stringify({
    v: 1,
    entry: entry.entryId,
    session: entry.sessionId,
    call: entry.callId ?? null,
    version: entry.expectedVersion,
    owner: ownerId,
    claim: claim && toClaim(claim),
    release: entry.releaseClaim,
    reserve: entry.reserve,
    settle: entry.settle,
    moves: moves?.map(toMove),
    depth: depth !== undefined && depth > 0 ? depth : undefined,
    totals: totals === undefined || totals.length === 0 ? undefined : totals.map(toTotal),
  });
}

/**
 * Adds the totals of its counters to the text of an entry. Quotes inside a JSON text are escaped, so the first
 * `,"bodies":` is the member of that name.
 */
export function addTotals(text: string, totals: readonly CounterTotal[]): string {
  if (totals.length === 0) return text;
  const at = text.indexOf(',"bodies":');
  return text.slice(0, at) + totalsText(totals) + text.slice(at);
}

const totalsText = (totals: readonly CounterTotal[]): string =>
  `,"totals":${JSON.stringify(totals.map(toTotal))}`;

const toTotal = ({ counter, used, reserved }: CounterTotal): CounterTotal => ({ counter, used, reserved });

const toMove = ({ subject, expectedVersion }: Move): object => ({ subject, version: expectedVersion });

const toClaim = ({ key, inputDigest, supersedes }: NonNullable<Entry['claim']>): object => ({
  key,
  input_digest: inputDigest,
  supersedes: supersedes && { session: supersedes.sessionId, call: supersedes.callId },
});

/**
 * Encodes the events that every call has, faster than `encodeEvent` and with exactly the same result. A test compares the
 * two.
 */
export function encodeCommonEvent(event: ReadEvent, holder: Holder, previous?: Previous): EncodedEvent {
  if ('unknownFields' in event || 'data' in event || event.sessionId !== holder.sessionId)
    return encodeEvent(event, holder, previous);
  if (!('callId' in event) || event.callId !== holder.callId) return encodeEvent(event, holder, previous);
  if (event.type === 'tool.requested' && event.budgets === undefined) return encodeRequested(event, previous);
  if (event.type === 'tool.decided' && isPlainRuling(event)) return encodeDecided(event, previous);
  if (event.type === 'tool.started') return encodeStarted(event, previous);
  if (event.type === 'tool.responded' && event.outcome.type === 'ToolExecutionResult')
    if (event.outcome.callId === event.callId && event.rules.length === 0)
      return encodeResult(event, event.outcome, previous);
  return encodeEvent(event, holder, previous);
}

/** Members that are undefined are not written. */
const write = (value: unknown): string => JSON.stringify(value);

function encodeRequested(event: ToolRequested, previous: Previous | undefined): EncodedEvent {
  return {
    text: {
      id: event.id,
      type: event.type,
      turn: newTurn(event, previous),
      at: newTime(event, previous),
      cause: newCause(event, previous),
      tool_name: event.toolName,
      display_name: event.displayName === event.toolName ? undefined : event.displayName,
      mode: event.mode,
      mode_origin: event.modeOrigin,
      risk: event.risk,
      hidden: unlessEmpty(event.hidden),
      request_digest: event.requestDigest,
      provenance: event.provenance,
      submitted: event.submitted || undefined,
      schema_digest: event.schemaDigest,
      traceparent: event.traceparent,
      asked_by: event.askedBy,
      separate_duties: event.separateDuties,
      hidden_ids: event.hiddenIds,
      turn_deadline_ms: event.turnDeadlineMs,
    },
    body: write({
      requested_input: event.requestedInput,
      principal:
        event.principal === undefined ? undefined : rename(event.principal as JsonObject, principalNames),
      attrs: event.attrs,
    }),
  };
}

const isPlainRuling = ({ rules, artifacts, comparison }: ToolDecided): boolean =>
  rules.length === 0 && artifacts.length === 0 && comparison === undefined;

function encodeDecided(event: ToolDecided, previous: Previous | undefined): EncodedEvent {
  const { effectiveInput, acceptedInput } = event;
  return {
    text: {
      id: event.id,
      type: event.type,
      turn: newTurn(event, previous),
      at: newTime(event, previous),
      cause: newCause(event, previous),
      decision: event.decision,
      gates: event.gates.length === 0 ? undefined : rename(event.gates, gateNames),
      decided_by: event.decidedBy,
      policy_version: event.policyVersion,
      input_digest: event.inputDigest,
      input_form: event.inputForm,
      changes: unlessEmpty(event.changes),
      grant_id: event.grantId,
      side_effect: event.sideEffect,
    },
    body:
      effectiveInput === undefined && acceptedInput === undefined
        ? 'null'
        : write({ effective_input: effectiveInput, accepted_input: acceptedInput }),
  };
}

function encodeStarted(event: ToolStarted, previous: Previous | undefined): EncodedEvent {
  return {
    text: {
      id: event.id,
      type: event.type,
      turn: newTurn(event, previous),
      at: newTime(event, previous),
      cause: newCause(event, previous),
      attempt: event.attempt,
      idempotency_key: event.idempotencyKey,
      deadline_ms: event.deadlineMs,
      may_rerun: event.mayRerun,
      handoff: event.handoff || undefined,
      stages: event.stages.length === 0 ? undefined : rename(event.stages, stageNames),
      reserved: unlessEmpty(event.reserved),
    },
    body: 'null',
  };
}

/** The output is most of a call's stored data: it is written once, and is the content. */
function encodeResult(
  event: ToolResponded,
  outcome: ToolExecutionResult,
  previous: Previous | undefined,
): EncodedEvent {
  const text = {
    id: event.id,
    type: event.type,
    turn: newTurn(event, previous),
    at: newTime(event, previous),
    cause: newCause(event, previous),
    attempt: event.attempt,
    final: event.final,
    outcome: {
      type: outcome.type,
      tool_name: outcome.toolName,
      elapsed_ms: outcome.elapsedMs,
      was_coerced: outcome.wasCoerced,
      undo: outcome.undo,
    },
    tool_success: event.toolSuccess,
    error: event.error && { reason: event.error.reason },
    cost_micros: event.costMicros === 0 ? undefined : event.costMicros,
    unsettled_effect: event.unsettledEffect || undefined,
  };
  const output = write(outcome.output);
  let body = `{"outcome":{"output":${output}`;
  if (outcome.files !== undefined) body += `,"files":${write(rename(outcome.files, fileNames))}`;
  if (outcome.toolResult !== undefined) body += `,"tool_result":${write(outcome.toolResult as JsonObject)}`;
  if (outcome.modelNote !== undefined) body += `,"model_note":${write(outcome.modelNote)}`;
  body += '}';
  if (event.content !== output) body += `,"content":${write(event.content)}`;
  if (event.error !== undefined) body += `,"error":${write({ message: event.error.message })}`;
  if (event.payloadExtras !== undefined) body += `,"payload_extras":${write(event.payloadExtras)}`;
  if (event.reached.length > 0) body += `,"reached":${write(event.reached)}`;
  if (event.log.length > 0) body += `,"log":${write(event.log as readonly JsonObject[])}`;
  return { text, body: `${body}}` };
}

/** The fields of an event that are written only if they differ from the event before it in the entry. */
const newTurn = ({ turnId }: CallEvent, previous: Previous | undefined): string | undefined =>
  turnId === previous?.turnId ? undefined : turnId;
const newTime = ({ at }: CallEvent, previous: Previous | undefined): number | undefined =>
  at === previous?.at ? undefined : at;
const newCause = ({ cause }: CallEvent, previous: Previous | undefined): string | null | undefined =>
  cause === previous?.id ? undefined : (cause ?? null);

const unlessEmpty = <Item>(list: readonly Item[]): readonly Item[] | undefined =>
  list.length === 0 ? undefined : list;

const principalNames = eventTable['tool.requested'].principal.inside;
const stageNames = eventTable['tool.started'].stages.inside;
const gateNames = eventTable['tool.decided'].gates.inside;
const fileNames = outcomeFields.files.inside;
