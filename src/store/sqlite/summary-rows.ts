/** Rows of the read tables, and the summaries made of them. */
import type { JsonObject } from '../../base/json.ts';
import type { CallSummary, SessionSummary } from '../../ledger/call-query.ts';
import type { ConfirmationSummary } from '../../ledger/confirmation-query.ts';
import { fromSqlText } from './sql-text.ts';

export type CallRow = {
  readonly position: number;
  readonly session_id: string;
  readonly call_id: string;
  readonly turn_id: string;
  readonly tool_name: string;
  readonly mode: CallSummary['mode'];
  readonly mode_origin: CallSummary['modeOrigin'];
  readonly status: CallSummary['status'];
  readonly outcome: CallSummary['outcome'] | null;
  readonly reason: CallSummary['reason'] | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly input_digest: string | null;
  readonly attempts: number;
  readonly unresolved: number;
  readonly requested_at: number;
  readonly settled_at: number | null;
  readonly elapsed_ms: number | null;
  readonly cost_micros: number;
  readonly user_id: string | null;
  readonly rule_id: string | null;
  /** JSON. */
  readonly args: string | null;
};

export type SessionRow = {
  readonly session: number;
  readonly session_id: string;
  readonly calls: number;
  readonly open_calls: number;
  readonly failures: number;
  readonly denials: number;
  readonly unresolved: number;
  readonly first_at: number;
  readonly last_at: number;
};

export type ConfirmationRow = {
  readonly confirmation_id: string;
  readonly session_id: string;
  readonly call_id: string;
  readonly tool_name: string;
  readonly status: ConfirmationSummary['status'];
  readonly asked_at: number;
  readonly expires_at: number | null;
};

const orUndefined = (text: string | null): string | undefined =>
  text === null ? undefined : fromSqlText(text);

export const toSummary = (row: CallRow): CallSummary => ({
  sessionId: fromSqlText(row.session_id),
  callId: fromSqlText(row.call_id),
  turnId: fromSqlText(row.turn_id),
  toolName: fromSqlText(row.tool_name),
  mode: row.mode,
  modeOrigin: row.mode_origin,
  status: row.status,
  outcome: row.outcome ?? undefined,
  reason: row.reason ?? undefined,
  code: orUndefined(row.code),
  message: row.message ?? undefined,
  inputDigest: orUndefined(row.input_digest),
  attempts: row.attempts,
  unresolved: row.unresolved === 1,
  requestedAt: row.requested_at,
  settledAt: row.settled_at ?? undefined,
  elapsedMs: row.elapsed_ms ?? undefined,
  costMicros: row.cost_micros,
  userId: orUndefined(row.user_id),
  ruleId: orUndefined(row.rule_id),
  args: row.args === null ? undefined : (JSON.parse(row.args) as JsonObject), // written by the projection
});

export const toConfirmation = (row: ConfirmationRow): ConfirmationSummary => ({
  confirmationId: fromSqlText(row.confirmation_id),
  sessionId: fromSqlText(row.session_id),
  callId: fromSqlText(row.call_id),
  toolName: fromSqlText(row.tool_name),
  askedAt: row.asked_at,
  expiresAt: row.expires_at ?? undefined,
  status: row.status,
});

export const rowToSessionSummary = (row: SessionRow): SessionSummary => ({
  sessionId: fromSqlText(row.session_id),
  calls: row.calls,
  openCalls: row.open_calls,
  failures: row.failures,
  denials: row.denials,
  unresolved: row.unresolved,
  firstAt: row.first_at,
  lastAt: row.last_at,
});
