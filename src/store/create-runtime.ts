import { checkObject } from '../base/check-keys.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Runtime } from '../runtime/create-runtime.ts';
import { createRuntimeOn } from '../runtime/create-runtime.ts';
import type { RuntimeOptions } from '../runtime/runtime-options.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { createLedgerAt } from './create-ledger-at.ts';
import { createMemoryLedger } from './memory/memory-ledger.ts';

/**
 * Creates a runtime for these tools. `ledger` is an open ledger or a URL as `openLedger` takes it. Without a ledger the
 * runtime stores its records in memory, where they end with the process.
 *
 * The runtime opens the ledger of a URL with the first call, and closes it with itself. An invalid URL throws at once.
 * While the ledger cannot be opened, calls end as `ledger.unavailable`, and the next call tries again.
 */
export function createRuntime<const Tools extends readonly AnyTool[]>(
  options: Omit<RuntimeOptions<Tools>, 'ledger'> & { readonly ledger?: Ledger | string },
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
