import { isQuittanceError, QuittanceError } from '../base/error.ts';
import type { Awaitable } from '../base/json.ts';
import { isPromiseLike } from '../base/when-ready.ts';
import type { Ledger } from './ledger.ts';

/** The ledger could not be reached or could not write; nothing of what was asked is kept. */
export class LedgerTrouble extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'LedgerTrouble';
  }
}

/** The same ledger, whose exceptions can be told from mistakes of our own. */
export function tellTrouble(ledger: Ledger): Ledger {
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
  return {
    append: told((entry) => ledger.append(entry)),
    readCall: told((sessionId, callId) => ledger.readCall(sessionId, callId)),
    measureCall: told((sessionId, callId) => ledger.measureCall(sessionId, callId)),
    readSession: told((sessionId, scope) => ledger.readSession(sessionId, scope)),
    readClaim: told((claimKey) => ledger.readClaim(claimKey)),
    readCounters: told((names) => ledger.readCounters(names)),
    findUnsettledEffects: told((sessionId, toolName, digest) =>
      ledger.findUnsettledEffects(sessionId, toolName, digest),
    ),
    readState: told((sessionId, subject) => ledger.readState(sessionId, subject)),
    readSealed: told((sessionId, callId) => ledger.readSealed(sessionId, callId)),
    putArtifact: told((artifact) => ledger.putArtifact(artifact)),
    readArtifact: told((sessionId, artifactId) => ledger.readArtifact(sessionId, artifactId)),
    measureArtifact: told((sessionId, artifactId) => ledger.measureArtifact(sessionId, artifactId)),
    readArtifactBytes: told((sessionId, artifactId, from, most) =>
      ledger.readArtifactBytes(sessionId, artifactId, from, most),
    ),
    whenChanged: (sessionId, callId, version, signal) =>
      ledger.whenChanged(sessionId, callId, version, signal).catch(raise),
    findOpenCalls: told((query) => ledger.findOpenCalls(query)),
    queryCalls: told((query) => ledger.queryCalls(query)),
    tallyCalls: (query) => told(() => ledger.tallyCalls(query))(),
    querySessions: told((query) => ledger.querySessions(query)),
    queryConfirmations: told((query) => ledger.queryConfirmations(query)),
    findConfirmation: told((confirmationId) => ledger.findConfirmation(confirmationId)),
    readEntries: told((query) => ledger.readEntries(query)),
    measureEntries: told((query) => ledger.measureEntries(query)),
    readBeside: () => ledger.readBeside(),
    inspect: (signal) => ledger.inspect(signal),
    readHeads: told((sessionId) => ledger.readHeads(sessionId)),
    queryHeads: told((query) => ledger.queryHeads(query)),
    countSessions: told(() => ledger.countSessions()),
    whenAppended: (after, signal) => ledger.whenAppended(after, signal).catch(raise),
    lastPosition: told(() => ledger.lastPosition()),
    readCursor: told((name) => ledger.readCursor(name)),
    readCursors: told(() => ledger.readCursors()),
    takeCursor: told((take) => ledger.takeCursor(take)),
    moveCursor: told((move) => ledger.moveCursor(move)),
    releaseCursor: told((name, holder) => ledger.releaseCursor(name, holder)),
    dropCursor: told((name) => ledger.dropCursor(name)),
    erase: told((erasure) => ledger.erase(erasure)),
    dropSession: told((removal) => ledger.dropSession(removal)),
    rebuild: told(() => ledger.rebuild()),
    ownerId: ledger.ownerId,
    findGoneOwners: told(() => ledger.findGoneOwners()),
    forgetOwner: told((ownerId) => ledger.forgetOwner(ownerId)),
    ownerStatus: told((ownerId) => ledger.ownerStatus(ownerId)),
    spill: told((entry) => ledger.spill(entry)),
    canSpill: told(() => ledger.canSpill()),
    readSpills: told(() => ledger.readSpills()),
    dropSpill: told((ownerId, lastEntryId) => ledger.dropSpill(ownerId, lastEntryId)),
    now: () => ledger.now(),
    inHand: ledger.inHand,
    sealKey: ledger.sealKey,
    close: () => ledger.close(),
  };
}

/** For what a host asks of a runtime beside calls: they end in an outcome, this in an error that says what to do. */
export async function orUnavailable<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    // A refusal of the ledger's own, e.g. that it was closed, says more.
    if (isQuittanceError(error.cause)) throw error.cause;
    throw new QuittanceError(
      'ledger.unavailable',
      `The ledger could not be used, so nothing was changed; ask again: ${error.message}`,
      {},
      error,
    );
  }
}

function raise(error: unknown): never {
  throw new LedgerTrouble(error);
}
