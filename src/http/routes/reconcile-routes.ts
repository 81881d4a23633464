import { isQuittanceError } from '../../base/error.ts';
import { canonicalJson } from '../../base/canonical.ts';
import type { Resolution } from '../../call/event.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { UnresolvedCall } from '../../runtime/host/unresolved-call.ts';
import { undoCallId } from '../../runtime/host/undo-tool.ts';
import { identityOf } from '../actor.ts';
import type { CallAnswer, CallDetail } from '../api/call.ts';
import type { NewResolution, NewUndo, UnresolvedPage } from '../api/confirmation.ts';
import { followCall } from '../ask-call.ts';
import { callAnswerShape, callDetailShape, largeCallShape, outcomeShape } from '../call-shapes.ts';
import { refuseLargeCall } from '../large-calls.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Service } from '../service.ts';
import type { Shape } from '../shape.ts';
import {
  anyJson,
  choice,
  decimal,
  flag,
  integer,
  list,
  maybe,
  object,
  oneOf,
  only,
  open,
  text,
} from '../shape.ts';
import type { PageQuery } from './page-fields.ts';
import { pageFields } from './page-fields.ts';

const viewShape: Shape<UnresolvedCall> = open(
  'UnresolvedCall',
  'A call that waits for somebody to find out what became of it.',
  {
    sessionId: text(),
    callId: text(),
    toolName: text(),
    outcome: outcomeShape,
    attempts: integer(),
    settledAt: decimal(),
  },
);

const resolutionShape: Shape<Resolution> = choice({ succeeded: true, failed: true, safe_to_retry: true });
const reasonText = text({ maxLength: 10_000 });
type Found = Extract<NewResolution, { readonly resolution: Resolution }>;
const path = '/v1/sessions/{sessionId}/calls/{callId}';

export const reconcileRoutes: readonly Route[] = [
  defineRoute<
    '/v1/unresolved',
    PageQuery & { readonly sessionId?: string; readonly toolName?: string },
    undefined,
    UnresolvedPage
  >({
    method: 'GET',
    path: '/v1/unresolved',
    access: 'viewer',
    summary: 'Lists calls that may have taken effect although nobody can say so, newest first.',
    query: { ...pageFields, sessionId: maybe(text()), toolName: maybe(text()) },
    answer: object<UnresolvedPage>(
      { rows: list(viewShape), next: maybe(text()), large: maybe(list(largeCallShape)) },
      'UnresolvedPage',
    ),
    handle({ service, query, ...asked }) {
      const askable = service.runtime.tools.flatMap(({ name, reconcile }) =>
        reconcile === undefined ? [] : [name],
      );
      return service.reader.answer('unresolved', { query, askable }, asked);
    },
  }),
  defineRoute<`${typeof path}/resolution`, object, NewResolution, CallDetail>({
    method: 'POST',
    path: `${path}/resolution`,
    // Having the tool asked takes either role. A person's own finding may let the effect run again: an approver's right.
    access: 'operator or approver',
    summary:
      'Says what was found out about a call whose end is not known, which takes an approver other than the asker; or has its tool find out.',
    body: oneOf<NewResolution>(
      [
        object<Found>({ resolution: resolutionShape, reason: maybe(reasonText), result: maybe(anyJson()) }),
        object<{ readonly ask: 'tool' }>({ ask: only('tool') }),
      ],
      'NewResolution',
    ),
    answer: callDetailShape,
    size: 'judged',
    async handle({ service, params, body, ...asked }) {
      const { actor } = asked;
      if (!('ask' in body)) service.access.require(actor, 'approver');
      await refuseLargeCall(service, params);
      try {
        await service.runtime.calls.reconcile(params, {
          ...body,
          by: actor.name,
          identity: identityOf(actor),
        });
      } catch (error) {
        if (!isQuittanceError(error, 'call.resolved') || 'ask' in body) throw error;
        if (!(await isRecorded(service, params, body, actor.name))) throw error;
      }
      return service.reader.answer('call', { ...params, url: service.url() }, asked, { costOf: 1 });
    },
  }),
  defineRoute<`${typeof path}/undo`, object, NewUndo, CallAnswer>({
    method: 'POST',
    path: `${path}/undo`,
    access: 'operator',
    summary: 'Takes back what a call did: a call of its own, judged like any other.',
    body: object<NewUndo>({ reason: maybe(reasonText), force: maybe(flag()) }, 'NewUndo'),
    answer: callAnswerShape,
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

/** Whether exactly this was found out by the same person before: then it is sent a second time. */
async function isRecorded(
  { ledger }: Service,
  { sessionId, callId }: { readonly sessionId: string; readonly callId: string },
  found: Found,
  by: string,
): Promise<boolean> {
  const stored = await ledger.journal.readCall(sessionId, callId);
  const recorded = stored && foldStored(stored)?.resolution;
  return (
    recorded?.resolution === found.resolution &&
    recorded.by.name === by &&
    canonicalJson(recorded.result ?? null) === canonicalJson(found.result ?? null)
  );
}
