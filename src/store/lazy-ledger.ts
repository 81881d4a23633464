/**
 * A ledger that is opened with its first use.
 *
 * 1. Callers that come while it is being opened share one attempt.
 * 2. A failed attempt fails the callers that wait for it. The next caller tries again, so the ledger works as soon as
 *    its server does.
 */
import type { Awaitable } from '../base/json.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { StoreTrouble } from '../ledger/store-trouble.ts';
import { closedError } from '../ledger/refuse-entry.ts';
import type { OwnFile } from '../policy/own-files/own-file.ts';

type Watcher = { readonly listener: (trouble: StoreTrouble) => void; readonly signal: AbortSignal };

export type LazyLedgerParts = {
  readonly open: () => Promise<Ledger>;
  /** The clock until the ledger is open. */
  readonly now: () => number;
  readonly sealKey: () => Uint8Array;
  readonly ownFiles: readonly OwnFile[];
};

/**
 * `Required`: a member of the ledger that is missing here does not compile, also if it is optional. Only an open ledger
 * says whether it has documents.
 */
type LazyLedger = Omit<Required<Ledger>, 'documents'> & Pick<Ledger, 'documents'>;

export function createLazyLedger(parts: LazyLedgerParts): LazyLedger {
  const watchers = new Set<Watcher>();
  let opened: Ledger | undefined;
  let opening: Promise<Ledger> | undefined;
  let isClosed = false;

  const open = (): Promise<Ledger> => {
    if (isClosed) return Promise.reject(closedError());
    opening ??= parts.open().then(
      (ledger) => {
        opened = ledger;
        for (const { listener, signal } of watchers) ledger.watchTrouble?.(listener, signal);
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

  // Methods pass on whatever they are given: an argument that is lost here changes an answer, and no type shows it.
  return {
    journal: {
      // Every call uses these two, and `findUnsettledEffects`, so they are written out: a list of arguments is garbage.
      append: (entry) =>
        opened === undefined ? on(({ journal }) => journal.append(entry)) : opened.journal.append(entry),
      readCall: (sessionId, callId, lookUp) =>
        opened === undefined
          ? on(({ journal }) => journal.readCall(sessionId, callId, lookUp))
          : opened.journal.readCall(sessionId, callId, lookUp),
      measureCall: (...asked) => on(({ journal }) => journal.measureCall(...asked)),
      readSession: (...asked) => on(({ journal }) => journal.readSession(...asked)),
      readState: (...asked) => on(({ journal }) => journal.readState(...asked)),
      readSealed: (...asked) => on(({ journal }) => journal.readSealed(...asked)),
      whenChanged: (...asked) => later(({ journal }) => journal.whenChanged(...asked)),
    },
    claims: {
      readClaim: (...asked) => on(({ claims }) => claims.readClaim(...asked)),
      readCounters: (...asked) => on(({ claims }) => claims.readCounters(...asked)),
      findUnsettledEffects: (sessionId, toolName, digest, lookUp) =>
        opened === undefined
          ? on(({ claims }) => claims.findUnsettledEffects(sessionId, toolName, digest, lookUp))
          : opened.claims.findUnsettledEffects(sessionId, toolName, digest, lookUp),
    },
    artifacts: {
      put: (...asked) => on(({ artifacts }) => artifacts.put(...asked)),
      read: (...asked) => on(({ artifacts }) => artifacts.read(...asked)),
      measure: (...asked) => on(({ artifacts }) => artifacts.measure(...asked)),
      readBytes: (...asked) => on(({ artifacts }) => artifacts.readBytes(...asked)),
    },
    owners: {
      // Compared only with owners of entries, which are read from the open ledger.
      get ownerId() {
        return opened?.owners.ownerId ?? '';
      },
      runtimes: new Set(),
      statusOf: (...asked) => on(({ owners }) => owners.statusOf(...asked)),
      findGone: (...asked) => on(({ owners }) => owners.findGone(...asked)),
      forget: (...asked) => on(({ owners }) => owners.forget(...asked)),
    },
    spill: {
      write: (...asked) => on(({ spill }) => spill.write(...asked)),
      canWrite: (...asked) => on(({ spill }) => spill.canWrite(...asked)),
      read: (...asked) => on(({ spill }) => spill.read(...asked)),
      drop: (...asked) => on(({ spill }) => spill.drop(...asked)),
    },
    queries: {
      findOpenCalls: (...asked) => on(({ queries }) => queries.findOpenCalls(...asked)),
      findCalls: (...asked) => on(({ queries }) => queries.findCalls(...asked)),
      tallyCalls: (...asked) => on(({ queries }) => queries.tallyCalls(...asked)),
      countCalls: (...asked) => on(({ queries }) => queries.countCalls(...asked)),
      countDenials: (...asked) => on(({ queries }) => queries.countDenials(...asked)),
      findSessions: (...asked) => on(({ queries }) => queries.findSessions(...asked)),
      findConfirmations: (...asked) => on(({ queries }) => queries.findConfirmations(...asked)),
      findConfirmation: (...asked) => on(({ queries }) => queries.findConfirmation(...asked)),
    },
    entries: {
      get hasGaps() {
        return opened?.entries.hasGaps;
      },
      read: (...asked) => on(({ entries }) => entries.read(...asked)),
      measure: (...asked) => on(({ entries }) => entries.measure(...asked)),
      whenAppended: (...asked) => later(({ entries }) => entries.whenAppended(...asked)),
      lastPosition: (...asked) => on(({ entries }) => entries.lastPosition(...asked)),
    },
    cursors: {
      read: (...asked) => on(({ cursors }) => cursors.read(...asked)),
      list: (...asked) => on(({ cursors }) => cursors.list(...asked)),
      take: (...asked) => on(({ cursors }) => cursors.take(...asked)),
      move: (...asked) => on(({ cursors }) => cursors.move(...asked)),
      release: (...asked) => on(({ cursors }) => cursors.release(...asked)),
      drop: (...asked) => on(({ cursors }) => cursors.drop(...asked)),
    },
    integrity: {
      readHeads: (...asked) => on(({ integrity }) => integrity.readHeads(...asked)),
      findHeads: (...asked) => on(({ integrity }) => integrity.findHeads(...asked)),
      countSessions: (...asked) => on(({ integrity }) => integrity.countSessions(...asked)),
      readSideRows: (...asked) => each(({ integrity }) => integrity.readSideRows(...asked)),
      inspect: (...asked) => each(({ integrity }) => integrity.inspect(...asked)),
      rebuild: (...asked) => on(({ integrity }) => integrity.rebuild(...asked)),
    },
    retention: {
      erase: (...asked) => on(({ retention }) => retention.erase(...asked)),
      dropSession: (...asked) => on(({ retention }) => retention.dropSession(...asked)),
    },
    get documents() {
      return opened?.documents;
    },
    ownFiles: parts.ownFiles,
    get sealKey() {
      return opened?.sealKey ?? parts.sealKey();
    },
    readSealKey: () => opened?.readSealKey?.(),
    watchTrouble(listener, signal) {
      const watcher = { listener, signal };
      watchers.add(watcher);
      signal.addEventListener('abort', () => watchers.delete(watcher), { once: true });
      opened?.watchTrouble?.(listener, signal);
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
