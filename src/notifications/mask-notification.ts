/**
 * Masks names, ids and texts of a message that look like secrets, by the built-in patterns and by the redaction of the
 * runtime. Stored forms hide the secrets of arguments. Ids and names of tools are stored unchanged, or no call could be
 * found by them. Another process with other patterns may have made the call, so arguments are searched again.
 */
import type { JsonObject } from '../base/json.ts';
import type { Redactor } from '../base/redaction.ts';
import { hiddenId, safeSentenceBy, shownIdBy } from '../base/safe-id.ts';
import { redacted } from '../base/text-mask.ts';
import type { HiddenId } from '../call/events/gate-event.ts';
import type { Notification } from './notification.ts';

/** `hiddenIds`: names that repeat a hidden value of the call, whatever they look like. */
export function maskNotification(
  notification: Notification,
  redactor: Redactor,
  hiddenIds: readonly HiddenId[],
): Notification {
  const id = (text: string, what?: HiddenId): string =>
    what !== undefined && hiddenIds.includes(what) ? hiddenId(text) : shownIdBy(redactor, text);
  const { owner, arguments: input } = notification;
  const names: Readonly<Record<HiddenId, string | undefined>> = {
    session: notification.sessionId,
    call: notification.callId,
    tool: notification.toolName,
    owner,
  };
  // Sentences may quote them.
  const sentence = (text: string): string =>
    hiddenIds.reduce(
      (said, what) => said.replaceAll(names[what] ?? redacted, redacted),
      safeSentenceBy(redactor, text),
    );
  return {
    ...notification,
    sessionId: id(notification.sessionId, 'session'),
    callId: id(notification.callId, 'call'),
    toolName: id(notification.toolName, 'tool'),
    displayName: hiddenIds.includes('tool')
      ? hiddenId(notification.toolName)
      : sentence(notification.displayName),
    text: sentence(notification.text),
    rules: notification.rules.map((rule) => id(rule)),
    risk: notification.risk.map(sentence),
    owner: owner === undefined ? undefined : id(owner, 'owner'),
    // Redaction keeps an object an object.
    arguments: input === undefined ? undefined : (redactor.input(input).value as JsonObject),
  };
}
