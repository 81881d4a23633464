import { isQuittanceError, QuittanceError } from '../base/error.ts';
import type { Awaitable } from '../base/json.ts';
import { isPromiseLike } from '../base/when-ready.ts';
import type { Ledger } from './ledger.ts';

/** The ledger could not be reached or could not write; it stored nothing of the request. */
export class LedgerTrouble extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'LedgerTrouble';
  }
}

/** The same ledger, whose exceptions can be told from mistakes of our own. */
export function reportTrouble(ledger: Ledger): Ledger {
  const told =
    <Input extends readonly unknown[], Output>(method: (...input: Input) => Awaitable<Output>) =>
    (...input: Input): Awaitable<Output> => {
      try {
        const answer = method(...input);
        return isPromiseLike(answer) ? answer.then(undefined, raise) : answer;
      } catch (error) {
        return raise(error);
      }
    };
  const { journal, claims, artifacts, owners, spill, queries, entries, cursors, integrity, retention } =
    ledger;
  return {
    journal: {
      append: told((entry) => journal.append(entry)),
      readCall: told((sessionId, callId) => journal.readCall(sessionId, callId)),
      measureCall: told((sessionId, callId) => journal.measureCall(sessionId, callId)),
      readSession: told((sessionId, scope) => journal.readSession(sessionId, scope)),
      readState: told((sessionId, subject) => journal.readState(sessionId, subject)),
      readSealed: told((sessionId, callId) => journal.readSealed(sessionId, callId)),
      whenChanged: (sessionId, callId, version, signal) =>
        journal.whenChanged(sessionId, callId, version, signal).catch(raise),
    },
    claims: {
      readClaim: told((claimKey) => claims.readClaim(claimKey)),
      readCounters: told((names) => claims.readCounters(names)),
      findUnsettledEffects: told((sessionId, toolName, digest) =>
        claims.findUnsettledEffects(sessionId, toolName, digest),
      ),
    },
    artifacts: {
      put: told((artifact) => artifacts.put(artifact)),
      read: told((sessionId, artifactId) => artifacts.read(sessionId, artifactId)),
      measure: told((sessionId, artifactId) => artifacts.measure(sessionId, artifactId)),
      readBytes: told((sessionId, artifactId, from, most) =>
        artifacts.readBytes(sessionId, artifactId, from, most),
      ),
    },
    owners: {
      ownerId: owners.ownerId,
      inHand: owners.inHand,
      statusOf: told((ownerId) => owners.statusOf(ownerId)),
      findGone: told(() => owners.findGone()),
      forget: told((ownerId) => owners.forget(ownerId)),
    },
    spill: {
      write: told((entry) => spill.write(entry)),
      canWrite: told(() => spill.canWrite()),
      read: told(() => spill.read()),
      drop: told((ownerId, lastEntryId) => spill.drop(ownerId, lastEntryId)),
    },
    queries: {
      findOpenCalls: told((query) => queries.findOpenCalls(query)),
      findCalls: told((query) => queries.findCalls(query)),
      tallyCalls: (query) => told(() => queries.tallyCalls(query))(),
      findSessions: told((query) => queries.findSessions(query)),
      findConfirmations: told((query) => queries.findConfirmations(query)),
      findConfirmation: told((confirmationId) => queries.findConfirmation(confirmationId)),
    },
    entries: {
      read: told((query) => entries.read(query)),
      measure: told((query) => entries.measure(query)),
      whenAppended: (after, signal) => entries.whenAppended(after, signal).catch(raise),
      lastPosition: told(() => entries.lastPosition()),
    },
    cursors: {
      read: told((name) => cursors.read(name)),
      list: told(() => cursors.list()),
      take: told((take) => cursors.take(take)),
      move: told((move) => cursors.move(move)),
      release: told((name, holder) => cursors.release(name, holder)),
      drop: told((name) => cursors.drop(name)),
    },
    integrity: {
      readHeads: told((sessionId) => integrity.readHeads(sessionId)),
      findHeads: told((query) => integrity.findHeads(query)),
      countSessions: told(() => integrity.countSessions()),
      readSideRows: () => integrity.readSideRows(),
      inspect: (signal) => integrity.inspect(signal),
      rebuild: told(() => integrity.rebuild()),
    },
    retention: {
      erase: told((erasure) => retention.erase(erasure)),
      dropSession: told((removal) => retention.dropSession(removal)),
    },
    sealKey: ledger.sealKey,
    now: () => ledger.now(),
    close: () => ledger.close(),
  };
}

/** For host requests other than calls: a call ends in an outcome, these in an error that says what to do. */
export async function orUnavailable<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    // An error of the ledger itself, e.g. that it was closed, says more.
    if (isQuittanceError(error.cause)) throw error.cause;
    throw new QuittanceError(
      'ledger.unavailable',
      `The ledger failed, so nothing was changed; retry: ${error.message}`,
      {},
      error,
    );
  }
}

function raise(error: unknown): never {
  throw new LedgerTrouble(error);
}
