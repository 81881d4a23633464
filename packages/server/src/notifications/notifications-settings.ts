/** The settings of notifications, as read from their file. */
import type { QuietHours } from 'quittance/internal/base/quiet-hours';
import type { NoticeKind } from './notification.ts';

export type NotificationsSettings = {
  readonly targets: ReadonlyMap<string, Target>;
  readonly rules: readonly NoticeRule[];
  /** When people are reminded of a question that still waits: times since it was asked, ascending. */
  readonly remindAfterMs: readonly number[];
  /** Hours in which no person is expected to answer. Give them to every runtime that makes calls. */
  readonly quietHours: readonly QuietHours[];
};

export type Target = HttpTarget | MailTarget;

export type HttpTarget = {
  readonly type: 'webhook' | 'slack' | 'teams';
  readonly name: string;
  readonly url: URL;
  /** Keys that sign a webhook, the newest first. A receiver may know any of them while keys are rotated. */
  readonly secrets: readonly Uint8Array[];
  /** Hosts with a private address, or plain http, that this target may reach by name. */
  readonly allowPrivate: boolean;
  readonly sendsArguments: boolean;
};

export type MailTarget = {
  readonly type: 'email';
  readonly name: string;
  /** `smtp://` or `smtps://`, with its user and password. */
  readonly server: URL;
  readonly from: string;
  readonly to: readonly string[];
  readonly allowPrivate: boolean;
  readonly sendsArguments: boolean;
};

/** Chooses the targets of a message. Every condition that is set must hold. */
export type NoticeRule = {
  readonly on: readonly NoticeKind[];
  /** Globs of tool names. Undefined: all tools. */
  readonly tools: readonly string[] | undefined;
  /** Words that the risk of the call must contain one of. */
  readonly risk: readonly string[] | undefined;
  /** Ids of rules, one of which asked. */
  readonly rules: readonly string[] | undefined;
  /** Users on whose behalf the call is made. */
  readonly owners: readonly string[] | undefined;
  /** For reminders and escalations: only those that come at least this long after the question. */
  readonly afterMs: number;
  readonly tell: readonly string[];
};
