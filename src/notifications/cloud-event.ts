/** A notification as a CloudEvent 1.0, in its structured JSON form. */
import type { JsonObject } from '../base/json.ts';
import type { Notification } from './notification.ts';

export const cloudEventType = 'application/cloudevents+json; charset=utf-8';

export function toCloudEvent(notification: Notification, source: string): JsonObject {
  const { id, kind, at, sessionId, callId, toolName, displayName, text, rules, risk } = notification;
  const { owner, confirmationId, expiresAt, url, arguments: input } = notification;
  return {
    specversion: '1.0',
    id,
    source,
    type: `quittance.call.${kind}`,
    subject: `${sessionId}/${callId}`,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
    data: {
      sessionId,
      callId,
      toolName,
      displayName,
      text,
      rules: [...rules],
      risk: [...risk],
      ...(owner !== undefined && { owner }),
      ...(confirmationId !== undefined && { confirmationId }),
      ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
      ...(url !== undefined && { url }),
      ...(input !== undefined && { arguments: input }),
    },
  };
}
