/** Rows of the read tables, as lists show them. */
import type { CallSummary, SessionSummary } from '../../ledger/call-query.ts';
import type { ConfirmationSummary } from '../../ledger/confirmation-query.ts';
import type { CallRow, ConfirmationRow, SessionRow } from '../../ledger/read-call-row.ts';
import { readCallRow, readConfirmationRow, readSessionRow } from '../../ledger/read-call-row.ts';
import { fromSqlText } from './sql-text.ts';

export type { CallRow, ConfirmationRow, SessionRow } from '../../ledger/read-call-row.ts';

export const toSummary = (row: CallRow): CallSummary => readCallRow(row, fromSqlText);
export const toConfirmation = (row: ConfirmationRow): ConfirmationSummary =>
  readConfirmationRow(row, fromSqlText);
export const rowToSessionSummary = (row: SessionRow): SessionSummary => readSessionRow(row, fromSqlText);
