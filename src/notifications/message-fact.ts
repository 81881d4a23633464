/** The parts of a message for people, the same in every channel. */
import { cutText } from '../base/cut-text.ts';
import { visibleForeignText, visibleText, visibleValue } from '../base/safe-text.ts';
import type { Notification } from './notification.ts';

/** Longest text of one part: chat programs refuse longer ones. */
const longestPart = 2_000;
/** With its label it is one part. */
const longestValue = 1_900;

export type MessageFact = { readonly label: string; readonly value: string };

/** Chat programs keep no list of ids, so the text says it. */
const describeRepeat = (delivery: number): string => `${delivery}. This message may have arrived before.`;

/**
 * The facts below the heading and the text. Values are plain text: each channel escapes them. `delivery`: above 1 if an
 * earlier one may have arrived.
 */
export function factsOf(notification: Notification, delivery: number): readonly MessageFact[] {
  const { toolName, sessionId, callId, owner, rules, risk, expiresAt, arguments: input } = notification;
  return [
    { label: 'Tool', value: toolName },
    ...(owner === undefined ? [] : [{ label: 'On behalf of', value: owner }]),
    ...(risk.length === 0 ? [] : [{ label: 'Risk', value: risk.map(visibleValue).join('; ') }]),
    ...(rules.length === 0 ? [] : [{ label: 'Rules', value: rules.map(visibleValue).join(', ') }]),
    ...(expiresAt === undefined ? [] : [{ label: 'Expires', value: new Date(expiresAt).toISOString() }]),
    { label: 'Session', value: sessionId },
    { label: 'Call', value: callId },
    ...(delivery === 1 ? [] : [{ label: 'Delivery', value: describeRepeat(delivery) }]),
    ...(input === undefined ? [] : [{ label: 'Arguments', value: JSON.stringify(input) }]),
  ].map(({ label, value }) => ({
    label,
    value: cutText(visibleForeignText(value.toWellFormed()).trim(), longestValue),
  }));
}

/** One line of visible text. Half of a surrogate pair makes some programs refuse the whole message. */
export const plainPart = (text: string, longest: number = longestPart): string =>
  cutText(visibleText(text.toWellFormed()).trim(), longest);

/** The label of the link. */
export const linkLabel = ({ confirmationId }: Notification): string =>
  confirmationId === undefined ? 'Open the call' : 'Review and decide';
