/** The notification about an event of a call. */
import { isJsonObject } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { HiddenId } from '../call/events/gate-event.ts';
import { ownerOf } from '../call/owner-of.ts';
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
  /** Names that repeat a hidden value. */
  readonly hiddenIds: readonly HiddenId[];
};

/** What an event means for people. Undefined if they need not hear of it. */
export function kindOf(event: NoticedEvent): NoticeKind | undefined {
  switch (event.type) {
    case 'tool.held':
      return 'held';
    case 'confirmation.reminded':
      return event.kind === 'escalation' ? 'escalated' : 'reminder';
    case 'confirmation.decided':
      return 'decided';
    case 'confirmation.expired':
      return 'expired';
    case 'tool.responded':
      return event.final && 'code' in event.outcome && event.outcome.code === 'tool.indeterminate'
        ? 'unresolved'
        : undefined;
  }
}

export function toNotice(event: NoticedEvent, call: Call): Notice | undefined {
  const kind = kindOf(event);
  if (kind === undefined) return undefined;
  const { confirmation, principal, acceptedInput, requestedInput } = call;
  const input = acceptedInput ?? requestedInput;
  const isOpen = ['held', 'reminder', 'escalated'].includes(kind);
  return {
    kind,
    text: describeEvent(event, call),
    at: event.at,
    askedAt: confirmation?.askedAt ?? event.at,
    dueAt: event.type === 'confirmation.reminded' ? event.dueAt : event.at,
    sessionId: event.sessionId,
    callId: event.callId,
    toolName: call.toolName,
    displayName: call.displayName,
    rules: rulesOf(call),
    risk: confirmation?.risk ?? [],
    owner: ownerOf(principal),
    hiddenIds: call.hiddenIds,
    confirmationId: isOpen ? confirmation?.confirmationId : undefined,
    expiresAt: isOpen ? confirmation?.expiresAt : undefined,
    arguments: isJsonObject(input) ? input : undefined,
  };
}

function describeEvent(event: NoticedEvent, { confirmation }: Call): string {
  switch (event.type) {
    case 'tool.held':
      return event.description;
    case 'confirmation.reminded':
      return [confirmation?.description ?? '', describeWait(event.missing)].join(' ').trim();
    case 'confirmation.decided':
      return `${event.by.name} decided: ${event.decision}.`;
    case 'confirmation.expired':
      return event.effect === 'allow'
        ? 'No person decided in time. The rule lets the call run.'
        : 'No person decided in time. The call was denied.';
    case 'tool.responded':
      return 'The call may have taken effect. Check the system that the tool talks to, then record what you found.';
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
