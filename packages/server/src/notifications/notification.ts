/** A message to people about a call. It holds the stored form only: what the redactor hides is not in it. */
import type { JsonObject } from 'quittance/internal/base/json';

/** What happened, in the words of the notifications file. */
export const noticeKinds = ['held', 'reminder', 'escalated', 'decided', 'expired', 'unresolved'] as const;
export type NoticeKind = (typeof noticeKinds)[number];

export type Notification = {
  /** The same for every delivery of this message to this target, so that a receiver can drop repeats. */
  readonly id: string;
  readonly kind: NoticeKind;
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly at: number;
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  /** One sentence for people: what is asked, or what happened. */
  readonly text: string;
  /** Rules that asked or decided. */
  readonly rules: readonly string[];
  readonly risk: readonly string[];
  /** On whose behalf the call is made. */
  readonly owner: string | undefined;
  readonly confirmationId: string | undefined;
  readonly expiresAt: number | undefined;
  /** The page of the question, or of the call. Opening it decides nothing. Undefined without a public address. */
  readonly url: string | undefined;
  /** Sent in the settings of a target only: the arguments in their stored form. */
  readonly arguments: JsonObject | undefined;
};

/** The heading of a message. */
export function headingOf({ kind, displayName }: Pick<Notification, 'kind' | 'displayName'>): string {
  switch (kind) {
    case 'held':
      return `Approval needed: ${displayName}`;
    case 'reminder':
      return `Still waiting for approval: ${displayName}`;
    case 'escalated':
      return `Escalated: ${displayName} waits for approval`;
    case 'decided':
      return `Decided: ${displayName}`;
    case 'expired':
      return `Approval expired: ${displayName}`;
    case 'unresolved':
      return `Effect unknown: ${displayName}`;
  }
}
