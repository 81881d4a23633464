/** Numbers about the whole ledger for telemetry. */
import type { Ledger } from '../../ledger/ledger.ts';
import type { OpenCounts } from './telemetry.ts';

/** A count of more held calls would cost more with every one of them. */
const mostHeld = 1_000;

export async function readOpenCounts({ queries }: Pick<Ledger, 'queries'>): Promise<OpenCounts> {
  const held = await queries.findConfirmations({ status: 'pending', limit: mostHeld });
  const tallies = await queries.tallyCalls({ by: ['mode'] });
  return {
    held: held.rows.length,
    indeterminate: tallies.reduce((sum, { unresolved }) => sum + unresolved, 0),
  };
}
