/** Open calls whose owner is gone: how they are found and read. */
import type { Call } from '../call/call.ts';
import type { Ledger, OpenCall, StoredCall } from '../ledger/ledger.ts';
import type { Desk } from './desk.ts';
import { keyOf } from './desk.ts';
import { foldStored } from './fold-stored.ts';
import type { CallRef } from './gates/gate.ts';
import { readOpenCalls } from './open-calls.ts';

export type Orphan = Pick<OpenCall, 'sessionId' | 'callId' | 'ownerId'>;

export type FoundCall = { readonly stored: StoredCall; readonly call: Call };

/** Undefined for a call that has ended meanwhile. */
export async function readOpen(
  { engine }: Desk,
  { sessionId, callId }: CallRef,
): Promise<FoundCall | undefined> {
  const stored = await engine.ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  return stored === undefined || call === undefined || call.settled !== undefined
    ? undefined
    : { stored, call };
}

/** Undefined where the call has ended meanwhile, or another owner has taken it. */
export async function readOrphan(desk: Desk, orphan: Orphan): Promise<FoundCall | undefined> {
  const found = await readOpen(desk, orphan);
  return found?.stored.ownerId === orphan.ownerId ? found : undefined;
}

/** Every open call whose owner is proven dead, oldest first. Asks about each owner once, and adds those that are gone. */
export async function* findOrphans(
  { engine: { ledger } }: Desk,
  gone: Set<string>,
): AsyncGenerator<Orphan & OpenCall, void> {
  const owners = new Map<string, { readonly ownerId: string; readonly isAlive: boolean }>();
  for await (const open of readOpenCalls(ledger)) {
    let owner = owners.get(open.ownerId);
    if (owner === undefined && open.ownerId !== ledger.ownerId) {
      const { ownerId } = open;
      owner = { ownerId, isAlive: (await ledger.ownerStatus(ownerId)) !== 'gone' };
      owners.set(ownerId, owner);
      if (!owner.isAlive) gone.add(ownerId);
    }
    // Many calls have one owner: they share its name in memory too.
    const orphan = { ...open, ownerId: owner?.ownerId ?? open.ownerId };
    if (!(owner?.isAlive ?? (await hasLiveOwner(ledger, orphan, 0)))) yield orphan;
  }
}

/** Is there an open call of another gone owner than these? A store may remember for a moment that an owner lives. */
export async function hasOtherOrphans(
  { engine: { ledger } }: Desk,
  known: ReadonlySet<string>,
): Promise<boolean> {
  const asked = new Set([...known, ledger.ownerId]);
  for await (const { ownerId } of readOpenCalls(ledger)) {
    if (asked.has(ownerId)) continue;
    asked.add(ownerId);
    if ((await ledger.ownerStatus(ownerId)) === 'gone') return true;
  }
  return false;
}

/**
 * May another owner still end the call? True unless that owner is proven dead. On this handle, true if more runtimes
 * hold the call than the `askers` that only ask about it.
 */
export const hasLiveOwner = async (
  ledger: Ledger,
  { ownerId, sessionId, callId }: Orphan,
  askers: number,
): Promise<boolean> =>
  ownerId === ledger.ownerId
    ? (ledger.inHand.get(keyOf({ sessionId, callId })) ?? 0) > askers
    : (await ledger.ownerStatus(ownerId)) !== 'gone';
