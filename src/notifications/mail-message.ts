/** A notification as an e-mail: plain text only, so nothing in it can be more than text. */
import { factsOf, linkLabel, plainPart } from './message-fact.ts';
import type { Notification } from './notification.ts';
import { headingOf } from './notification.ts';

export type MailMessage = {
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
};

export function toMailMessage(notification: Notification, delivery: number, domain: string): MailMessage {
  const { url, id } = notification;
  const facts = factsOf(notification, delivery).map(({ label, value }) => `${label}: ${value}`);
  const link = url === undefined ? [] : [`${linkLabel(notification)}: ${url}`, ''];
  return {
    // Mail programs drop a second message with the same id.
    messageId: `<${id.replaceAll(/[^\w.-]/g, '_')}@${domain}>`,
    headers: { 'Quittance-Delivery': String(delivery) },
    subject: plainPart(headingOf(notification)),
    text: [plainPart(notification.text), '', ...link, ...facts, ''].join('\n'),
  };
}
