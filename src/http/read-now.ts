/** What waits right now: for a decision, for a resolution, for another process. */
import type { BoundedReads } from './bounded-reads.ts';
import { isHandoff } from '../call/handoff.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { Stats } from './api/stats.ts';

const mostHeld = 1_000;
const mostRunning = 500;
/** Running calls are rare, so that few rows are looked at. */
const mostScanned = 20_000;
/** Waiting calls that are named. */
const mostNamed = 5;

export async function readNow(reads: BoundedReads): Promise<Stats['now']> {
  const { queries } = reads.ledger;
  const [statuses, held] = await Promise.all([
    queries.tallyCalls({ by: ['status'] }),
    queries.findConfirmations({ status: 'pending', limit: mostHeld }),
  ]);
  const unresolved = statuses.reduce((sum, each) => sum + each.unresolved, 0);
  const isRunning = statuses.some(({ status, calls }) => status === 'running' && calls > 0);
  const [handedOff, doubtful] = await Promise.all([
    isRunning ? countHandedOff(reads) : { count: 0, exact: true },
    unresolved === 0 ? undefined : queries.findCalls({ unresolved: true, limit: mostHeld }),
  ]);
  return {
    held: held.rows.length,
    open: statuses.reduce((sum, { status, calls }) => sum + (status === 'settled' ? 0 : calls), 0),
    unresolved,
    handedOff: handedOff.count,
    waiting: oldest(held.rows).map(({ confirmationId, toolName, askedAt, expiresAt }) => ({
      confirmationId,
      toolName,
      askedAt,
      expiresAt,
    })),
    doubtful: oldest(doubtful?.rows ?? []).map(({ sessionId, callId, toolName, requestedAt }) => ({
      sessionId,
      callId,
      toolName,
      requestedAt,
    })),
    exact: held.next === undefined && handedOff.exact,
  };
}

/** Lists are newest first. */
const oldest = <Row>(rows: readonly Row[]): readonly Row[] => rows.slice(-mostNamed).reverse();

/** The number of running calls that another process runs. Only their events tell. */
async function countHandedOff(
  reads: BoundedReads,
): Promise<{ readonly count: number; readonly exact: boolean }> {
  const { rows, next } = await reads.ledger.queries.findCalls({
    status: 'running',
    limit: mostRunning,
    scan: mostScanned,
  });
  let count = 0;
  let isWhole = next === undefined;
  for (const stored of await reads.calls(rows)) {
    if (stored === 'large') isWhole = false;
    const call = stored === 'large' || stored === undefined ? undefined : foldStored(stored);
    if (call !== undefined && isHandoff(call)) count++;
  }
  return { count, exact: isWhole };
}
