import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import type { Awaitable } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AppendResult, Entry, Journal } from '../../ledger/journal.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Clock } from '../../base/clock.ts';
import type { AppendGate } from './append-gate.ts';
import type { SafeTelemetry } from './safe-telemetry.ts';

/** The ledger could not be reached or could not write; it stored nothing of the request. */
export class LedgerTrouble extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'LedgerTrouble';
  }
}

/** Wraps a ledger so that its exceptions can be distinguished from our own mistakes. */
export function reportTrouble(ledger: Ledger, time?: CommitTime, gate?: AppendGate): Ledger {
  const reporting =
    <Input extends readonly unknown[], Output>(method: (...input: Input) => Awaitable<Output>) =>
    (...input: Input): Awaitable<Output> => {
      try {
        return orRaise(method(...input));
      } catch (error) {
        return raise(error);
      }
    };
  const { journal, claims, artifacts, owners, spill, queries, entries, cursors, integrity, retention } =
    ledger;
  return {
    journal: {
      // Every call uses these two and those marked below, so they are written out: a list of arguments is garbage.
      append(entry) {
        try {
          if (gate?.opening !== undefined)
            return orRaise(gate.opening.then(() => appendTimed(journal, entry, time)));
          return time?.telemetry.isTimed === true
            ? orRaise(appendTimed(journal, entry, time))
            : orRaise(journal.append(entry));
        } catch (error) {
          return raise(error);
        }
      },
      readCall(sessionId, callId, lookUp) {
        try {
          return orRaise(journal.readCall(sessionId, callId, lookUp));
        } catch (error) {
          return raise(error);
        }
      },
      measureCall: reporting((sessionId, callId) => journal.measureCall(sessionId, callId)),
      readSession: reporting((sessionId, scope) => journal.readSession(sessionId, scope)),
      readState: reporting((sessionId, subject) => journal.readState(sessionId, subject)),
      readSealed: reporting((sessionId, callId) => journal.readSealed(sessionId, callId)),
      whenChanged: (sessionId, callId, version, signal) =>
        journal.whenChanged(sessionId, callId, version, signal).catch(raise),
    },
    claims: {
      readClaim: reporting((claimKey) => claims.readClaim(claimKey)),
      readCounters: reporting((names) => claims.readCounters(names)),
      // Used by every call with an effect.
      findUnsettledEffects(sessionId, toolName, digest, lookUp) {
        try {
          return orRaise(claims.findUnsettledEffects(sessionId, toolName, digest, lookUp));
        } catch (error) {
          return raise(error);
        }
      },
    },
    artifacts: {
      put: reporting((artifact) => artifacts.put(artifact)),
      read: reporting((sessionId, artifactId) => artifacts.read(sessionId, artifactId)),
      measure: reporting((sessionId, artifactId) => artifacts.measure(sessionId, artifactId)),
      readBytes: reporting((sessionId, artifactId, from, most) =>
        artifacts.readBytes(sessionId, artifactId, from, most),
      ),
    },
    owners: {
      // Not copied: a ledger that is opened later knows its owner and its key later.
      get ownerId() {
        return owners.ownerId;
      },
      runtimes: owners.runtimes,
      statusOf: reporting((ownerId) => owners.statusOf(ownerId)),
      // Used by every turn with an effect.
      findGone() {
        try {
          return orRaise(owners.findGone());
        } catch (error) {
          return raise(error);
        }
      },
      forget: reporting((ownerId) => owners.forget(ownerId)),
    },
    spill: {
      write: reporting((entry) => spill.write(entry)),
      // Used by every call with an effect.
      canWrite() {
        try {
          return orRaise(spill.canWrite());
        } catch (error) {
          return raise(error);
        }
      },
      read: reporting(() => spill.read()),
      drop: reporting((ownerId, lastEntryId) => spill.drop(ownerId, lastEntryId)),
    },
    queries: {
      findOpenCalls: reporting((query) => queries.findOpenCalls(query)),
      findCalls: reporting((query) => queries.findCalls(query)),
      tallyCalls: (query) => reporting(() => queries.tallyCalls(query))(),
      countCalls: reporting((query) => queries.countCalls(query)),
      countDenials: reporting((span) => queries.countDenials(span)),
      findSessions: reporting((query) => queries.findSessions(query)),
      findConfirmations: reporting((query) => queries.findConfirmations(query)),
      findConfirmation: reporting((confirmationId) => queries.findConfirmation(confirmationId)),
    },
    entries: {
      get hasGaps() {
        return entries.hasGaps;
      },
      read: reporting((query) => entries.read(query)),
      measure: reporting((query) => entries.measure(query)),
      whenAppended: (after, signal) => entries.whenAppended(after, signal).catch(raise),
      lastPosition: reporting(() => entries.lastPosition()),
    },
    cursors: {
      read: reporting((name) => cursors.read(name)),
      list: reporting(() => cursors.list()),
      take: reporting((take) => cursors.take(take)),
      move: reporting((move) => cursors.move(move)),
      release: reporting((name, holder) => cursors.release(name, holder)),
      drop: reporting((name) => cursors.drop(name)),
    },
    // Not copied: only an open ledger says whether it has documents.
    get documents() {
      const { documents } = ledger;
      return (
        documents && {
          read: reporting((name: string, knownVersion?: number) => documents.read(name, knownVersion)),
          replace: reporting((name: string, version: number, text: string) =>
            documents.replace(name, version, text),
          ),
        }
      );
    },
    ...(ledger.ownFiles !== undefined && { ownFiles: ledger.ownFiles }),
    integrity: {
      readHeads: reporting((sessionId) => integrity.readHeads(sessionId)),
      findHeads: reporting((query) => integrity.findHeads(query)),
      countSessions: reporting(() => integrity.countSessions()),
      readSideRows: () => integrity.readSideRows(),
      inspect: (signal) => integrity.inspect(signal),
      rebuild: reporting(() => integrity.rebuild()),
    },
    retention: {
      erase: reporting((erasure) => retention.erase(erasure)),
      dropSession: reporting((removal) => retention.dropSession(removal)),
    },
    get sealKey() {
      return ledger.sealKey;
    },
    now: ledger.now,
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

/** Measures how long entries take to be stored. */
export type CommitTime = { readonly telemetry: SafeTelemetry; readonly clock: Clock };

function appendTimed(journal: Journal, entry: Entry, time: CommitTime | undefined): Awaitable<AppendResult> {
  if (time?.telemetry.isTimed !== true) return journal.append(entry);
  const sinceMs = time.clock.monotonicMs();
  const appending = journal.append(entry);
  return isPromiseLike(appending)
    ? appending.then((answer) => noteCommit(time, sinceMs, answer))
    : noteCommit(time, sinceMs, appending);
}

function noteCommit({ telemetry, clock }: CommitTime, sinceMs: number, answer: AppendResult): AppendResult {
  telemetry.noteTime('commit', clock.monotonicMs() - sinceMs);
  return answer;
}

const orRaise = <Answer>(answer: Awaitable<Answer>): Awaitable<Answer> =>
  isPromiseLike(answer) ? answer.then(undefined, raise) : answer;

function raise(error: unknown): never {
  throw new LedgerTrouble(error);
}
