import { QuittanceError } from '../base/error.ts';
import type { ErrorGroup, ErrorQuery } from '../ledger/summarize-errors.ts';
import { summarizeErrors } from '../ledger/summarize-errors.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { Engine } from './state/engine.ts';

/** Calls that did not succeed, grouped by who can fix the cause. */
export function listErrors({ ledger }: Engine, query: ErrorQuery): Promise<readonly ErrorGroup[]> {
  checkKeys('runtime.calls.errors', query, [
    'sessionId',
    'toolName',
    'mode',
    'code',
    'since',
    'until',
    'limit',
    'signal',
  ]);
  const { limit, since, until } = query;
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
    throw new QuittanceError(
      'config.invalid',
      'runtime.calls.errors: limit must be a whole number of at least 1.',
    );
  for (const [name, value] of Object.entries({ since, until }))
    if (value !== undefined && !Number.isFinite(value))
      throw new QuittanceError(
        'config.invalid',
        `runtime.calls.errors: ${name} must be a time in milliseconds since 1970.`,
      );
  return summarizeErrors(ledger.queries, query);
}
