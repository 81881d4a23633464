/**
 * What lists, search and decisions show of a call. A store writes it in the commit of the events that it shows, and a
 * rebuild makes it again from the entries. It depends on nothing else, so both give the same rows.
 */
import type { Call, ConfirmationStatus } from '../call/call.ts';
import { isUnresolved } from '../call/call.ts';
import type { CallEvent, QuittanceEvent } from '../call/event.ts';
import { evolve } from '../call/evolve.ts';
import type { CallSummary, ConfirmationSummary } from './call-query.ts';
import type { SessionTally } from './call-tally.ts';
import { countCall, countEvent } from './call-tally.ts';
import { toCallWords, toFilterMarks } from './call-words.ts';
import { isCallEvent, takesOn } from './fold-stored.ts';
import type { ReadEntry } from './formats/v1/read-entry.ts';
import { troubleOf } from '../call/outcome.ts';
import type { JsonValue, JsonObject, JsonPrimitive } from '../base/json.ts';
import { defineMember, isJsonObject } from '../base/json.ts';

/** The parts of an entry that are listed. */
export type ListedEntry = Pick<ReadEntry, 'callId' | 'expectedVersion' | 'ownerId' | 'events'>;

export type ListedCall = {
  readonly summary: CallSummary;
  /** Who appended the last entry that took the call on: see `takesOn`. A remark never does. */
  readonly ownerId: string;
  /** Every question of the call, in order. */
  readonly confirmations: readonly ConfirmationSummary[];
  readonly call: Call;
};

/**
 * Lists a call from all of its entries, the first one first. Undefined if they have no request, so there is no call to
 * show. Throws a `TypeError` if an event lacks a value that every event of its type has.
 */
export function listCall(entries: readonly ListedEntry[]): ListedCall | undefined {
  let listed: ListedCall | undefined;
  for (const entry of entries) listed = listEntry(listed, entry);
  return listed;
}

/** Lists a call after one more entry. `before`: after the entries before it. */
export function listEntry(before: ListedCall | undefined, entry: ListedEntry): ListedCall | undefined {
  const events = eventsOf(entry, before === undefined);
  let call = before?.call;
  for (const event of events) call = evolve(call, event);
  if (call === undefined) return undefined;
  return {
    summary: toCallSummary(call),
    ownerId: isOwners(entry) ? entry.ownerId : (before?.ownerId ?? ''),
    confirmations:
      call.confirmation === undefined
        ? none
        : summarizeConfirmations(events, before?.confirmations, call.toolName),
    call,
  };
}

const none: readonly never[] = [];

/** The events of the entry's call, for a new call from its request on. */
function eventsOf({ callId, events }: ListedEntry, isNew: boolean): readonly CallEvent[] {
  const own: CallEvent[] = [];
  for (const event of events as readonly QuittanceEvent[])
    if (isCallEvent(event) && event.callId === callId)
      if (!isNew || own.length > 0 || event.type === 'tool.requested') own.push(event);
  return own;
}

const isOwners = ({ expectedVersion, events }: ListedEntry): boolean =>
  expectedVersion !== 'any' && takesOn(events as readonly QuittanceEvent[]);

/** The words and the filter marks by which search finds the call. */
export const toIndexWords = ({ summary, call }: ListedCall): readonly string[] => [
  ...toCallWords(summary, outputOf(call)),
  ...toFilterMarks(summary),
];

/** A call before and after an entry, or before and after its bodies were erased. */
export type ListedChange = {
  readonly before: ListedCall | undefined;
  readonly after: ListedCall | undefined;
};

/** Counts the times of an entry, and what it changed about its call, in the tally of its session. */
export function countEntry(
  tally: SessionTally,
  { events }: Pick<ListedEntry, 'events'>,
  { before, after }: ListedChange,
): void {
  for (const { at } of events) countEvent(tally, at);
  if (before !== undefined) countCall(tally, before.summary, -1);
  if (after !== undefined) countCall(tally, after.summary);
}

/** One line about a call: every store keeps it in its read table and can rebuild it from events. */
export function toCallSummary(call: Call): CallSummary {
  const { settled } = call;
  const outcome = settled?.outcome;
  return {
    sessionId: call.sessionId,
    callId: call.callId,
    turnId: call.turnId,
    toolName: call.toolName,
    mode: call.mode,
    modeOrigin: call.modeOrigin,
    status: call.status,
    outcome: outcome?.type,
    reason: outcome?.type === 'ToolDenied' ? outcome.reason : undefined,
    code: outcome && 'code' in outcome ? outcome.code : undefined,
    message: outcome && cut(troubleOf(outcome)),
    inputDigest: call.inputDigest,
    attempts: call.attempt,
    unresolved: isUnresolved(call),
    requestedAt: call.requestedAt,
    settledAt: settled?.at,
    elapsedMs: outcome && 'elapsedMs' in outcome ? outcome.elapsedMs : undefined,
    costMicros: settled?.costMicros ?? 0,
    userId: userIdOf(call),
    ruleId: ruleIdOf(call),
    args: toShownArguments(call.effectiveInput ?? call.requestedInput),
  };
}

