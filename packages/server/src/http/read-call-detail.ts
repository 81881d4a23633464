/** Everything the ledger has about one call, redacted. Sealed values stay sealed. */
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject } from 'quittance/internal/base/json';
import { projectAudit } from 'quittance/internal/call/audit-projection';
import type { Call } from 'quittance/internal/call/call';
import type { QuittanceEvent } from 'quittance/internal/call/event';
import { outcomeToContentParts } from 'quittance/internal/call/model-content';
import type { BoundedReads, CallRef } from './bounded-reads.ts';
import { toCallSummary } from 'quittance/internal/ledger/listed-call';
import { buildTrace } from 'quittance/internal/ledger/trace';
import { foldStored, isCallEvent } from 'quittance/internal/ledger/fold-stored';
import { undoneCallId, undoneToolName } from 'quittance/internal/runtime/undo-tool';
import type { CallDetail, RelatedCall } from './api/call.ts';
import { toTraceUrl } from './trace-url.ts';
import { findCalls } from 'quittance/internal/ledger/reads';

export async function readCallDetail(
  reads: BoundedReads,
  { sessionId, callId }: CallRef,
  { url, traceUrl }: { readonly url: string; readonly traceUrl: string | undefined },
): Promise<CallDetail> {
  const stored = await reads.needCall({ sessionId, callId });
  const call = foldStored(stored);
  if (call === undefined)
    throw new QuittanceError('call.unknown', `Call ${JSON.stringify(callId.slice(0, 200))} has no request.`, {
      sessionId,
      callId,
    });
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/calls/${encodeURIComponent(callId)}`;
  return {
    call,
    version: stored.version,
    summary: toCallSummary(call),
    events: stored.events,
    audit: projectAudit(stored.events.filter(isCallEvent)),
    trace: buildTrace(stored.events),
    traceUrl: toTraceUrl(traceUrl, call.traceparent),
    content: call.settled && outcomeToContentParts(call.settled.outcome),
    related: [...relatedTo(call), ...(await causeOf(reads, call, stored.events))],
    equivalents: {
      cli: `quittance show ${shellWord(callId)} --session ${shellWord(sessionId)}`,
      curl: `curl -H "Authorization: Bearer $QUITTANCE_TOKEN" ${shellWord(url + path)}`,
    },
  };
}

/** The event that caused the call, if a behavior requested it. It usually belongs to another call. */
export const causeIn = (events: readonly QuittanceEvent[]): string | undefined =>
  events.find(({ type }) => type === 'tool.requested')?.cause;

/** The call of that event, searched among calls requested shortly before. */
async function causeOf(
  reads: BoundedReads,
  { sessionId, callId, requestedAt }: Call,
  events: readonly QuittanceEvent[],
): Promise<readonly RelatedCall[]> {
  const cause = causeIn(events);
  if (cause === undefined) return [];
  const { rows } = await findCalls(reads.ledger, {
    sessionId,
    until: requestedAt + 1,
    limit: mostCauses,
  });
  for (const row of rows) {
    if (row.callId === callId) continue;
    const stored = await reads.call(row);
    if (stored !== 'large' && stored?.events.some(({ id }) => id === cause) === true)
      return [{ how: 'caused_by', sessionId, callId: row.callId }];
  }
  return [];
}

const mostCauses = 50;

/** Calls that this one names. */
export function relatedTo(call: Call): readonly RelatedCall[] {
  const { sessionId, copiedFrom, undone, settled } = call;
  const found: RelatedCall[] = [];
  const add = (how: RelatedCall['how'], callId: unknown): void => {
    if (typeof callId === 'string' && callId !== call.callId) found.push({ how, sessionId, callId });
  };
  add('copied_from', copiedFrom);
  add('undone_by', undone?.undoCallId);
  add('undoes', undoneToolName(call.toolName) === undefined ? undefined : undoneCallId(call.callId));
  // The gate names the earlier call in its words for the model, and nowhere else.
  if (settled?.outcome.type === 'ToolDenied' && settled.outcome.code === 'call.duplicate')
    add('duplicate_of', /^Call (.+) of this turn did the same/s.exec(settled.outcome.details)?.[1]);
  const repeated = call.attrs?.['repeats'];
  if (isJsonObject(repeated)) {
    const { session_id: session, call_id: id } = repeated;
    if (typeof session === 'string' && typeof id === 'string')
      found.push({ how: 'repeats', sessionId: session, callId: id });
  }
  return found;
}

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
