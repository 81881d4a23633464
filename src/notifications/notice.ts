/** The notification about an event of a call. Undefined if people need not hear of the event. */
import { isJsonObject } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { Notification, NoticeKind } from './notification.ts';

/** The events that a notification may be about. */
export const noticedEvents = [
  'tool.held',
  'confirmation.reminded',
  'confirmation.decided',
  'confirmation.expired',
  'tool.responded',
] as const;
export type NoticedEvent = Extract<QuittanceEvent, { readonly type: (typeof noticedEvents)[number] }>;

/** What a message says before its target and its link are known. */
export type Notice = Omit<Notification, 'id' | 'url'> & {
  /** When the question was asked, and the time that the event stands for, by the ledger's clock. */
  readonly askedAt: number;
  readonly dueAt: number;
};

export function toNotice(event: NoticedEvent, call: Call): Notice | undefined {
  const described = describeEvent(event, call);
  if (described === undefined) return undefined;
  const { confirmation, principal, acceptedInput, requestedInput } = call;
  const input = acceptedInput ?? requestedInput;
  const isOpen = ['held', 'reminder', 'escalated'].includes(described.kind);
  return {
    ...described,
    at: event.at,
    askedAt: confirmation?.askedAt ?? event.at,
    dueAt: event.type === 'confirmation.reminded' ? event.dueAt : event.at,
    sessionId: event.sessionId,
    callId: event.callId,
    toolName: call.toolName,
    displayName: call.displayName,
    rules: rulesOf(call),
    risk: confirmation?.risk ?? [],
    owner: principal?.userId ?? principal?.serviceId,
    confirmationId: isOpen ? confirmation?.confirmationId : undefined,
    expiresAt: isOpen ? confirmation?.expiresAt : undefined,
    arguments: isJsonObject(input) ? input : undefined,
  };
}

function describeEvent(
  event: NoticedEvent,
  { confirmation }: Call,
): { readonly kind: NoticeKind; readonly text: string } | undefined {
  switch (event.type) {
    case 'tool.held':
      return { kind: 'held', text: event.description };
    case 'confirmation.reminded':
      return {
        kind: event.kind === 'escalation' ? 'escalated' : 'reminder',
        text: [confirmation?.description ?? '', describeWait(event.missing)].join(' ').trim(),
      };
    case 'confirmation.decided':
      return { kind: 'decided', text: `${event.by.name} decided: ${event.decision}.` };
    case 'confirmation.expired':
      return {
        kind: 'expired',
        text:
          event.effect === 'allow'
            ? 'No person decided in time. The rule lets the call run.'
            : 'No person decided in time. The call was denied.',
      };
    case 'tool.responded':
      if (!event.final || !('code' in event.outcome) || event.outcome.code !== 'tool.indeterminate')
        return undefined;
      return {
        kind: 'unresolved',
        text: 'The call may have taken effect. Check the system that the tool talks to, then record what you found.',
      };
  }
}

const describeWait = (missing: readonly string[]): string =>
  missing.length === 0 ? 'It still waits.' : `Still missing: ${missing.join('; ')}.`;

const rulesOf = ({ confirmation, decidedBy }: Call): readonly string[] => [
  ...new Set(
    [...(confirmation?.asks ?? []).map(({ by }) => by), ...(decidedBy === undefined ? [] : [decidedBy])]
      .filter(({ type }) => type === 'rule')
      .map(({ name }) => name),
  ),
];
