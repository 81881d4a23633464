/** Checks that every store makes before anything else. */
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
const aboutAllSessions: ReadonlySet<string> = new Set([
  'contracts.loaded',
  'persistence.unlisted',
  'delegation.given',
  'delegation.revoked',
]);

/** Throws if only the ledger may append an entry, or if reading it back would change it. */
export function refuseEntry({
  sessionId,
  callId,
  events,
}: Pick<Entry, 'sessionId' | 'events'> & Partial<Pick<Entry, 'callId'>>): void {
  const dotted = isDotSegment(sessionId)
    ? sessionId
    : callId !== undefined && isDotSegment(callId)
      ? callId
      : undefined;
  // A call that an older version began may still be completed.
  if (dotted !== undefined && events.some(({ type }) => begins.has(type)))
    throw new QuittanceError(
      'config.invalid',
      `The id of a session or a call may not be ${JSON.stringify(dotted)}: in a URL or a path that ` +
        'means a folder.',
    );
  for (const event of events)
    if ('data' in event && isReservedEventType(event.type))
      throw new QuittanceError(
        'config.invalid',
        `A host event cannot have the type ${JSON.stringify(event.type)}. Use at least two words of ` +
          'a-z, 0-9 and _ joined by dots, e.g. order.flagged. The type has at most 100 characters and ' +
          'does not start with a reserved word.',
      );
  if (sessionId === ledgerSessionId && !events.every(({ type }) => aboutAllSessions.has(type)))
    throw new QuittanceError(
      'config.invalid',
      `The session "${ledgerSessionId}" belongs to the ledger. Use another session id.`,
    );
}

/** A permanent removal is recorded with a name and a reason, which are checked before anything is removed. */
export function refuseErasure({ sessionId, entryIds, by, identity, reason }: Erasure): void {
  const problem =
    typeof sessionId !== 'string'
      ? 'sessionId must be the id of a session'
      : typeof by !== 'string' || by.trim() === ''
        ? 'by must be the name of the person who requests it'
        : typeof reason !== 'string'
          ? 'reason must be a text'
          : entryIds !== undefined && !Array.isArray(entryIds)
            ? 'entryIds must be a list of ids; omit it for the whole session'
            : identity !== undefined && readDirectIdentity(identity) === undefined
              ? 'identity must say how the person was identified, e.g. { kind: "os_user", user }'
              : undefined;
  if (problem !== undefined)
    throw new QuittanceError('config.invalid', `Nothing was erased or removed: ${problem}.`);
}

export const closedError = (): QuittanceError =>
  new QuittanceError('ledger.closed', 'The ledger was closed and cannot be used any more.');

export const readOnlyError = (cause: unknown): QuittanceError =>
  new QuittanceError(
    'ledger.unavailable',
    'The ledger is read-only: it was opened with readOnly, or its file or folder is not writable. Open ' +
      'it without readOnly, as a user who may write there.',
    {},
    cause,
  );

export const inUseError = (sessionId: string, callId: string): QuittanceError =>
  new QuittanceError(
    'ledger.in_use',
    `Call ${callId} of session ${sessionId} has no outcome yet, so nothing of it can be erased or ` +
      'removed.',
    { sessionId, callId },
  );
