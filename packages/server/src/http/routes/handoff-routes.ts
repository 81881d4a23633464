import { createSeal } from 'quittance/internal/ledger/seal';
import { outcomeToModelContent } from 'quittance/internal/call/model-content';
import type { HandoffClaim, HandoffTerms } from 'quittance/internal/runtime/claim-handoff';
import { readHandoffToken } from 'quittance/internal/runtime/claim-handoff';
import { identityOf } from '../actor.ts';
import { largestChangedBytes, refuseLargeCall } from '../large-calls.ts';
import { workerName } from '../worker-name.ts';
import { firstOrLater } from '../first-or-later.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Service } from '../service.ts';
import { lastPosition, whenAppended } from 'quittance/internal/ledger/reads';

export const handoffRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/handoffs',
    access: 'viewer',
    summary: 'Lists calls that wait for a worker or that a worker runs, oldest first.',
    query: 'HandoffListQuery',
    answer: 'HandoffList',
    handle: ({ service, query, ...asked }) => service.reader.answer('handoffs', query, asked),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/handoffs/claim',
    access: 'operator',
    summary: 'Claims a call to run: this one, or the one that has waited longest for a tool.',
    body: 'NewClaim',
    answer: 'ClaimAnswer',
    async handle({ service, body, actor, signal }) {
      const { worker, leaseMs, requestId, reclaim, waitMs = 0, ...choiceOf } = body;
      const name = workerName(actor, worker);
      const offer = {
        worker: name,
        identity: identityOf(actor),
        mostBytes: largestChangedBytes,
        ...(leaseMs !== undefined && { leaseMs }),
        ...(requestId !== undefined && { requestId }),
        ...(reclaim !== undefined && { reclaim }),
      };
      if (!('toolName' in choiceOf)) {
        await refuseLargeCall(service, choiceOf);
        return { claim: await service.runtime.handoffs.claim(choiceOf, offer) };
      }
      return { claim: await claimOf(service, choiceOf.toolName, offer, waitMs, signal) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/handoffs/report',
    access: 'operator',
    summary: 'Reports how a call ended. The first report counts; a repeat gets the recorded outcome.',
    body: 'NewReport',
    answer: 'ReportAnswer',
    size: 'reported',
    async handle({ service, actor, body: { token, report, notes } }) {
      const grant = readHandoffToken(createSeal(service.ledger.sealKey), token);
      if (grant !== undefined) await refuseLargeCall(service, grant);
      const reported = await service.runtime.handoffs.report(token, report, notes, identityOf(actor));
      return { ...reported, content: outcomeToModelContent(reported.outcome) };
    },
  }),
];

/** Claims a call of the tool, or waits up to `waitMs` for one. */
async function claimOf(
  { runtime, ledger }: Service,
  toolName: string,
  offer: HandoffTerms,
  waitMs: number,
  signal: AbortSignal,
): Promise<HandoffClaim | null> {
  const endsAt = performance.now() + waitMs;
  for (;;) {
    const position = await lastPosition(ledger);
    const claim = await runtime.handoffs.claim({ toolName }, offer);
    const leftMs = endsAt - performance.now();
    if (claim !== undefined) return claim;
    if (leftMs <= 0 || signal.aborted) return null;
    await firstOrLater((waiting) => [whenAppended(ledger, position, waiting)], leftMs, signal);
  }
}
