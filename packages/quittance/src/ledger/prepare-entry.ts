/** Prepares an entry for its append: checks, its text, and the effects that it leaves unresolved or resolves. */
import { checkName, checkText, limits } from '../call/limits.ts';
import { refuseRole } from '../call/role.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent, ToolResolved, ToolResponded } from '../call/event.ts';
import type { DraftEntry } from './formats/v1/write-entry.ts';
import { draftEntry } from './formats/v1/write-entry.ts';
import type { Entry } from './journal.ts';
import { QuittanceError } from '../base/error.ts';
import { isDotSegment } from '../base/ids.ts';
import { isReservedEventType, isEmittedEvent } from '../call/emitted-event.ts';
import { readDirectIdentity } from '../call/identity.ts';
import type { Erasure } from './retention.ts';
import { ledgerSessionId } from './ledger.ts';
import { hash } from 'node:crypto';
import { chainHash, bodiesDigest } from './chain.ts';

/** A call whose effect became unresolved, or was resolved. */
export type EffectNote =
  | {
      readonly type: 'unresolved';
      readonly callId: string;
      readonly toolName: string;
      /** Undefined if an earlier entry states it. */
      readonly inputDigest: string | undefined;
    }
  | { readonly type: 'resolved'; readonly callId: string };

type PreparedEntry = {
  readonly draft: DraftEntry;
  readonly effects: readonly EffectNote[] | undefined;
};

/** Throws if only the ledger may append the entry, or if reading it back would change it. */
export function prepareEntry(entry: Entry, ownerId: string, salt: () => string): PreparedEntry {
  refuseEntry(entry);
  const effects = entry.callId === undefined ? undefined : effectsOf(entry.events);
  return { draft: draftEntry(entry, ownerId, salt), effects };
}

function effectsOf(events: readonly (QuittanceEvent | EmittedEvent)[]): readonly EffectNote[] | undefined {
  let notes: EffectNote[] | undefined;
  for (const each of events) {
    const event = each as QuittanceEvent; // an event of a behavior has another type, or the entry is refused
    if (leavesUnsettledEffect(event)) {
      const { callId, outcome } = event;
      const inputDigest = lastInputDigest(events, callId);
      (notes ??= []).push({ type: 'unresolved', callId, toolName: outcome.toolName, inputDigest });
    } else if (clearsUnsettledEffect(event)) (notes ??= []).push({ type: 'resolved', callId: event.callId });
  }
  return notes;
}

/** Events that begin something under a new id. */
const begins: ReadonlySet<string> = new Set([
  'tool.requested',
  'turn.opened',
  'session.forked',
  'grant.given',
]);

/** Events of the ledger's own session: rules that came into force, and failed writes that are not listed. */
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
  const where = 'Nothing was erased or removed';
  if (problem !== undefined) throw new QuittanceError('config.invalid', `${where}: ${problem}.`);
  checkName(where, by);
  checkText(where, 'reason', reason, limits.shortReasonChars);
  refuseRole(identity, 'admin', 'erase or remove anything');
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

/** Longer texts are rare. */
const bufferBytes = 65_536;

/**
 * Hashes texts without copying them: they are written to one buffer, which is hashed. The results are those of `chainHash`
 * and `bodiesDigest`, in two thirds of the time. For a writer that hashes every entry.
 */
export class TextHasher {
  readonly #buffer = Buffer.allocUnsafeSlow(bufferBytes);

  chainHash(previous: string, sequence: number, text: string): string {
    const length = previous.length + text.length;
    // A UTF-16 unit needs at most three bytes, and a number at most 24.
    if (3 * length + 32 > bufferBytes) return chainHash(previous, sequence, text);
    const from = this.#buffer.write(`${previous}\n${sequence}\n`, 'utf8');
    return this.#digest(from + this.#buffer.write(text, from, 'utf8'));
  }

  bodiesDigest(salt: string, bodies: string): string {
    if (3 * (salt.length + bodies.length) > bufferBytes) return bodiesDigest(salt, bodies);
    const from = this.#buffer.write(salt, 'utf8');
    return `sha256:${this.#digest(from + this.#buffer.write(bodies, from, 'utf8'))}`;
  }

  #digest(bytes: number): string {
    return hash('sha256', this.#buffer.subarray(0, bytes), 'hex');
  }
}

/** True if the call ended with an unknown effect. An identical call then needs an approval. */
export const leavesUnsettledEffect = (event: QuittanceEvent): event is ToolResponded =>
  event.type === 'tool.responded' && event.final && event.unsettledEffect;

/**
 * True if an identical call no longer needs an approval. False if the effect turned out to have happened: the other call
 * would repeat it.
 */
export const clearsUnsettledEffect = (event: QuittanceEvent): event is ToolResolved =>
  event.type === 'tool.resolved' && event.resolution !== 'succeeded';

/** The digest of the input that the gates last accepted, among the events of a call. */
export function lastInputDigest(
  events: readonly (QuittanceEvent | EmittedEvent)[],
  callId: string,
): string | undefined {
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index];
    if (event === undefined || isEmittedEvent(event)) continue;
    if (event.type === 'tool.decided' && event.callId === callId && event.inputDigest !== undefined)
      return event.inputDigest;
  }
  return undefined;
}
