/** What every store refuses before it looks at anything. */
import { QuittanceError } from '../base/error.ts';
import { isDotSegment } from '../base/dot-segment.ts';
import { isReservedEventType } from '../call/emitted-event.ts';
import { readDirectIdentity } from '../call/identity.ts';
import type { Entry } from './journal.ts';
import type { Erasure } from './retention.ts';
import { ledgerSessionId } from './ledger.ts';

/** Events that begin something under a new id. */
const begins: ReadonlySet<string> = new Set([
  'tool.requested',
  'turn.opened',
  'session.forked',
  'grant.given',
]);

/** Which rules came into force, and how many failed writes are not listed. */
const aboutAllSessions: ReadonlySet<string> = new Set(['contracts.loaded', 'persistence.unlisted']);

/** Throws where an entry may not be appended by anybody but the ledger, or would not come back as what it is. */
export function refuseEntry({
  sessionId,
  callId,
  events,
}: Pick<Entry, 'sessionId' | 'events'> & Partial<Pick<Entry, 'callId'>>): void {
  const dotted = [sessionId, callId].find((id) => id !== undefined && isDotSegment(id));
  // What an older version began may still be brought to its end.
  if (dotted !== undefined && events.some(({ type }) => begins.has(type)))
    throw new QuittanceError(
      'config.invalid',
      `The id of a session or a call may not be ${JSON.stringify(dotted)}: in an address or a path that means a folder.`,
    );
  for (const event of events)
    if ('data' in event && isReservedEventType(event.type))
      throw new QuittanceError(
        'config.invalid',
        `An event of a host's own cannot have the type ${JSON.stringify(event.type)}. Use at least two words of a-z, ` +
          '0-9 and _ with dots between them, at most 100 characters, that do not begin with a word of ours, e.g. order.flagged.',
      );
  if (sessionId === ledgerSessionId && !events.every(({ type }) => aboutAllSessions.has(type)))
    throw new QuittanceError(
      'config.invalid',
      `The session "${ledgerSessionId}" is the ledger's own. Give yours another id.`,
    );
}

/** What is gone for good is kept on record by a name and a reason, which are looked at before anything goes. */
export function refuseErasure({ sessionId, entryIds, by, identity, reason }: Erasure): void {
  const problem =
    typeof sessionId !== 'string'
      ? 'sessionId must be the id of a session'
      : typeof by !== 'string' || by.trim() === ''
        ? 'by must be the name of whoever wants it'
        : typeof reason !== 'string'
          ? 'reason must be a text'
          : entryIds !== undefined && !Array.isArray(entryIds)
            ? 'entryIds must be a list of ids; leave it out for the whole session'
            : identity !== undefined && readDirectIdentity(identity) === undefined
              ? 'identity must say how the person was identified, e.g. { kind: "os_user", user }'
              : undefined;
  if (problem !== undefined)
    throw new QuittanceError('config.invalid', `Nothing is erased or removed: ${problem}.`);
}

export const closedError = (): QuittanceError =>
  new QuittanceError('ledger.closed', 'The ledger was closed and is of no more use.');

export const readOnlyError = (cause: unknown): QuittanceError =>
  new QuittanceError(
    'ledger.unavailable',
    'The ledger can only be read: it was opened with readOnly, or its file or folder may not be written. Open it ' +
      'without that, by somebody who may write there.',
    {},
    cause,
  );

export const inUseError = (sessionId: string, callId: string): QuittanceError =>
  new QuittanceError(
    'ledger.in_use',
    `Call ${callId} of session ${sessionId} has no outcome yet, so nothing of it can be erased or removed.`,
    { sessionId, callId },
  );
