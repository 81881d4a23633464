/** The name and the reason that a permanent removal is recorded with. */
import { isQuittanceError } from 'quittance/internal/base/error';
import type { RemovalReason } from 'quittance/internal/ledger/removal';
import { limits } from 'quittance/internal/call/limits';
import type { Context, Effect, Given, Options } from './command.ts';
import { exitCodes } from './exit-code.ts';
import { proofOf, proofOptions } from './proof.ts';
import { UsageError } from './usage-error.ts';

export const removalOptions: Options = {
  by: { value: 'NAME', help: 'Name recorded with the removal; default: the user of the system' },
  reason: { value: 'TEXT', help: 'Reason recorded with the removal' },
  ...proofOptions,
  json: { help: 'JSON instead of text: one line' },
};

/** The effect of a removal. It is recorded with a reason. */
export function removalEffect(
  given: Given,
  { userName: byDefault }: Context,
  { line, ...asks }: { readonly line: string; readonly question: string; readonly word: string },
): Effect {
  if (!given.has('reason'))
    throw new UsageError('A removal is recorded with a reason: --reason TEXT.', [line]);
  const { shortReasonChars } = limits;
  if ((given.text('reason') ?? '').length > shortReasonChars)
    throw new UsageError(`--reason has at most ${shortReasonChars.toLocaleString('en')} characters.`, [line]);
  return { kind: 'decides', role: 'admin', byDefault, line, asks };
}

export const readRemovalReason = (given: Given, context: Context): RemovalReason => ({
  ...proofOf(context).decider,
  reason: given.text('reason') ?? '',
});

/** A call that must stay is an answer, not a failure of the program. */
export function toUsageError(error: unknown): never {
  if (!isQuittanceError(error, 'ledger.in_use')) throw error;
  throw new UsageError(error.message, ['quittance pending', 'quittance reconcile'], exitCodes.bad);
}
