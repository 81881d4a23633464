/**
 * A ledger that is opened with its first use.
 *
 * 1. Callers that come while it is being opened share one attempt.
 * 2. A failed attempt fails the callers that wait for it. The next caller tries again, so the ledger works as soon as
 *    its server does.
 */
import type { Awaitable } from '../base/json.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { closedError } from '../ledger/refuse-entry.ts';
import type { OwnFile } from '../policy/own-files/own-file.ts';

export type LazyLedgerParts = {
  readonly open: () => Promise<Ledger>;
  /** The clock until the ledger is open. */
  readonly now: () => number;
  readonly sealKey: () => Uint8Array;
  readonly ownFiles: readonly OwnFile[];
};

export function createLazyLedger(parts: LazyLedgerParts): Ledger {
  let opened: Ledger | undefined;
  let opening: Promise<Ledger> | undefined;
  let isClosed = false;

  const open = (): Promise<Ledger> => {
    if (isClosed) return Promise.reject(closedError());
    opening ??= parts.open().then(
      (ledger) => {
        opened = ledger;
        return ledger;
      },
      (error: unknown) => {
        opening = undefined;
        throw error;
      },
    );
    return opening;
  };
  const on = <Result>(work: (ledger: Ledger) => Awaitable<Result>): Awaitable<Result> =>
    opened === undefined ? open().then(work) : work(opened);
  const later = async <Result>(work: (ledger: Ledger) => Awaitable<Result>): Promise<Result> => on(work);
  async function* each<Item>(list: (ledger: Ledger) => AsyncIterable<Item>): AsyncGenerator<Item> {
    yield* list(opened ?? (await open()));
  }

  return {
    journal: {
      append: (entry) => on(({ journal }) => journal.append(entry)),
      readCall: (sessionId, callId) => on(({ journal }) => journal.readCall(sessionId, callId)),
      measureCall: (sessionId, callId) => on(({ journal }) => journal.measureCall(sessionId, callId)),
      readSession: (sessionId, scope) => on(({ journal }) => journal.readSession(sessionId, scope)),
      readState: (sessionId, subject) => on(({ journal }) => journal.readState(sessionId, subject)),
      readSealed: (sessionId, callId) => on(({ journal }) => journal.readSealed(sessionId, callId)),
      whenChanged: (sessionId, callId, version, signal) =>
        later(({ journal }) => journal.whenChanged(sessionId, callId, version, signal)),
    },
    claims: {
      readClaim: (claimKey) => on(({ claims }) => claims.readClaim(claimKey)),
      readCounters: (names) => on(({ claims }) => claims.readCounters(names)),
      findUnsettledEffects: (sessionId, toolName, digest) =>
        on(({ claims }) => claims.findUnsettledEffects(sessionId, toolName, digest)),
    },
    artifacts: {
      put: (artifact) => on(({ artifacts }) => artifacts.put(artifact)),
      read: (sessionId, artifactId) => on(({ artifacts }) => artifacts.read(sessionId, artifactId)),
      measure: (sessionId, artifactId) => on(({ artifacts }) => artifacts.measure(sessionId, artifactId)),
      readBytes: (sessionId, artifactId, from, most) =>
        on(({ artifacts }) => artifacts.readBytes(sessionId, artifactId, from, most)),
    },
    owners: {
      // Compared only with owners of entries, which are read from the open ledger.
      get ownerId() {
        return opened?.owners.ownerId ?? '';
      },
      runtimes: new Set(),
      statusOf: (ownerId) => on(({ owners }) => owners.statusOf(ownerId)),
      findGone: () => on(({ owners }) => owners.findGone()),
      forget: (ownerId) => on(({ owners }) => owners.forget(ownerId)),
    },
    spill: {
      write: (entry) => on(({ spill }) => spill.write(entry)),
      canWrite: () => on(({ spill }) => spill.canWrite()),
      read: () => on(({ spill }) => spill.read()),
      drop: (ownerId, lastEntryId) => on(({ spill }) => spill.drop(ownerId, lastEntryId)),
    },
    queries: {
      findOpenCalls: (query) => on(({ queries }) => queries.findOpenCalls(query)),
      findCalls: (query) => on(({ queries }) => queries.findCalls(query)),
      tallyCalls: (query) => on(({ queries }) => queries.tallyCalls(query)),
      countCalls: (query) => on(({ queries }) => queries.countCalls(query)),
      countDenials: (span) => on(({ queries }) => queries.countDenials(span)),
      findSessions: (query) => on(({ queries }) => queries.findSessions(query)),
      findConfirmations: (query) => on(({ queries }) => queries.findConfirmations(query)),
      findConfirmation: (confirmationId) => on(({ queries }) => queries.findConfirmation(confirmationId)),
    },
    entries: {
      get hasGaps() {
        return opened?.entries.hasGaps;
      },
      read: (query) => on(({ entries }) => entries.read(query)),
      measure: (query) => on(({ entries }) => entries.measure(query)),
      whenAppended: (after, signal) => later(({ entries }) => entries.whenAppended(after, signal)),
      lastPosition: () => on(({ entries }) => entries.lastPosition()),
    },
    cursors: {
      read: (name) => on(({ cursors }) => cursors.read(name)),
      list: () => on(({ cursors }) => cursors.list()),
      take: (take) => on(({ cursors }) => cursors.take(take)),
      move: (move) => on(({ cursors }) => cursors.move(move)),
      release: (name, holder) => on(({ cursors }) => cursors.release(name, holder)),
      drop: (name) => on(({ cursors }) => cursors.drop(name)),
    },
    integrity: {
      readHeads: (sessionId) => on(({ integrity }) => integrity.readHeads(sessionId)),
      findHeads: (query) => on(({ integrity }) => integrity.findHeads(query)),
      countSessions: () => on(({ integrity }) => integrity.countSessions()),
      readSideRows: () => each(({ integrity }) => integrity.readSideRows()),
      inspect: (signal) => each(({ integrity }) => integrity.inspect(signal)),
      rebuild: () => on(({ integrity }) => integrity.rebuild()),
    },
    retention: {
      erase: (erasure) => on(({ retention }) => retention.erase(erasure)),
      dropSession: (removal) => on(({ retention }) => retention.dropSession(removal)),
    },
    ownFiles: parts.ownFiles,
    get sealKey() {
      return opened?.sealKey ?? parts.sealKey();
    },
    now: () => opened?.now() ?? parts.now(),
    async close() {
      isClosed = true;
      // An attempt that fails leaves nothing to close.
      const ledger = opened ?? (await opening?.catch(() => undefined));
      await ledger?.close();
    },
  };
}
