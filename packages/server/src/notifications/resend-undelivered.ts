/**
 * Asks for undelivered messages again, after a target was repaired. The request is stored, and the process that sends
 * the messages of the target delivers them under their old ids.
 */
import { createIds, eventIdsFrom } from 'quittance/internal/base/ids';
import type { EmittedEvent } from 'quittance/internal/call/emitted-event';
import { isEmittedEvent } from 'quittance/internal/call/emitted-event';
import type { RedeliveryRequested } from 'quittance/internal/call/event';
import { readStored } from 'quittance/internal/ledger/feed';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { readAllEntries } from 'quittance/internal/replay/read-all-entries';
import { notificationsPrefix } from './start-notifications.ts';

/** A message that its target did not take. */
export type UndeliveredMessage = {
  readonly id: string;
  readonly target: string;
  readonly sessionId: string;
  readonly callId: string | undefined;
};

type Undelivered = UndeliveredMessage & { readonly record: EmittedEvent; readonly eventId: string };

export type ResendOptions = {
  /** Only messages of this target. */
  readonly target: string | undefined;
  /** Times of the records. */
  readonly since: number;
  readonly until: number;
  /** Who asks. */
  readonly by: string;
  readonly signal: AbortSignal;
};

/** Returns the messages that were asked for. A message that was sent or asked for since is left out. */
export async function resendUndelivered(
  ledger: OpenLedger,
  options: ResendOptions,
): Promise<readonly UndeliveredMessage[]> {
  const found = await findUndelivered(ledger, options);
  const ids = createIds();
  const nextEventId = eventIdsFrom(ids);
  for (const { record, target, eventId } of found) {
    const { sessionId, turnId, callId } = record;
    const behavior = `${notificationsPrefix}${target}`;
    const request: RedeliveryRequested = {
      id: nextEventId(),
      type: 'retry.requested',
      sessionId,
      turnId,
      at: ledger.now(),
      cause: record.id,
      forEvent: eventId,
      forCallId: callId,
      attempt: (await lastAttempt(ledger, sessionId, behavior, eventId)) + 1,
      notBefore: undefined,
      by: options.by,
      behavior,
    };
    await ledger.append({
      entryId: ids.next('ent'),
      sessionId,
      callId: undefined,
      expectedVersion: 0,
      events: [request],
    });
  }
  return found.map(({ id, target, sessionId, callId }) => ({ id, target, sessionId, callId }));
}

async function findUndelivered(
  ledger: OpenLedger,
  { target: wanted, since, until, signal }: ResendOptions,
): Promise<readonly Undelivered[]> {
  const found = new Map<string, Undelivered>();
  for await (const stored of readAllEntries(ledger, signal)) {
    // Most entries need no decoding.
    if (!stored.text.includes('notification.') && !stored.text.includes(notificationsPrefix)) continue;
    for (const event of readStored(stored).events) {
      if (event.type === 'retry.requested' && 'behavior' in event && typeof event.behavior === 'string')
        found.delete(`${String(event.forEvent)}.${event.behavior.slice(notificationsPrefix.length)}`);
      const record = toRecord(event);
      if (record === undefined) continue;
      const isWanted = record.record.at >= since && record.record.at <= until;
      if (record.record.type !== 'notification.undelivered') found.delete(record.id);
      else if (isWanted && (wanted === undefined || record.target === wanted)) found.set(record.id, record);
    }
  }
  return [...found.values()];
}

/** The id of a message is that of its event and its target. */
function toRecord(event: object): Undelivered | undefined {
  if (!isEmittedEvent(event) || !event.type.startsWith('notification.')) return undefined;
  const { id, target } = event.data;
  if (typeof id !== 'string' || typeof target !== 'string' || !id.endsWith(`.${target}`)) return undefined;
  const { sessionId, callId } = event;
  return { id, target, sessionId, callId, record: event, eventId: id.slice(0, -target.length - 1) };
}

/** A request counts only if no other one has its number. */
async function lastAttempt(
  ledger: OpenLedger,
  sessionId: string,
  behavior: string,
  eventId: string,
): Promise<number> {
  const attempts = (await ledger.readSession(sessionId)).flatMap((event) => {
    if (!('behavior' in event) || event.behavior !== behavior) return [];
    const forEvent = event.type === 'retry.requested' ? event.forEvent : event.triggeringEventId;
    return forEvent === eventId ? [event.attempt] : [];
  });
  return Math.max(1, ...attempts);
}
