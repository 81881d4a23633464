/**
 * Calls that wait for a worker or that a worker has. Reads only: a call whose time is up is left out here, and ended by
 * the process that waits for it, by the next claim, or by recovery.
 */
import { dueAt, isHandedOver } from '../call/handoff.ts';
import { foldStored } from '../runtime/fold-stored.ts';
import type { HandoffView } from '../runtime/list-handoffs.ts';
import { toHandoffView } from '../runtime/list-handoffs.ts';
import type { HandoffList } from './api/handoff.ts';
import type { BoundedReads, LargeCall } from './bounded-reads.ts';

export type HandoffFilters = { readonly toolName?: string; readonly limit?: number };

export async function readHandoffs(
  reads: BoundedReads,
  { toolName, limit = 100 }: HandoffFilters,
): Promise<HandoffList> {
  const { ledger } = reads;
  const rows: HandoffView[] = [];
  const large: LargeCall[] = [];
  for (const { sessionId, callId } of await ledger.findOpenCalls()) {
    if (rows.length >= limit || reads.isSpent) break;
    const stored = await reads.call({ sessionId, callId });
    if (stored === 'large') {
      large.push(await reads.sizeOf({ sessionId, callId }));
      continue;
    }
    const call = stored && foldStored(stored);
    if (call === undefined || !isHandedOver(call) || ledger.now() >= dueAt(call)) continue;
    if (toolName === undefined || call.toolName === toolName) rows.push(toHandoffView(call, ledger.now()));
  }
  return { rows, ...(large.length > 0 && { large }) };
}
