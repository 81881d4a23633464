/**
 * Reads a call that took the usual course (requested, allowed, started, succeeded) from the texts of its entries.
 * The read tables need few of its fields, and decoding all of them takes several times as long. Every other call is
 * decoded and folded; a test compares the two.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { readJsonText } from '../base/json-text.ts';
import { toShownArguments } from './shown-arguments.ts';
import type { SessionTally } from './session-tally.ts';
import { countEvent } from './session-tally.ts';

/** A stored entry. `bodies` may be any text without `"principal"` if the stored text has no such word either. */
export type PlainRow = {
  readonly text: unknown;
  readonly bodies: string | null;
  readonly call: string | null;
  readonly version: number | null;
};

export type PlainStatus = 'requested' | 'running' | 'settled';

/** A call as far as its entries were read. The names of its fields are those of the columns. */
export type PlainCall<Row extends PlainRow> = {
  readonly rows: Row[];
  readonly sessionId: string;
  readonly turnId: string;
  readonly toolName: string;
  readonly mode: string;
  readonly modeOrigin: string;
  readonly requestedAt: number;
  readonly userId: string | undefined;
  /** The arguments in short form. */
  args: JsonObject | undefined;
  output: JsonValue | undefined;
  status: PlainStatus;
  inputDigest: string | undefined;
  attempts: number;
  settledAt: number | undefined;
  elapsedMs: number | undefined;
  costMicros: number;
  ownerId: string;
  /** Times of the first and the last event of the entry that was read last. */
  firstAt: number;
  lastAt: number;
  /** Its status in the read tables; undefined if it has no row there. */
  stored: PlainStatus | undefined;
};

/** Undefined if the entry does not begin a call of the usual course. */
export function beginPlainCall<Row extends PlainRow>(row: Row): PlainCall<Row> | undefined {
  const entry = readPlainEntry(row);
  if (entry === undefined) return undefined;
  const { events } = entry;
  // The first call of a turn also opens it.
  const index = events[0]?.['type'] === 'turn.opened' ? 1 : 0;
  const request = events[index];
  if (request?.['type'] !== 'tool.requested') return undefined;
  const { turn = events[0]?.['turn'], at = events[0]?.['at'] } = request;
  const { tool_name: toolName, mode, mode_origin: modeOrigin } = request;
  if (typeof turn !== 'string' || typeof at !== 'number' || typeof toolName !== 'string') return undefined;
  if (typeof mode !== 'string' || typeof modeOrigin !== 'string') return undefined;
  const userId = readUserId(row.bodies, entry.bodies, index);
  if (userId === null) return undefined;
  const call: PlainCall<Row> = {
    args: toShownArguments(bodyOf(entry, index)?.['requested_input']),
    output: undefined,
    rows: [],
    sessionId: entry.session,
    turnId: turn,
    toolName,
    mode,
    modeOrigin,
    requestedAt: at,
    userId,
    status: 'requested',
    inputDigest: undefined,
    attempts: 0,
    settledAt: undefined,
    elapsedMs: undefined,
    costMicros: 0,
    ownerId: entry.owner,
    firstAt: at,
    lastAt: at,
    stored: undefined,
  };
  return follow(call, row, entry, index + 1) ? call : undefined;
}

/** Returns false, and leaves the call partly changed, if the entry is not of the usual course. */
export function continuePlainCall<Row extends PlainRow>(call: PlainCall<Row>, row: Row): boolean {
  const entry = readPlainEntry(row);
  return entry !== undefined && entry.session === call.sessionId && follow(call, row, entry, 0);
}

/** Counts the events of the entry that was read last. */
export function countPlainEvents(tally: SessionTally, { firstAt, lastAt }: PlainCall<PlainRow>): void {
  countEvent(tally, firstAt);
  countEvent(tally, lastAt);
}

type PlainEntry = {
  readonly session: string;
  readonly owner: string;
  readonly events: readonly JsonObject[];
  /** One per event; undefined if there are none, or they are too large to read here. */
  readonly bodies: JsonValue | undefined;
};

/** Larger bodies are not parsed: their words are not found by a search. */
export const mostBodyChars = 262_144;

const bodyOf = ({ bodies }: PlainEntry, index: number): JsonObject | undefined => {
  const body = Array.isArray(bodies) ? (bodies[index] as JsonValue | undefined) : undefined;
  return isJsonObject(body) ? body : undefined;
};

