import type { Given } from './command.ts';
import { UsageError } from './usage-error.ts';

/** The requested number of rows. */
export function readPageLimit(given: Given): number {
  if (given.has('all') && given.has('limit'))
    throw new UsageError('--all and --limit cannot both hold.', ['--all']);
  return given.has('all') ? Number.POSITIVE_INFINITY : (given.count('limit') ?? 50);
}
