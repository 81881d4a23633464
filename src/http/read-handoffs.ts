/**
 * Calls that wait for a worker or that a worker runs. This only reads: it leaves out a call whose time is up. The waiting
 * process, the next claim or recovery ends that call.
 */
import { dueAt, isHandoff } from '../call/handoff.ts';
import type { CallSummary } from '../ledger/call-query.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { HandoffView } from '../runtime/handoff/list-handoffs.ts';
import { toHandoffView } from '../runtime/handoff/list-handoffs.ts';
import type { HandoffList, HandoffListQuery } from './api/handoff.ts';
import type { BoundedReads, LargeCall } from './bounded-reads.ts';

export async function readHandoffs(
  reads: BoundedReads,
  { toolName, limit = 100 }: HandoffListQuery,
): Promise<HandoffList> {
  const { ledger } = reads;
  const rows: HandoffView[] = [];
  const large: LargeCall[] = [];
  for (const { sessionId, callId } of await findRunning(ledger, toolName)) {
    if (rows.length >= limit || reads.isSpent) break;
    const stored = await reads.call({ sessionId, callId });
    if (stored === 'large') {
      large.push(await reads.sizeOf({ sessionId, callId }));
      continue;
    }
    const call = stored && foldStored(stored);
    if (call === undefined || !isHandoff(call) || ledger.now() >= dueAt(call)) continue;
    rows.push(toHandoffView(call, ledger.now()));
  }
  return { rows, ...(large.length > 0 && { large }) };
}

/** The list is not longer than this. */
const mostRunning = 2_000;

/** Running calls without an outcome, oldest first. Held and settled calls are not read. */
async function findRunning(ledger: Ledger, toolName: string | undefined): Promise<readonly CallSummary[]> {
  const found: CallSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await ledger.queries.findCalls({ status: 'running', toolName, cursor, limit: 200 });
    found.push(...page.rows);
    cursor = page.next;
  } while (cursor !== undefined && found.length < mostRunning);
  return found.toReversed();
}
