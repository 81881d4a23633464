/** Entries that the ledger itself appends: bodies were erased, a session was removed, counter totals. */
import type { Ids } from '../base/ids.ts';
import type { QuittanceEvent } from '../call/event.ts';
import { selfAsserted } from '../call/identity.ts';
import type { Head } from './chain.ts';
import type { CounterTotal } from './claims.ts';
import type { Entry } from './journal.ts';
import type { Erasure, Removal } from './retention.ts';
import { ledgerSessionId } from './ledger.ts';

export const erasureEntry = (
  { sessionId, by, identity = selfAsserted, reason }: Erasure,
  entryIds: readonly string[],
  at: number,
  ids: Ids,
): Entry =>
  toEntry(sessionId, ids, {
    ...envelope(sessionId, at, ids),
    type: 'body.erased',
    entryIds,
    by,
    identity,
    reason,
  });

export const removalEntry = (
  { sessionId, by, identity = selfAsserted, reason }: Removal,
  { sequence, hash }: Head,
  at: number,
  ids: Ids,
): Entry =>
  toEntry(ledgerSessionId, ids, {
    ...envelope(ledgerSessionId, at, ids),
    type: 'session.dropped',
    droppedSessionId: sessionId,
    sequence,
    hash,
    by,
    identity,
    reason,
  });

/** An entry that only states counter totals, for entries that did not state them or are gone. It has no events. */
export const totalsEntry = (
  totals: readonly CounterTotal[],
  ids: Ids,
): Entry & { readonly totals: readonly CounterTotal[] } => ({
  entryId: ids.next('ent'),
  sessionId: ledgerSessionId,
  callId: undefined,
  expectedVersion: 0,
  events: [],
  totals,
});

const envelope = (sessionId: string, at: number, ids: Ids) =>
  ({ id: ids.next('evt'), sessionId, turnId: '', at, cause: undefined }) as const;

const toEntry = (sessionId: string, ids: Ids, event: QuittanceEvent): Entry => ({
  entryId: ids.next('ent'),
  sessionId,
  callId: undefined,
  expectedVersion: 0,
  events: [event],
});
