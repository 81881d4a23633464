/** Sends a notification to one target, in the form that the target reads. */
import type { LookupFunction } from 'node:net';
import { hostOf } from '../outbound/address.ts';
import { cloudEventType, toCloudEvent } from './cloud-event.ts';
import { toMailMessage } from './mail-message.ts';
import type { Notification } from './notification.ts';
import type { HttpTarget, Target } from './notifications-settings.ts';
import { createSendJson } from './send-json.ts';
import { createSendMail } from './send-mail.ts';
import type { SendResult } from './send-result.ts';
import { toSlackMessage } from './slack-message.ts';
import { toTeamsMessage } from './teams-message.ts';
import { signWebhook } from './webhook-signature.ts';

/** `delivery`: 1 for the first delivery of this message. More says that it may have been delivered before. */
export type SendNotification = (
  notification: Notification,
  delivery: number,
  signal: AbortSignal,
) => Promise<SendResult>;

export type SenderPorts = {
  /** Identifies this installation to receivers: its public address, or a name. */
  readonly source: string;
  readonly nowMs: () => number;
  readonly lookup?: LookupFunction;
};

export function createTargetSender(target: Target, ports: SenderPorts): SendNotification {
  if (target.type === 'email') {
    const send = createSendMail(target, ports.lookup);
    const domain = hostOf(target.server);
    return (notification, delivery, signal) => send(toMailMessage(notification, delivery, domain), signal);
  }
  return createHttpSender(target, ports);
}

function createHttpSender(target: HttpTarget, { source, nowMs, lookup }: SenderPorts): SendNotification {
  const send = createSendJson(target, lookup);
  return (notification, delivery, signal) => {
    // A receiver sees that an earlier delivery may have arrived, even if it keeps no list of ids.
    const json = {
      'content-type': 'application/json; charset=utf-8',
      'quittance-delivery': String(delivery),
    };
    switch (target.type) {
      case 'slack':
        return send(JSON.stringify(toSlackMessage(notification, delivery)), json, signal);
      case 'teams':
        return send(JSON.stringify(toTeamsMessage(notification, delivery)), json, signal);
      case 'webhook': {
        const body = JSON.stringify(toCloudEvent(notification, source));
        const signature = signWebhook(target.secrets, notification.id, nowMs(), body);
        return send(body, { ...json, ...signature, 'content-type': cloudEventType }, signal);
      }
    }
  };
}
