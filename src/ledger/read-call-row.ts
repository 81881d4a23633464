/** Rows of the read tables of a SQL store, and the summaries made of them. `fromText` decodes a name of that store. */
import type { JsonObject } from '../base/json.ts';
import type { CallSummary, SessionSummary } from './call-query.ts';
import type { ConfirmationSummary } from './confirmation-query.ts';

type FromText = (text: string) => string;

export type CallRow = {
  readonly session_id: string;
  readonly call_id: string;
  readonly position: number;
  readonly turn_id: string;
  readonly tool_name: string;
  readonly mode: CallSummary['mode'];
  readonly mode_origin: CallSummary['modeOrigin'];
  readonly status: CallSummary['status'];
  readonly outcome: NonNullable<CallSummary['outcome']> | null;
  readonly reason: NonNullable<CallSummary['reason']> | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly input_digest: string | null;
  readonly attempts: number;
  /** SQLite has no booleans. */
  readonly unresolved: boolean | number;
  readonly requested_at: number;
  readonly settled_at: number | null;
  readonly elapsed_ms: number | null;
  readonly cost_micros: number;
  readonly user_id: string | null;
  readonly rule_id: string | null;
  /** JSON. */
  readonly args: string | null;
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

export type SessionRow = {
  readonly session_id: string;
  readonly calls: number;
  readonly open_calls: number;
  readonly failures: number;
  readonly denials: number;
  readonly unresolved: number;
  readonly first_at: number;
  readonly last_at: number;
};

const orUndefined = (text: string | null, fromText: FromText): string | undefined =>
  text === null ? undefined : fromText(text);

export const readCallRow = (row: CallRow, fromText: FromText): CallSummary => ({
  sessionId: fromText(row.session_id),
  callId: fromText(row.call_id),
  turnId: fromText(row.turn_id),
  toolName: fromText(row.tool_name),
  mode: row.mode,
  modeOrigin: row.mode_origin,
  status: row.status,
  outcome: row.outcome ?? undefined,
  reason: row.reason ?? undefined,
  code: orUndefined(row.code, fromText),
  message: row.message ?? undefined,
  inputDigest: orUndefined(row.input_digest, fromText),
  attempts: row.attempts,
  unresolved: Boolean(row.unresolved),
  requestedAt: row.requested_at,
  settledAt: row.settled_at ?? undefined,
  elapsedMs: row.elapsed_ms ?? undefined,
  costMicros: row.cost_micros,
  userId: orUndefined(row.user_id, fromText),
  ruleId: orUndefined(row.rule_id, fromText),
  args: row.args === null ? undefined : (JSON.parse(row.args) as JsonObject), // written by the projection
});

export const readConfirmationRow = (row: ConfirmationRow, fromText: FromText): ConfirmationSummary => ({
  confirmationId: fromText(row.confirmation_id),
  sessionId: fromText(row.session_id),
  callId: fromText(row.call_id),
  toolName: fromText(row.tool_name),
  askedAt: row.asked_at,
  expiresAt: row.expires_at ?? undefined,
  status: row.status,
});

export const readSessionRow = (row: SessionRow, fromText: FromText): SessionSummary => ({
  sessionId: fromText(row.session_id),
  calls: row.calls,
  openCalls: row.open_calls,
  failures: row.failures,
  denials: row.denials,
  unresolved: row.unresolved,
  firstAt: row.first_at,
  lastAt: row.last_at,
});
