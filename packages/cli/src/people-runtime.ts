import { isQuittanceError } from 'quittance/internal/base/error';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import { createRuntimeOn } from 'quittance/internal/runtime/create-runtime';
import { UsageError } from './usage-error.ts';

/**
 * A runtime without tools, for what people do at a terminal. Most of that needs no seal key, which their machine may
 * not have.
 */
export const createPeopleRuntime = (ledger: OpenLedger): Runtime =>
  createRuntimeOn({ tools: [], ledger }, { sealKey: 'on_first_use' });

/** Works with such a runtime. Says what is wrong in the terms of the command, whose help is named. */
export async function withPeopleRuntime<Result>(
  ledger: OpenLedger,
  helpLine: string,
  work: (runtime: Runtime) => Promise<Result>,
): Promise<Result> {
  const runtime = createPeopleRuntime(ledger);
  try {
    return await work(runtime);
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid'))
      throw new UsageError(error.message.replace(/^runtime\.[\w.]+: /, ''), [helpLine]);
    throw error;
  } finally {
    await runtime.close();
  }
}
