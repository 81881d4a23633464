/**
 * When the ledger cannot take the end of a call, the end is spilled: kept by its owner beside the ledger until the
 * ledger works again. No intent is written while there is no room left to spill, since nothing could be promised.
 */
import type { Awaitable } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { foldCall } from '../../call/evolve.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { Engine } from './engine.ts';
import { isCallEvent } from '../../ledger/fold-stored.ts';
import type { CallRef } from './gate.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';

/** Before a body may run: what waits is appended first, and there must be room for one more. */
export const beforeIntent = (engine: Engine): Awaitable<void> =>
  engine.spill.waiting ? importSpills(engine).then(() => requireRoom(engine)) : requireRoom(engine);

const requireRoom = ({ ledger }: Engine): Awaitable<void> =>
  whenReady(ledger.spill.canWrite(), refuseWithoutRoom);

function refuseWithoutRoom(hasRoom: boolean | undefined): void {
  if (hasRoom === false)
    throw new LedgerTrouble(
      'no spill file could be prepared to hold a result if the ledger fails; check free space and permissions beside the ledger',
    );
}

/** Appends what dead owners, and this one, have spilled. Gives how many entries there were. */
export async function importSpills({ ledger, spill }: Engine): Promise<number> {
  let imported = 0;
  // First: whoever spills while this goes on says so again.
  spill.waiting = false;
  try {
    for (const { ownerId, entries } of await ledger.spill.read()) {
      for (const entry of entries) {
        // One that is there already, or was overtaken, answers `conflict`: then its call has an outcome.
        const { status } = await ledger.journal.append(entry);
        // Somebody else has moved the session on since: the outcome counts all the same.
        if (status === 'moved') await ledger.journal.append({ ...entry, moves: undefined });
        imported++;
      }
      if (!(await ledger.spill.drop(ownerId, entries.at(-1)?.entryId))) spill.waiting = true;
    }
  } catch (error) {
    spill.waiting = true;
    throw error;
  }
  return imported;
}

/** A call as it will be once what waits for it is appended; undefined where nothing does. */
export async function readWaiting(
  { ledger }: Engine,
  { sessionId, callId }: CallRef,
  stored: StoredCall | undefined,
): Promise<Call | undefined> {
  for (const { entries } of await ledger.spill.read())
    for (const entry of entries)
      if (
        entry.sessionId === sessionId &&
        entry.callId === callId &&
        entry.expectedVersion === (stored?.version ?? 0)
      )
        return foldCall([...(stored?.events ?? []), ...entry.events].filter(isCallEvent));
  return undefined;
}
