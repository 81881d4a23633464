/** Calls, as rows of a table and as JSON. */
import type { JsonObject } from 'quittance/internal/base/json';
import type { CallSummary, SessionSummary } from 'quittance/internal/ledger/call-query';
import { colorOf, standing } from './outcome-query.ts';
import { summarizeArguments } from 'quittance/internal/view/summarize-arguments';
import { terminalId, terminalText } from './terminal-text.ts';
import type { Column, Row } from './table.ts';
import { trim } from './text-width.ts';
import { age, duration, localTimeText } from './time-text.ts';
import { toJsonWithTimes } from './to-json.ts';

export const callColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'CALL', min: 14, isId: true },
  { title: 'TOOL', min: 12 },
  { title: 'STATUS', usual: 8 },
  { title: 'TOOK', align: 'right', usual: 6, optional: 3 },
  { title: 'WHY', min: 14, optional: 1 },
  { title: 'SESSION', min: 12, optional: 4 },
  { title: 'MODE', optional: 6 },
  { title: 'ARGUMENTS', min: 13, optional: 2 },
  { title: 'MESSAGE', min: 20, optional: 5 },
];

/** Width of the arguments on a wide page. `quittance show` has all of them. */
const longestArguments = 60;

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
    trim(terminalText(summarizeArguments(call.args)), longestArguments),
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
  'order: A-1001, cents: 1200',
  'A sentence of about forty letters or so.',
];

export const callToJson = (call: CallSummary): JsonObject =>
  toJsonWithTimes(call, 'requestedAt', 'settledAt');

export const sessionColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'SESSION', min: 20, isId: true },
  { title: 'CALLS', align: 'right', usual: 6 },
  { title: 'OPEN', align: 'right' },
  { title: 'FAILED', align: 'right' },
  { title: 'DENIED', align: 'right' },
  { title: 'UNRESOLVED', align: 'right' },
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

export const sessionToJson = (session: SessionSummary): JsonObject =>
  toJsonWithTimes(session, 'firstAt', 'lastAt');
