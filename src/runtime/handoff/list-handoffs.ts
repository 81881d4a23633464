/** Lists calls that another process is to run, or is running. */
import type { JsonValue } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { isHandoff, leaseIsOver, takenBy } from '../../call/handoff.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { ToolMode } from '../../tool/mode.ts';
import type { Principal } from '../../tool/tool-context.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { QuittanceError } from '../../base/error.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { endDue, isDue } from './handoff-due.ts';
import { readOpenCalls } from './open-calls.ts';
import { takeOver } from '../take-over/take-over.ts';

export type HandoffQuery = { readonly toolName?: string; readonly limit?: number };

/** One call that waits for a worker, or that a worker has claimed. The input is in its stored form. */
export type HandoffView = {
  readonly sessionId: string;
  readonly callId: string;
  readonly turnId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly attempt: number;
  readonly status: 'waiting' | 'taken';
  readonly input: JsonValue;
  /** Paths whose values are not shown. A worker that claims the call gets them. */
  readonly hidden: readonly string[];
  readonly inputDigest: string | undefined;
  readonly principal: Principal | undefined;
  readonly startedAt: number;
  readonly deadlineMs: number;
  /** The worker that claimed it, since when and until when. */
  readonly worker: string | undefined;
  readonly takenAt: number | undefined;
  readonly expiresAt: number | undefined;
};

export type OpenHandoff = { readonly stored: StoredCall; readonly call: Call };

/** Oldest first. */
export async function listHandoffs(
  state: RuntimeState,
  query: HandoffQuery,
): Promise<readonly HandoffView[]> {
  checkKeys('runtime.handoffs.list', query, ['toolName', 'limit']);
  const { limit = 100 } = query;
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new QuittanceError(
      'config.invalid',
      'runtime.handoffs.list: limit must be a whole number of at least 1.',
    );
  const views: HandoffView[] = [];
  for await (const { call } of findHandoffs(state, query.toolName)) {
    views.push(toHandoffView(call, state.engine.ledger.now()));
    if (views.length === limit) break;
  }
  return views;
}

const looksAtOnce = 20;

/** Ends calls that are due on the way, since their callers may be gone. */
export async function* findHandoffs(
  state: RuntimeState,
  toolName: string | undefined,
  mostBytes: number = Number.POSITIVE_INFINITY,
): AsyncGenerator<OpenHandoff, void> {
  const { engine } = state;
  let looks = 0;
  for await (const { sessionId, callId } of readOpenCalls(engine.ledger)) {
    // Many calls may be open, so other work in the process gets a turn in between.
    if (++looks % looksAtOnce === 0) await new Promise(setImmediate);
    if (
      mostBytes < Number.POSITIVE_INFINITY &&
      (await engine.ledger.journal.measureCall(sessionId, callId)) > mostBytes
    )
      continue;
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined || !isHandoff(call)) continue;
    if (toolName !== undefined && call.toolName !== toolName) continue;
    if (isDue(engine, call)) await endDue(await takeOver(state, stored, call));
    else yield { stored, call };
  }
}

export const isWaiting = (call: Call, now: number): boolean =>
  takenBy(call) === undefined || leaseIsOver(call, now);

export function toHandoffView(call: Call, now: number): HandoffView {
  const waiting = isWaiting(call, now);
  const taken = waiting ? undefined : takenBy(call);
  return {
    sessionId: call.sessionId,
    callId: call.callId,
    turnId: call.turnId,
    toolName: call.toolName,
    displayName: call.displayName,
    mode: call.mode,
    attempt: call.attempt,
    status: waiting ? 'waiting' : 'taken',
    input: call.effectiveInput ?? call.requestedInput,
    hidden: call.hidden,
    inputDigest: call.inputDigest,
    principal: call.principal,
    startedAt: call.started?.at ?? call.requestedAt,
    deadlineMs: call.started?.deadlineMs ?? 0,
    worker: taken?.worker,
    takenAt: taken?.at,
    expiresAt: taken?.what.type === 'claimed' ? taken.what.expiresAt : undefined,
  };
}
