import type { Ledger } from '../../ledger/ledger.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import { createRuntimeOn } from '../../runtime/create-runtime.ts';
import type { RuntimeOptions } from '../../runtime/runtime-options.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { createMemoryLedger } from './memory-ledger.ts';

/**
 * Creates a runtime for these tools. Without a ledger it stores its records in memory, where they end with the
 * process. Pass a ledger for calls that must be explainable later.
 */
export function createRuntime<const Tools extends readonly AnyTool[]>(
  options: Omit<RuntimeOptions<Tools>, 'ledger'> & { readonly ledger?: Ledger },
): Runtime<Tools> {
  const ledger = options.ledger ?? createMemoryLedger(options.clock && { clock: options.clock });
  return createRuntimeOn<Tools>({ ...options, ledger });
}
