/**
 * If the ledger cannot store the end of a call, the end goes to the owner's spill file until the ledger works
 * again. Without room in the spill file no intent is written, because an end could not be guaranteed.
 */
import { QuittanceError } from '../../base/error.ts';
import type { Awaitable } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { foldCall } from '../../call/evolve.ts';
import type { Entry, StoredCall } from '../../ledger/journal.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { Engine } from './engine.ts';
import { isCallEvent } from '../../ledger/fold-stored.ts';
import type { CallRef } from './gate.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';

/** Before a body may run: appends waiting entries, and checks that there is room for one more. */
export const beforeIntent = (engine: Engine): Awaitable<void> =>
  engine.spill.waiting ? importSpills(engine).then(() => requireRoom(engine)) : requireRoom(engine);

const requireRoom = ({ ledger }: Engine): Awaitable<void> =>
  whenReady(ledger.spill.canWrite(), refuseWithoutRoom);

function refuseWithoutRoom(hasRoom: boolean | undefined): void {
  if (hasRoom === false)
    throw new LedgerTrouble(
      'no spill file could be prepared to hold a result if the ledger fails; check free space and permissions in the folder of the ledger',
    );
}

/** Appends the spilled entries of dead owners and of this one. Returns their number. */
export async function importSpills({ ledger, spill }: Engine): Promise<number> {
  let imported = 0;
  // Reset first: an entry spilled meanwhile sets it again.
  spill.waiting = false;
  try {
    for (const { ownerId, entries } of await ledger.spill.read()) {
      for (const entry of entries) {
        // `conflict` means that the entry is already stored, or that its call has another outcome.
        const result = await ledger.journal.append(entry);
        const { status } = result;
        if (result.status === 'conflict' && isOlder(result.version, entry))
          throw new LedgerTrouble(olderError(entry));
        // Another process has changed a shared state since. The outcome still counts.
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

/** The entry follows others of its call. If the ledger lacks those, it lost them: versions only grow. */
const isOlder = (version: number, { expectedVersion }: Entry): boolean =>
  typeof expectedVersion === 'number' && version < expectedVersion;

const olderError = ({ sessionId, callId = '' }: Entry): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The ledger is older than its spilled results: one is about call ${JSON.stringify(callId)} of session ` +
      `${JSON.stringify(sessionId)}, and the ledger lacks the entries before it. It was restored from an older backup. No call is ` +
      'made, because calls that ran since then could run again, and the results stay in the spill folder. Put the newest ' +
      'ledger back. To go on with this one on purpose, move the spill folder away.',
    { sessionId },
  );

/** The call with its waiting entry applied. Undefined if none waits. */
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
