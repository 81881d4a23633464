/** Handed-off calls, as rows of a table and as JSON. */
import type { JsonObject } from '../base/json.ts';
import type { HandoffView } from '../runtime/handoff/list-handoffs.ts';
import { terminalId, terminalText } from './terminal-text.ts';
import type { Column, Row } from './table.ts';
import { age } from './time-text.ts';
import { toJsonWithTimes } from './to-json.ts';

/** `overdue`: the next process that asks for the call or has its tool settles it. */
export type ShownHandoff = Omit<HandoffView, 'status'> & { readonly status: HandoffView['status'] | 'over' };

export const handoffColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'CALL', min: 14, isId: true },
  { title: 'TOOL', min: 12 },
  { title: 'STATUS', usual: 7 },
  { title: 'WORKER', min: 8 },
  { title: 'UNTIL', usual: 8 },
  { title: 'SESSION', min: 10, optional: 1 },
  { title: 'FOR', min: 6, optional: 3 },
  { title: 'INPUT', min: 16, optional: 2 },
];

export function handoffRow(handoff: ShownHandoff, now: number): Row {
  const { status, principal, expiresAt = handoff.deadlineMs } = handoff;
  const style = ({ waiting: 'yellow', taken: 'blue', over: 'dim' } as const)[status];
  return [
    age(handoff.startedAt, now),
    terminalId(handoff.callId),
    terminalId(handoff.toolName),
    { text: status, style },
    terminalText(handoff.worker ?? ''),
    status === 'over' ? '' : age(expiresAt, now),
    terminalId(handoff.sessionId),
    terminalText(principal?.userId ?? principal?.serviceId ?? ''),
    { text: terminalText(JSON.stringify(handoff.input)), style: 'dim' },
  ];
}

export const handoffToJson = (handoff: ShownHandoff): JsonObject =>
  toJsonWithTimes(handoff, 'startedAt', 'takenAt', 'expiresAt');
