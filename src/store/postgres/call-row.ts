/** Rows of the read tables, as lists show them. */
import type { CallSummary, SessionSummary } from '../../ledger/call-query.ts';
import type { ConfirmationSummary } from '../../ledger/confirmation-query.ts';
import type { CallRow as SummaryRow, ConfirmationRow, SessionRow } from '../../ledger/read-call-row.ts';
import { readCallRow, readConfirmationRow, readSessionRow } from '../../ledger/read-call-row.ts';
import { fromPgText } from './pg-text.ts';

export type { ConfirmationRow, SessionRow } from '../../ledger/read-call-row.ts';

export type CallRow = SummaryRow & { readonly owner_id: string };

export const rowToCallSummary = (row: CallRow): CallSummary => readCallRow(row, fromPgText);
export const toConfirmationSummary = (row: ConfirmationRow): ConfirmationSummary =>
  readConfirmationRow(row, fromPgText);
export const toPgSessionSummary = (row: SessionRow): SessionSummary => readSessionRow(row, fromPgText);
