/** A notification as an Adaptive Card, for a webhook of a Microsoft Teams workflow. */
import type { JsonObject } from '../base/json.ts';
import { factsOf, linkLabel, plainPart } from './message-fact.ts';
import type { Notification } from './notification.ts';
import { headingOf } from './notification.ts';

export function toTeamsMessage(notification: Notification, delivery: number): JsonObject {
  const { url } = notification;
  const plain = (text: string, more: JsonObject): JsonObject => ({
    type: 'RichTextBlock',
    // Runs of text are not read as Markdown, unlike text blocks.
    inlines: [{ type: 'TextRun', text: plainPart(text), ...more }],
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            plain(headingOf(notification), { weight: 'Bolder', size: 'Medium' }),
            plain(notification.text, {}),
            ...factsOf(notification, delivery).map(({ label, value }) =>
              plain(`${label}: ${value}`, { size: 'Small' }),
            ),
          ],
          ...(url !== undefined && {
            actions: [{ type: 'Action.OpenUrl', title: linkLabel(notification), url }],
          }),
        },
      },
    ],
  };
}
