import { isQuittanceError } from 'quittance/internal/base/error';
import { canonicalJson } from 'quittance/internal/base/canonical';
import type { Resolution } from 'quittance/internal/call/event';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { undoCallId } from 'quittance/internal/runtime/undo-tool';
import type { Actor } from '../actor.ts';
import { identityOf, isSameActor } from '../actor.ts';
import type { NewResolution } from '../api/confirmation.ts';
import { followCall } from '../ask-call.ts';
import { refuseLargeCall } from '../large-calls.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Service } from '../service.ts';

type Found = Extract<NewResolution, { readonly resolution: Resolution }>;
const path = '/v1/sessions/{sessionId}/calls/{callId}';

export const reconcileRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/unresolved',
    access: 'viewer',
    summary: 'Lists calls that may or may not have taken effect, newest first.',
    query: 'UnresolvedListQuery',
    answer: 'UnresolvedPage',
    handle({ service, query, ...asked }) {
      const askable = service.runtime.tools.flatMap(({ name, reconcile }) =>
        reconcile === undefined ? [] : [name],
      );
      return service.reader.answer('unresolved', { query, askable }, asked);
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/resolution`,
    // The runtime lets only an approver state what happened.
    access: 'operator or approver',
    summary:
      'Resolves a call whose effect is unknown. An approver who did not request the call states what happened, or the tool finds out.',
    body: 'NewResolution',
    answer: 'CallDetail',
    size: 'judged',
    async handle({ service, params, body, ...asked }) {
      const { actor } = asked;
      await refuseLargeCall(service, params);
      try {
        await service.runtime.calls.reconcile(params, {
          ...body,
          by: actor.name,
          identity: identityOf(actor),
        });
      } catch (error) {
        if (!isQuittanceError(error, 'call.resolved') || 'ask' in body) throw error;
        if (!(await isRecorded(service, params, body, actor))) throw error;
      }
      return service.reader.answer(
        'call',
        { ...params, url: service.url(), traceUrl: service.traceUrl },
        asked,
        {
          costOf: 1,
        },
      );
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${path}/undo`,
    access: 'operator',
    summary: 'Undoes a call. The undo is a separate call and passes the same gates.',
    body: 'NewUndo',
    answer: 'CallAnswer',
    async handle({ service, params, body, actor, signal }) {
      await refuseLargeCall(service, params);
      let undoId = undoCallId(params.callId, 1);
      try {
        const outcome = await service.runtime.calls.undo(params, {
          ...body,
          by: actor.name,
          identity: identityOf(actor),
          timeoutMs: undoWaitMs,
        });
        undoId = outcome.callId;
      } catch (error) {
        if (!isQuittanceError(error, 'call.pending')) throw error;
        undoId = error.facts['callId'] ?? undoId;
      }
      return followCall(service, { sessionId: params.sessionId, callId: undoId }, signal, 0);
    },
  }),
];

const undoWaitMs = 10_000;

/** Did the same person record exactly this resolution before? Then this request is a repeat. */
async function isRecorded(
  { ledger }: Service,
  { sessionId, callId }: { readonly sessionId: string; readonly callId: string },
  found: Found,
  actor: Actor,
): Promise<boolean> {
  const stored = await ledger.readCall(sessionId, callId);
  const recorded = stored && foldStored(stored)?.resolution;
  return (
    recorded?.resolution === found.resolution &&
    isSameActor(actor, recorded.by) &&
    canonicalJson(recorded.result ?? null) === canonicalJson(found.result ?? null)
  );
}
