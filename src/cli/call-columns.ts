/** Calls, as rows of a table and as JSON. */
import type { JsonObject } from '../base/json.ts';
import type { CallSummary, SessionSummary } from '../ledger/call-query.ts';
import { colorOf, standing } from './outcome-word.ts';
import { terminalId, terminalText } from './terminal-text.ts';
import type { Column, Row } from './table.ts';
import { age, duration, localTimeText, utcTimeText } from './time-text.ts';

export const callColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'CALL', min: 14 },
  { title: 'TOOL', min: 12 },
  { title: 'STATUS', usual: 8 },
  { title: 'TOOK', align: 'right', usual: 6, optional: 1 },
  { title: 'WHY', min: 14, optional: 2 },
  { title: 'SESSION', min: 12, optional: 3 },
  { title: 'MODE', optional: 5 },
  { title: 'MESSAGE', min: 20, optional: 4 },
];

export function callRow(call: CallSummary, now: number): Row {
  const word = standing(call);
  return [
    age(call.requestedAt, now),
    terminalId(call.callId),
    terminalId(call.toolName),
    { text: call.unresolved ? `${word} ?` : word, style: colorOf(word) },
    call.elapsedMs === undefined ? '' : duration(call.elapsedMs),
    terminalText(call.code ?? ''),
    terminalId(call.sessionId),
    call.mode,
    { text: terminalText(call.message ?? ''), style: 'dim' },
  ];
}

/** The same columns with the time of day, for a list that grows. */
export const followColumns: readonly Column[] = callColumns.map((column) =>
  column.title === 'AGE' ? { title: 'TIME' } : column,
);

export function followRow(call: CallSummary, now: number): Row {
  const [, ...cells] = callRow(call, now);
  return [localTimeText(call.settledAt ?? call.requestedAt).slice(11), ...cells];
}

/** A typical row, used to lay out a table before there are rows. */
export const usualRow: Row = [
  '00:00:00',
  'toolu_01A09q90qw90lq917835',
  'a_tool_of_twenty_ltr',
  'approved',
  '999 ms',
  'confirmation.rejected',
  'a session of twenty.',
  'safe_write',
  'A sentence of about forty letters or so.',
];

/** In the field names of the wire format. Unknown fields are left out. */
export const callToJson = (call: CallSummary): JsonObject =>
  withoutUndefined({
    session_id: call.sessionId,
    call_id: call.callId,
    turn_id: call.turnId,
    tool_name: call.toolName,
    mode: call.mode,
    mode_origin: call.modeOrigin,
    status: call.status,
    outcome: call.outcome,
    reason: call.reason,
    code: call.code,
    message: call.message,
    input_digest: call.inputDigest,
    attempts: call.attempts,
    unresolved: call.unresolved,
    requested_at: utcTimeText(call.requestedAt),
    settled_at: call.settledAt === undefined ? undefined : utcTimeText(call.settledAt),
    elapsed_ms: call.elapsedMs,
    cost_micros: call.costMicros,
    user_id: call.userId,
  });

export const sessionColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'SESSION', min: 20 },
  { title: 'CALLS', align: 'right', usual: 6 },
  { title: 'OPEN', align: 'right' },
  { title: 'FAILED', align: 'right' },
  { title: 'DENIED', align: 'right' },
  { title: 'IN DOUBT', align: 'right' },
  { title: 'FIRST', optional: 2 },
  { title: 'LAST', optional: 1 },
];

export function sessionRow(session: SessionSummary, now: number): Row {
  const count = (value: number, style: 'red' | 'yellow' | 'magenta' | 'blue'): Row[number] =>
    value === 0 ? '·' : { text: String(value), style };
  return [
    age(session.lastAt, now),
    terminalId(session.sessionId),
    String(session.calls),
    count(session.openCalls, 'blue'),
    count(session.failures, 'red'),
    count(session.denials, 'magenta'),
    count(session.unresolved, 'yellow'),
    localTimeText(session.firstAt),
    localTimeText(session.lastAt),
  ];
}

export const sessionToJson = (session: SessionSummary): JsonObject => ({
  session_id: session.sessionId,
  calls: session.calls,
  open_calls: session.openCalls,
  failures: session.failures,
  denials: session.denials,
  unresolved: session.unresolved,
  first_at: utcTimeText(session.firstAt),
  last_at: utcTimeText(session.lastAt),
});

export const withoutUndefined = (fields: {
  readonly [name: string]: JsonObject[string] | undefined;
}): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, JsonObject[string]] => field[1] !== undefined),
  );
