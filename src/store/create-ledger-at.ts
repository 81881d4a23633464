/** A ledger that is opened with its first use. A mistake in its URL and a missing driver throw at once. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { openLedger } from './open-ledger.ts';
import { createLazyLedger } from './lazy-ledger.ts';
import { parseLedgerUrl } from './ledger-url.ts';
import { createMemoryLedger } from './memory/memory-ledger.ts';
import { requireDriver } from './postgres/pg-driver.ts';
import { withPgEnvironment } from './postgres/pg-environment.ts';
import { postgresOwnFiles } from './postgres/postgres-own-files.ts';
import { findGivenSealKey, needSealKey } from './seal-key.ts';
import { loadDriver } from './sqlite/database.ts';
import { fileHasKey } from './sqlite/key-check.ts';
import { readSealKeyFile } from './sqlite/seal-key-file.ts';

export function createLedgerAt(url: string, { clock }: { readonly clock?: Clock | undefined } = {}): Ledger {
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
