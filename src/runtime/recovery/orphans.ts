/** Finds and reads open calls whose owner is gone. */
import type { Call } from '../../call/call.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { OpenCall } from '../../ledger/queries.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { callKey } from '../state/call-key.ts';
import { countMakers } from '../state/runtime-state.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { CallRef } from '../state/gate.ts';
import { readOpenCalls } from '../handoff/open-calls.ts';
import type { RecoveryList } from '../state/recovery.ts';

export type Orphan = Pick<OpenCall, 'sessionId' | 'callId' | 'ownerId'>;

export type FoundCall = { readonly stored: StoredCall; readonly call: Call };

/** Undefined for a call that has ended meanwhile. */
export async function readOpen(
  { engine }: RuntimeState,
  { sessionId, callId }: CallRef,
): Promise<FoundCall | undefined> {
  const stored = await engine.ledger.journal.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  return stored === undefined || call === undefined || call.settled !== undefined
    ? undefined
    : { stored, call };
}

/** Undefined if the call has ended meanwhile, or another owner has taken it. */
export async function readOrphan(state: RuntimeState, orphan: Orphan): Promise<FoundCall | undefined> {
  const found = await readOpen(state, orphan);
  return found?.stored.ownerId === orphan.ownerId ? found : undefined;
}

/**
 * Every open call whose owner is proven dead, oldest first. Checks each owner once, and notes it in the list.
 */
export async function* findOrphans(
  { engine: { ledger } }: RuntimeState,
  list: RecoveryList,
): AsyncGenerator<Orphan & OpenCall, void> {
  const share = shareTexts();
  list.beganAt = await ledger.entries.lastPosition();
  for await (const open of readOpenCalls(ledger)) {
    const orphan = { ...open, ownerId: share(open.ownerId), sessionId: share(open.sessionId) };
    const { ownerId } = orphan;
    if (ownerId !== ledger.owners.ownerId && !list.owners.has(ownerId))
      list.owners.set(ownerId, (await ledger.owners.statusOf(ownerId)) === 'gone' ? 'gone' : 'spared');
    const isOrphan =
      ownerId === ledger.owners.ownerId
        ? !(await hasLiveOwner(ledger, orphan, 0))
        : list.owners.get(ownerId) === 'gone';
    if (isOrphan) yield orphan;
  }
}

/** Returns one shared string for equal strings: many calls have the same owner, session and tool. */
export function shareTexts(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const shared = known.get(text);
    if (shared !== undefined) return shared;
    known.set(text, text);
    return text;
  };
}

/**
 * May an owner have died with open calls after the list was read and before the ledger reached `until`? Such
 * an owner was alive in the list, or has written since. Reading the list again would cost far more: the store
 * would first process everything that the recovery itself has written.
 */
export async function hasLostOwnersSince(
  { engine: { ledger } }: RuntimeState,
  { beganAt, owners }: RecoveryList,
  until: number,
): Promise<boolean> {
  const asked = new Set([ledger.owners.ownerId]);
  const isGone = async (ownerId: string): Promise<boolean> => {
    if (asked.has(ownerId)) return false;
    asked.add(ownerId);
    return (await ledger.owners.statusOf(ownerId)) === 'gone';
  };
  for (const [ownerId, status] of owners) if (status === 'spared' && (await isGone(ownerId))) return true;
  for (let after = beganAt ?? until; after < until;) {
    const entries = await ledger.entries.read({ after, limit: pageSize });
    for (const entry of entries)
      // Most entries are from this owner. They need not be decoded to know that.
      if (!entry.text.includes(ledger.owners.ownerId) && (await isGone(ownerOf(entry)))) return true;
    if (entries.length < pageSize) return false;
    after = entries.at(-1)?.position ?? until;
    await new Promise(setImmediate);
  }
  return false;
}

const pageSize = 256;

/** An unreadable entry counts as one of a lost owner: another look does no harm. */
function ownerOf(entry: StoredEntry): string {
  try {
    return readEntry(entry).ownerId;
  } catch {
    return '';
  }
}

/**
 * May another owner still end the call? True unless that owner is proven dead. On this handle, true if more
 * runtimes hold the call than the `askers` that only ask about it.
 */
export const hasLiveOwner = async (
  ledger: Ledger,
  { ownerId, sessionId, callId }: Orphan,
  askers: number,
): Promise<boolean> =>
  ownerId === ledger.owners.ownerId
    ? countMakers(ledger.owners, callKey({ sessionId, callId })) > askers
    : (await ledger.owners.statusOf(ownerId)) !== 'gone';
