/** Rows of the table `entries`. */
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import { asText } from '../../ledger/stored-entry.ts';
import { fromPgText } from './pg-values.ts';

export type EntryRow = {
  readonly position: number;
  readonly session_id: string;
  readonly sequence: number;
  readonly call_id: string | null;
  readonly version: number | null;
  readonly text: string;
  readonly bodies: string | null;
  readonly salt: string | null;
  readonly hash: string;
};

export const entryColumns =
  'e.position, e.session_id, e.sequence, e.call_id, e.version, e.text, e.bodies, e.salt, e.hash';

export const decodeEntryRow = ({ text, bodies }: Pick<EntryRow, 'text' | 'bodies'>): ReadEntry =>
  readEntry({ text, bodies: bodies ?? undefined });

export const toStoredEntry = (row: EntryRow): StoredEntry => ({
  position: row.position,
  sessionId: fromPgText(row.session_id),
  sequence: row.sequence,
  text: asText(row.text),
  bodies: row.bodies === null ? undefined : asText(row.bodies),
  salt: row.salt === null ? undefined : asText(row.salt),
  hash: asText(row.hash),
});
