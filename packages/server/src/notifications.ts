/** Notifications about calls: webhooks, Slack, Microsoft Teams and e-mail; and the check of a webhook in its receiver. */
export { readNotifications, readQuietHours } from './notifications/read-notifications.ts';
export type { ReadVariable } from './notifications/read-variable.ts';
export { startNotifications } from './notifications/start-notifications.ts';
export type { NotificationsOptions, StartedNotifications } from './notifications/start-notifications.ts';
export type {
  HttpTarget,
  MailTarget,
  NoticeRule,
  NotificationsSettings,
  Target,
} from './notifications/notifications-settings.ts';
export type { NoticeKind } from './notifications/notification.ts';
export { findWebhookProblem } from './notifications/webhook-signature.ts';
export type { WebhookCheck, WebhookProblem } from './notifications/webhook-signature.ts';
