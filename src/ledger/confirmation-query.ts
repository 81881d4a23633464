/** Questions to people, as they are listed. */
import type { ConfirmationStatus } from '../call/call.ts';

/** All that is given must hold. */
export type ConfirmationQuery = {
  readonly status?: ConfirmationStatus | undefined;
  readonly sessionId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
};

/** One line about a question: which call it is about, and how it stands. */
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
