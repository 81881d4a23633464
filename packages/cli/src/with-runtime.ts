import { isQuittanceError } from 'quittance/internal/base/error';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { Context, Given } from './command.ts';
import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';
import { loadRuntime } from './load-runtime.ts';
import { requireOption } from './require-option.ts';
import { UsageError } from './usage-error.ts';

/**
 * Works with the runtime of the module that `--runtime` names: only a runtime that has the tool can do this. An error
 * with one of the `refusals` becomes a message with a command to try.
 */
export async function withRuntime(
  given: Given,
  context: Context,
  {
    line,
    refusals,
    tryThis,
  }: {
    /** A complete command, for a missing option. */
    readonly line: string;
    readonly refusals: readonly Parameters<typeof isQuittanceError>[1][];
    readonly tryThis: readonly string[];
  },
  work: (runtime: Runtime, ledger: OpenLedger, meant: Given) => Promise<ExitCode>,
): Promise<ExitCode> {
  const file = requireOption(given, 'runtime', 'Only a runtime that has the tool can do this', line);
  return context.withLedger(
    given,
    async (ledger, meant) => {
      const runtime = await loadRuntime(file, ledger);
      try {
        return await work(runtime, ledger, meant);
      } catch (error) {
        if (isQuittanceError(error) && refusals.some((code) => isQuittanceError(error, code)))
          throw new UsageError(error.message, tryThis, exitCodes.bad);
        throw error;
      } finally {
        await runtime.close();
      }
    },
    'write',
  );
}