/** The stored output of a call, or the part of it that its outcome has. */
export function outputOf({ settled }: Pick<Call, 'settled'>): JsonValue | undefined {
  switch (settled?.outcome.type) {
    case 'ToolExecutionResult':
      return settled.outcome.output;
    case 'ToolArtifactReference':
      return settled.outcome.summary;
    case 'ToolDenied':
    case 'ToolFailure':
    case 'ToolTimeout':
    case undefined:
      return undefined;
  }
}

/** The recorded value if it is a text. One invalid name must not prevent the list of all other calls. */
export const userIdOf = ({ principal }: Pick<Call, 'principal'>): string | undefined =>
  typeof principal?.userId === 'string' ? principal.userId : undefined;

/** The rule that denied the call. The rule of a question that expired, or that a person answered, did not deny it. */
const ruleIdOf = ({ settled, ruling, decidedBy }: Call): string | undefined =>
  settled?.outcome.type === 'ToolDenied' && ruling === 'deny' && decidedBy?.type === 'rule'
    ? decidedBy.name
    : undefined;

const longest = 200;

/** Never splits a character. */
const cut = (text: string | undefined): string | undefined =>
  text === undefined || text.length <= longest
    ? text
    : `${text.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;

/**
 * Every confirmation of a call, in order, after more events. `before`: after the events before them, of a
 * call of this tool. A confirmation that
 * was replaced by a newer one counts as decided.
 */
export function summarizeConfirmations(
  events: readonly CallEvent[],
  before: readonly ConfirmationSummary[] = [],
  tool = '',
): readonly ConfirmationSummary[] {
  const found = new Map(before.map((known) => [known.confirmationId, known]));
  let toolName = tool;
  const set = (confirmationId: string, status: ConfirmationStatus): void => {
    const known = found.get(confirmationId);
    if (known !== undefined) found.set(confirmationId, { ...known, status });
  };
  for (const event of events)
    switch (event.type) {
      case 'tool.requested':
        ({ toolName } = event);
        break;
      case 'tool.held':
        found.set(event.confirmationId, {
          confirmationId: event.confirmationId,
          sessionId: event.sessionId,
          callId: event.callId,
          toolName,
          askedAt: event.at,
          expiresAt: event.expiresAt,
          status: 'pending',
        });
        break;
      case 'confirmation.decided':
        set(event.confirmationId, statusAfter[event.decision]);
        break;
      case 'confirmation.expired':
        set(event.confirmationId, event.effect === 'allow' ? 'approved' : 'expired');
        break;
      case 'confirmation.withdrawn':
        set(event.confirmationId, 'withdrawn');
        break;
      case 'confirmation.voted':
      case 'confirmation.reminded':
      case 'tool.decided':
      case 'tool.previewed':
      case 'tool.started':
      case 'tool.responded':
      case 'tool.late':
      case 'retry.requested':
      case 'tool.recalled':
      case 'tool.taken_over':
      case 'tool.reported':
      case 'tool.resolved':
      case 'tool.undone':
      case 'persistence.failed':
      case 'runtime.budget_exhausted':
        break;
      default:
        event satisfies never;
    }
  return [...found.values()];
}

const statusAfter = {
  approve: 'approved',
  edit: 'approved',
  deny: 'denied',
  respond: 'answered',
} as const;

/**
 * The arguments of a call in short form, for lists and for searches by value: one member per path, without the indexes of
 * lists. `{"lines": [{"sku": "a"}, {"sku": "b"}]}` gives `{"lines.sku": ["a", "b"]}`. It is made from the stored form, so
 * hidden values are masked. Its size is bounded.
 */

const mostPaths = 24;
const mostValues = 8;
const mostChars = 800;
const longestValue = 120;
const longestPath = 80;
const deepest = 6;

export function toShownArguments(input: JsonValue | undefined): JsonObject | undefined {
  if (input === undefined) return undefined;
  if (!isJsonObject(input))
    return typeof input === 'string' ? { '': shorten(input, longestValue) } : undefined;
  const found = new Map<string, JsonPrimitive[]>();
  let chars = 0;
  const add = (path: string, value: JsonPrimitive): void => {
    const short = typeof value === 'string' ? shorten(value, longestValue) : value;
    const known = found.get(path);
    const size = path.length + String(short).length;
    if (chars + size > mostChars || path.length > longestPath) return;
    if (known === undefined) {
      if (found.size >= mostPaths) return;
      found.set(path, [short]);
    } else if (known.length < mostValues) known.push(short);
    else return;
    chars += size;
  };
  walk(input, '', 0, add);
  const shown: { [path: string]: JsonValue } = {};
  for (const [path, values] of found)
    defineMember(shown, path, values.length === 1 ? (values[0] as JsonPrimitive) : values);
  return shown;
}

function walk(
  value: JsonValue,
  path: string,
  depth: number,
  add: (path: string, value: JsonPrimitive) => void,
): void {
  if (depth > deepest) return;
  if (Array.isArray(value)) {
    // A long list only repeats its paths.
    for (const item of value.slice(0, mostValues) as JsonValue[]) walk(item, path, depth + 1, add);
  } else if (isJsonObject(value)) {
    let count = 0;
    for (const name in value) {
      if (count++ >= mostPaths) break;
      const member = value[name];
      if (Object.hasOwn(value, name) && member !== undefined)
        walk(member, path === '' ? name : `${path}.${name}`, depth + 1, add);
    }
  } else add(path, value as JsonPrimitive);
}

/** Never splits a character. */
const shorten = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
