/** The name and the reason that a permanent removal is recorded with. */
import { isQuittanceError } from '../base/error.ts';
import type { RemovalReason } from '../ledger/removal.ts';
import type { Context, Given, Options } from './command.ts';
import { exitCodes } from './exit-code.ts';
import { proofOptions, requireDecider } from './proof.ts';
import { UsageError } from './usage-error.ts';

export const removalOptions: Options = {
  by: { value: 'NAME', help: 'Name recorded with the removal; default: the user of the system' },
  reason: { value: 'TEXT', help: 'Reason recorded with the removal' },
  ...proofOptions,
  json: { help: 'JSON instead of text: one line' },
};

/** Asks who removes. */
export async function readRemovalReason(
  given: Given,
  context: Context,
  { line, question, word }: { readonly line: string; readonly question: string; readonly word: string },
): Promise<RemovalReason> {
  const reason = given.text('reason');
  if (reason === undefined)
    throw new UsageError('A removal is recorded with a reason: --reason TEXT.', [line]);
  const byDefault = context.userName;
  const decider = await requireDecider(given, context, { role: 'admin', byDefault, line, question, word });
  return { ...decider, reason };
}

/** A call that must stay is an answer, not a failure of the program. */
export function toUsageError(error: unknown): never {
  if (!isQuittanceError(error, 'ledger.in_use')) throw error;
  throw new UsageError(error.message, ['quittance pending', 'quittance reconcile'], exitCodes.bad);
}
