import type { Call } from '../../call/call.ts';
import type { Page } from '../../ledger/call-query.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { Engine } from '../state/engine.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { UnresolvedCall } from '../host/unresolved-call.ts';
import { toUnresolvedCall } from '../host/unresolved-call.ts';

export type UnresolvedQuery = {
  readonly sessionId?: string;
  readonly toolName?: string;
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly cursor?: string;
};

/** Newest first. */
export async function listUnresolved(engine: Engine, query: UnresolvedQuery): Promise<Page<UnresolvedCall>> {
  checkKeys('runtime.calls.unresolved', query, ['sessionId', 'toolName', 'limit', 'cursor']);
  const { rows, next } = await engine.ledger.queries.findCalls({ ...query, unresolved: true });
  const calls: UnresolvedCall[] = [];
  for (const { sessionId, callId } of rows) {
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const view = call && toUnresolvedCall(call, canAskTool(engine, call));
    if (view !== undefined) calls.push(view);
  }
  return { rows: calls, next };
}

/** Does this runtime have the tool, and does the tool have a `reconcile`? */
export const canAskTool = ({ tools }: Engine, { toolName }: Call): boolean =>
  tools.get(toolName)?.reconcile !== undefined;
