/**
 * Loads the runtime of a worker from a user's module. Schemas, contracts and redaction are only known there, not in
 * the ledger.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { QuietHours } from 'quittance/internal/base/quiet-hours';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import { UsageError } from './usage-error.ts';

/** Settings of the command that the module may give to its runtime. */
export type GivenSettings = { readonly quietHours: readonly QuietHours[] };

export async function loadRuntime(
  path: string,
  ledger: OpenLedger,
  settings: GivenSettings = { quietHours: [] },
): Promise<Runtime> {
  const url = pathToFileURL(resolve(path)).href;
  let made: unknown;
  try {
    const { default: make } = (await import(url)) as { readonly default?: unknown };
    made =
      typeof make === 'function'
        ? await (make as (ledger: OpenLedger, settings: GivenSettings) => unknown)(ledger, settings)
        : undefined;
  } catch (error) {
    throw new UsageError(
      `${path} does not create a runtime: ${error instanceof Error ? error.message : String(error)}`,
      [how],
    );
  }
  if (isRuntime(made)) return made;
  throw new UsageError(`The default export of ${path} is not a function that creates a runtime.`, [how]);
}

const how = 'export default (ledger) => createRuntime({ tools, ledger });';

const isRuntime = (value: unknown): value is Runtime =>
  typeof value === 'object' &&
  value !== null &&
  'turn' in value &&
  typeof value.turn === 'function' &&
  'handoffs' in value &&
  typeof value.handoffs === 'object' &&
  'confirmations' in value &&
  typeof value.confirmations === 'object';