function readPlainEntry({ text, bodies, call, version }: PlainRow): PlainEntry | undefined {
  const entry = parse(text);
  if (!isJsonObject(entry) || version === null) return undefined;
  const {
    v,
    entry: entryId,
    session,
    call: callId,
    version: expected,
    owner,
    events,
    bodies: digest,
  } = entry;
  const isPlain =
    v === 1 &&
    typeof entryId === 'string' &&
    typeof session === 'string' &&
    typeof owner === 'string' &&
    typeof callId === 'string' &&
    callId === call &&
    expected === version - 1 &&
    // Bodies that were erased change what the tables say.
    (digest === null || bodies !== null) &&
    Array.isArray(events) &&
    (events as readonly JsonValue[]).every(isJsonObject);
  if (!isPlain) return undefined;
  const isRead = bodies !== null && (bodies.length <= mostBodyChars || bodies.includes('"principal"'));
  return {
    session,
    owner,
    events: events as readonly JsonObject[],
    bodies: isRead ? parse(bodies) : undefined,
  };
}

/** The user of the request; null if only `decodeEvent` can tell. */
function readUserId(
  bodies: string | null,
  list: JsonValue | undefined,
  index: number,
): string | undefined | null {
  if (bodies?.includes('"principal"') !== true) return undefined;
  const body = Array.isArray(list) ? (list[index] as JsonValue | undefined) : undefined;
  if (!isJsonObject(body)) return null;
  const { principal } = body;
  if (principal === undefined) return undefined;
  if (!isJsonObject(principal) || Object.hasOwn(principal, 'userId')) return null;
  const { user_id: userId } = principal;
  return typeof userId === 'string' ? userId : undefined;
}

function follow<Row extends PlainRow>(
  call: PlainCall<Row>,
  row: Row,
  entry: PlainEntry,
  from: number,
): boolean {
  const { events, owner } = entry;
  call.firstAt = Number.POSITIVE_INFINITY;
  call.lastAt = Number.NEGATIVE_INFINITY;
  let at: JsonValue | undefined;
  for (let index = 0; index < events.length; index++) {
    const event = events[index] as JsonObject; // the index is in range
    at = event['at'] ?? at;
    if (typeof event['id'] !== 'string' || typeof at !== 'number') return false;
    if (
      event['session'] !== undefined ||
      event['call'] !== (event['type'] === 'turn.opened' ? null : undefined)
    )
      return false;
    if (index === 0 && typeof event['turn'] !== 'string') return false;
    call.firstAt = Math.min(call.firstAt, at);
    call.lastAt = Math.max(call.lastAt, at);
    if (index >= from && !step(call, event, at, bodyOf(entry, index))) return false;
  }
  call.ownerId = owner;
  call.rows.push(row);
  return events.length > 0;
}

function step(
  call: PlainCall<PlainRow>,
  event: JsonObject,
  at: number,
  body: JsonObject | undefined,
): boolean {
  const { type } = event;
  if (call.status === 'settled' || typeof type !== 'string') return false;
  switch (type) {
    case 'tool.decided': {
      const { decision, input_digest: digest = call.inputDigest } = event;
      if (decision !== 'allow') return false;
      if (digest !== undefined && typeof digest !== 'string') return false;
      call.inputDigest = digest;
      if (body?.['effective_input'] !== undefined) call.args = toShownArguments(body['effective_input']);
      return true;
    }
    case 'tool.started':
      if (typeof event['attempt'] !== 'number') return false;
      call.status = 'running';
      call.attempts = event['attempt'];
      return true;
    case 'tool.responded': {
      const { final, outcome, cost_micros: costMicros = 0, unsettled_effect: isUnsettled = false } = event;
      if (final !== true || isUnsettled !== false || typeof costMicros !== 'number') return false;
      if (!isJsonObject(outcome) || outcome['type'] !== 'ToolExecutionResult') return false;
      if (typeof outcome['elapsed_ms'] !== 'number') return false;
      call.status = 'settled';
      call.settledAt = at;
      call.elapsedMs = outcome['elapsed_ms'];
      call.costMicros = costMicros;
      call.output = isJsonObject(body?.['outcome']) ? body['outcome']['output'] : undefined;
      return true;
    }
    default:
      return false;
  }
}

function parse(text: unknown): JsonValue | undefined {
  try {
    return typeof text === 'string' ? readJsonText(text) : undefined;
  } catch {
    return undefined;
  }
}
