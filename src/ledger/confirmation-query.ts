/** Queries for confirmations. */
import type { ConfirmationStatus } from '../call/call.ts';

/** All given fields must match. */
export type ConfirmationQuery = {
  readonly status?: ConfirmationStatus | undefined;
  readonly sessionId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly limit?: number | undefined;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
};

/** One line about a confirmation: its call and its status. */
export type ConfirmationSummary = {
  readonly confirmationId: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly askedAt: number;
  readonly expiresAt: number | undefined;
  readonly status: ConfirmationStatus;
};

export const matchesConfirmation = (found: ConfirmationSummary, query: ConfirmationQuery): boolean =>
  (query.status === undefined || query.status === found.status) &&
  (query.sessionId === undefined || query.sessionId === found.sessionId) &&
  (query.toolName === undefined || query.toolName === found.toolName);
