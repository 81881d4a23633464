/** A notification as the body of a Slack incoming webhook. */
import { cutText } from '../base/cut-text.ts';
import type { JsonObject } from '../base/json.ts';
import { factsOf, linkLabel, plainPart } from './message-fact.ts';
import type { Notification } from './notification.ts';
import { headingOf } from './notification.ts';

/** Slack refuses a message with longer ones. */
const longestHeading = 150;
const longestUrl = 3_000;

export function toSlackMessage(notification: Notification, delivery: number): JsonObject {
  const heading = plainPart(headingOf(notification));
  // Slack refuses an empty text.
  const text = plainPart(notification.text) || '-';
  const { url } = notification;
  return {
    // Shown in the notification of the phone.
    text: escapeSlack(`${heading}: ${text}`),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cutText(heading, longestHeading), emoji: false } },
      { type: 'section', text: { type: 'plain_text', text, emoji: false } },
      {
        type: 'section',
        // Plain text: nothing that a model or a tool wrote becomes a link, a mention or formatting.
        fields: factsOf(notification, delivery)
          .slice(0, 10)
          .map(({ label, value }) => ({ type: 'plain_text', text: `${label}: ${value}`, emoji: false })),
      },
      ...(url === undefined || url.length > longestUrl
        ? []
        : [
            {
              type: 'actions',
              elements: [
                { type: 'button', text: { type: 'plain_text', text: linkLabel(notification) }, url },
              ],
            },
          ]),
    ],
  };
}

/** The fallback text is always read as Slack's markup. */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
