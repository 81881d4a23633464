/** The parts of a message for people, the same in every channel. */
import { cutText } from '../base/cut-text.ts';
import type { Notification } from './notification.ts';

/** Longest text of one part: chat programs refuse longer ones. */
const longestPart = 2_000;

export type MessageFact = { readonly label: string; readonly value: string };

/** The facts below the heading and the text. Values are plain text: each channel escapes them. */
export function factsOf(notification: Notification): readonly MessageFact[] {
  const { toolName, sessionId, callId, owner, rules, risk, expiresAt, arguments: input } = notification;
  return [
    { label: 'Tool', value: toolName },
    ...(owner === undefined ? [] : [{ label: 'On behalf of', value: owner }]),
    ...(risk.length === 0 ? [] : [{ label: 'Risk', value: risk.join('; ') }]),
    ...(rules.length === 0 ? [] : [{ label: 'Rules', value: rules.join(', ') }]),
    ...(expiresAt === undefined ? [] : [{ label: 'Expires', value: new Date(expiresAt).toISOString() }]),
    { label: 'Session', value: sessionId },
    { label: 'Call', value: callId },
    ...(input === undefined ? [] : [{ label: 'Arguments', value: JSON.stringify(input) }]),
  ].map(({ label, value }) => ({ label, value: plainPart(value) }));
}

/** One line of visible text: control and direction characters could change what a person reads. */
export const plainPart = (text: string): string =>
  cutText(text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim(), longestPart);

/** The label of the link. */
export const linkLabel = ({ confirmationId }: Notification): string =>
  confirmationId === undefined ? 'Open the call' : 'Review and decide';
