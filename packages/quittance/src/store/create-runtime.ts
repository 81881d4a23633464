import { checkObject } from '../base/check-keys.ts';
import type { MadeCalls, OpenLedger, Spill, StoreTrouble } from '../ledger/ledger.ts';
import type { Runtime, RuntimeOptions } from '../runtime/create-runtime.ts';
import { createRuntimeOn } from '../runtime/create-runtime.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { createMemoryLedger } from './memory/memory-ledger.ts';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../base/deadlines.ts';
import type { openLedger } from './open-ledger.ts';
import { parseLedgerUrl } from './ledger-url.ts';
import { postgresOwnFiles, postgresPackage } from './postgres-package.ts';
import { findGivenSealKey, needSealKey } from './seal-key.ts';
import { loadDriver } from './sqlite/database.ts';
import { fileHasKey } from './sqlite/key-check.ts';
import { readSealKeyFile } from './sqlite/seal-key-file.ts';

import { closedError } from '../ledger/prepare-entry.ts';
import type { OwnFile } from '../policy/own-files/own-file.ts';

/**
 * Creates a runtime for these tools. `ledger` is an open ledger or a URL as `openLedger` takes it. Without a ledger the
 * runtime stores its records in memory, where they end with the process.
 *
 * The runtime opens the ledger of a URL with the first call, and closes it with itself. An invalid URL throws at once.
 * While the ledger cannot be opened, calls end as `ledger.unavailable`, and the next call tries again.
 */
export function createRuntime<const Tools extends readonly AnyTool[]>(
  options: Omit<RuntimeOptions<Tools>, 'ledger'> & { readonly ledger?: OpenLedger | string },
): Runtime<Tools> {
  checkObject('createRuntime', options);
  const { ledger: given, clock } = options;
  if (typeof given !== 'string')
    return createRuntimeOn<Tools>({
      ...options,
      ledger: given ?? createMemoryLedger(clock && { clock }),
    });
  const ledger = createLedgerAt(given, { clock });
  const runtime = createRuntimeOn<Tools>({ ...options, ledger }, { sealKey: 'on_first_use' });
  return {
    ...runtime,
    async close() {
      await runtime.close();
      await ledger.close();
    },
  };
}

/** A ledger that is opened with its first use. A mistake in its URL and a missing driver throw at once. */

function createLedgerAt(url: string, { clock }: { readonly clock?: Clock | undefined } = {}): OpenLedger {
  const address = parseLedgerUrl(url);
  const now = (): number => clock?.now() ?? Date.now();
  switch (address.kind) {
    case 'memory':
      return createMemoryLedger(clock && { clock });
    case 'sqlite': {
      // As an absolute path: the process may change its folder before the first call.
      const path = resolve(address.path);
      loadDriver();
      return createLazyLedger({
        open: async () => (await loadOpener()).openLedger(`sqlite:${path}`, { clock }),
        now,
        ownFiles: [{ path, kind: 'ledger', access: 'sealed', withCompanions: true }],
        sealKey() {
          mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
          return readFileKey(path);
        },
      });
    }
    case 'postgres': {
      const { requireDriver, withPgEnvironment } = postgresPackage();
      requireDriver();
      withPgEnvironment(url, process.env);
      const { sealKey, sealKeyFile, readSealKey } = needSealKey(process.env, {});
      const options = { clock, sealKey, sealKeyFile, readSealKey, spillFolder: resolve('.quittance/spill') };
      return createLazyLedger({
        open: async () => (await loadOpener()).openLedger(url, options),
        now,
        ownFiles: postgresOwnFiles(options),
        sealKey: () => sealKey,
      });
    }
  }
}

/** As `openLedger` finds it. */
const readFileKey = (path: string): Uint8Array =>
  (existsSync(`${path}.key`) ? undefined : findGivenSealKey(process.env, {})?.sealKey) ??
  readSealKeyFile(`${path}.key`, fileHasKey(path) ? 'sealed' : 'make');

/** Loaded with the first ledger, because a program that opens its ledger elsewhere does not need it. */
const loadOpener = async (): Promise<{ readonly openLedger: typeof openLedger }> =>
  import('./open-ledger.ts');

/**
 * A ledger that is opened with its first use.
 *
 * 1. Callers that come while it is being opened share one attempt.
 * 2. A failed attempt fails the callers that wait for it. The next caller tries again, so the ledger works as soon as
 *    its server does.
 */

type Watcher = { readonly listener: (trouble: StoreTrouble) => void; readonly signal: AbortSignal };

type LazyLedgerParts = {
  readonly open: () => Promise<OpenLedger>;
  /** The clock until the ledger is open. */
  readonly now: () => number;
  readonly sealKey: () => Uint8Array;
  readonly ownFiles: readonly OwnFile[];
};

/** Members that answer at once. Every other member waits until the ledger is open. */
type KnownMembers = Required<
  Pick<
    OpenLedger,
    | 'ownerId'
    | 'runtimes'
    | 'inspect'
    | 'spill'
    | 'ownFiles'
    | 'sealKey'
    | 'readSealKey'
    | 'watchTrouble'
    | 'now'
    | 'close'
  >
> &
  Pick<OpenLedger, 'documents'>;

export function createLazyLedger(parts: LazyLedgerParts): OpenLedger {
  const watchers = new Set<Watcher>();
  let opened: OpenLedger | undefined;
  let opening: Promise<OpenLedger> | undefined;
  let isClosed = false;

  const open = (): Promise<OpenLedger> => {
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
  /** Any method of the ledger, or of its member `of`, as soon as it is open. */
  const forward =
    (of: 'spill' | undefined, member: string | symbol) =>
    async (...asked: unknown[]): Promise<unknown> => {
      const ledger = opened ?? (await open());
      const target = of === undefined ? ledger : ledger[of];
      // The type of the ledger says which methods it has, so the caller's compiler has checked this.
      return Reflect.apply(Reflect.get(target, member) as () => unknown, target, asked);
    };
  const runtimes = new Set<MadeCalls>();

  const known: KnownMembers = {
    // Compared only with owners of entries, which are read from the open ledger.
    get ownerId() {
      return opened?.ownerId ?? '';
    },
    runtimes,
    async *inspect(signal) {
      yield* (opened ?? (await open())).inspect(signal);
    },
    spill: new Proxy({} as Spill, { get: (_target, member) => forward('spill', member) }),
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
  const forwarded = new Map<string | symbol, unknown>();
  return new Proxy(known as OpenLedger, {
    get(target, member) {
      if (member in target) return Reflect.get(target, member);
      // A promise resolves with a ledger by looking for `then`.
      if (member === 'then') return undefined;
      if (!forwarded.has(member)) forwarded.set(member, forward(undefined, member));
      return forwarded.get(member);
    },
  });
}
