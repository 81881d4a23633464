/** Everything the ledger knows of one call, in its kept form. What is sealed stays sealed: nothing here can open it. */
import { QuittanceError } from '../base/error.ts';
import { projectAudit } from '../call/audit-projection.ts';
import type { Call } from '../call/call.ts';
import { outcomeToContentParts } from '../call/model-content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { toCallSummary } from '../ledger/summarise-call.ts';
import { buildTrace } from '../ledger/trace.ts';
import { foldStored, isCallEvent } from '../runtime/fold-stored.ts';
import { undoneCallId, undoneToolName } from '../runtime/undo-tool.ts';
import type { CallDetail, RelatedCall } from './api/call.ts';

export async function readCallDetail(
  ledger: Ledger,
  sessionId: string,
  callId: string,
  url: string,
): Promise<CallDetail> {
  const stored = await ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined)
    throw new QuittanceError(
      'call.unknown',
      `The session ${JSON.stringify(sessionId.slice(0, 200))} has no call ${JSON.stringify(callId.slice(0, 200))}.`,
      { sessionId, callId },
    );
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/calls/${encodeURIComponent(callId)}`;
  return {
    call,
    version: stored.version,
    summary: toCallSummary(call),
    events: stored.events,
    audit: projectAudit(stored.events.filter(isCallEvent)),
    trace: buildTrace(stored.events),
    content: call.settled && outcomeToContentParts(call.settled.outcome),
    related: relatedTo(call),
    equivalents: {
      cli: `quittance show ${shellWord(callId)} --session ${shellWord(sessionId)}`,
      curl: `curl -H "Authorization: Bearer $QUITTANCE_TOKEN" ${shellWord(url + path)}`,
    },
  };
}

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
  return found;
}

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
