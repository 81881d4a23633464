/** Rows of the table of entries, and what is wrong with changed ones. */
import { QuittanceError } from '../../base/error.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { SessionHead } from './session-head.ts';
import { fromSqlText } from './sql-text.ts';

type WrittenRow = { readonly text: string; readonly bodies: string | null };

/** An entry as stored in its table. */
export type EntryRow = WrittenRow & {
  readonly position: number;
  readonly session: number;
  readonly sequence: number;
  readonly call: string | null;
  readonly version: number | null;
  readonly salt: string | null;
  readonly hash: string;
};

/** Bytes that decode to the written text are still not that text. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : `(not a text: ${String(value)})`;

/** The name of a session. If its row is missing, the name comes from its entry. */
export function nameFor(session: number, name: string | undefined, text: string): string {
  try {
    return name === undefined ? decode({ text, bodies: null }).sessionId : fromSqlText(name);
  } catch {
    return `#${String(session)}`;
  }
}

export const decode = ({ text, bodies }: WrittenRow): ReadEntry =>
  readEntry({ text, bodies: bodies ?? undefined });

export const disorderError = (position: number): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The entries after position ${position} are out of order: pages of the file are damaged. Restore a ` +
      'backup.',
  );

/** The columns next to a text are not hashed: the text itself must say that it belongs to the call. */
export function refuseMoved(row: EntryRow, entry: ReadEntry, head: SessionHead, callId: string): void {
  const version = entry.expectedVersion === 'any' ? null : entry.expectedVersion + 1;
  if (entry.sessionId !== head.sessionId || entry.callId !== callId || row.version !== version)
    throw changedError(head.sessionId, callId);
}

export const changedError = (sessionId: string, callId: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `Entries of call ${JSON.stringify(callId)} in session ${JSON.stringify(sessionId)} were moved, ` +
      'changed or removed by another program, so the call is not run. Run `quittance verify` to see ' +
      'where.',
    { sessionId, callId },
  );

/** Events of unknown types are returned as they are: code that folds events skips them. */
export const eventsOf = (row: WrittenRow): readonly QuittanceEvent[] =>
  decode(row).events as readonly QuittanceEvent[];
