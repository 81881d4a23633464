import { createSeal } from '../../ledger/seal.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { HandoffClaim, HandoffTerms } from '../../runtime/handoff/claim-handoff.ts';
import type { HandoffNotes, HandoffReport } from '../../runtime/handoff/handoff-report.ts';
import { readToken } from '../../runtime/handoff/handoff-token.ts';
import type { HandoffView } from '../../runtime/handoff/list-handoffs.ts';
import { identityOf } from '../actor.ts';
import type { ClaimAnswer, HandoffList, NewClaim, NewReport, ReportAnswer } from '../api/handoff.ts';
import { longestWaitMs, mostReclaimed, requestIdLimits } from '../ask-call.ts';
import { largeCallShape, outcomeShape } from '../call-shapes.ts';
import { largestChangedBytes, refuseLargeCall } from '../large-calls.ts';
import type { HandoffFilters } from '../read-handoffs.ts';
import { workerName } from '../worker-name.ts';
import { firstOrLater } from '../first-or-later.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Service } from '../service.ts';
import type { Fields, Shape } from '../shape.ts';
import {
  anyObject,
  choice,
  flag,
  integer,
  list,
  maybe,
  nameText,
  moment,
  object,
  oneOf,
  open,
  orNull,
  text,
} from '../shape.ts';

const viewShape: Shape<HandoffView> = open(
  'HandoffView',
  'A call that another process is to run, or is running.',
  {
    sessionId: text(),
    callId: text(),
    toolName: text(),
    status: choice({ waiting: true, taken: true }),
  },
);

const claimShape: Shape<HandoffClaim> = open(
  'HandoffClaim',
  'A call in a worker’s hands. The token is a secret.',
  {
    token: text(),
    sessionId: text(),
    callId: text(),
    toolName: text(),
    arguments: anyObject(),
    attempt: integer(),
    deadlineMs: moment(),
    expiresAt: moment(),
  },
);

type Terms = Pick<NewClaim, 'worker' | 'leaseMs' | 'waitMs' | 'requestId' | 'reclaim'>;
const terms: Fields<Terms> = {
  worker: maybe(nameText(100)),
  leaseMs: maybe(integer({ minimum: 1 })),
  waitMs: maybe(integer({ minimum: 0, maximum: longestWaitMs })),
  requestId: maybe(text(requestIdLimits)),
  reclaim: maybe(list(text(requestIdLimits), { maxItems: mostReclaimed })),
};

const newClaimShape: Shape<NewClaim> = oneOf<NewClaim>(
  [
    object<Terms & { readonly sessionId: string; readonly callId: string }>({
      ...terms,
      sessionId: text(),
      callId: text(),
    }),
    object<Terms & { readonly toolName: string }>({ ...terms, toolName: text() }),
  ],
  'NewClaim',
);

const reportShape: Shape<HandoffReport> = open(
  'HandoffReport',
  'How it went: `{ output }`, `{ error, code, retryable, extras }`, or a tool result with a boolean `success`.',
  {},
);

const notesShape: Shape<HandoffNotes> = object<HandoffNotes>(
  {
    log: maybe(
      list(object<NonNullable<HandoffNotes['log']>[number]>({ message: text(), fields: maybe(anyObject()) })),
    ),
    reached: maybe(list(text())),
    costMicros: maybe(integer({ minimum: 0 })),
  },
  'HandoffNotes',
);

export const handoffRoutes: readonly Route[] = [
  defineRoute<'/v1/handoffs', HandoffFilters, undefined, HandoffList>({
    method: 'GET',
    path: '/v1/handoffs',
    access: 'viewer',
    summary: 'Lists calls that wait for a worker or are in one’s hands, oldest first.',
    query: { toolName: maybe(text()), limit: maybe(integer({ minimum: 1, maximum: 1_000 })) },
    answer: object<HandoffList>({ rows: list(viewShape), large: maybe(list(largeCallShape)) }, 'HandoffList'),
    handle: ({ service, query, ...asked }) => service.reader.answer('handoffs', query, asked),
  }),
  defineRoute<'/v1/handoffs/claim', object, NewClaim, ClaimAnswer>({
    method: 'POST',
    path: '/v1/handoffs/claim',
    access: 'operator',
    summary: 'Takes a call to run: this one, or the one that waits longest for a tool.',
    body: newClaimShape,
    answer: object<ClaimAnswer>({ claim: orNull(claimShape) }, 'ClaimAnswer'),
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
  defineRoute<'/v1/handoffs/report', object, NewReport, ReportAnswer>({
    method: 'POST',
    path: '/v1/handoffs/report',
    access: 'operator',
    summary: 'Says how a call went. The first report counts; the same again gets what is recorded.',
    body: object<NewReport>({ token: text(), report: reportShape, notes: maybe(notesShape) }, 'NewReport'),
    answer: object<ReportAnswer>(
      {
        sessionId: text(),
        callId: text(),
        status: choice({ settled: true, replayed: true, late: true }),
        outcome: outcomeShape,
        differs: flag(),
        content: text(),
      },
      'ReportAnswer',
    ),
    size: 'reported',
    async handle({ service, actor, body: { token, report, notes } }) {
      const grant = readToken(createSeal(service.ledger.sealKey), token);
      if (grant !== undefined) await refuseLargeCall(service, grant);
      const reported = await service.runtime.handoffs.report(token, report, notes, identityOf(actor));
      return { ...reported, content: outcomeToModelContent(reported.outcome) };
    },
  }),
];

/** Waits for one to come, for so long. */
async function claimOf(
  { runtime, ledger }: Service,
  toolName: string,
  offer: HandoffTerms,
  waitMs: number,
  signal: AbortSignal,
): Promise<HandoffClaim | null> {
  const endsAt = performance.now() + waitMs;
  for (;;) {
    const position = await ledger.entries.lastPosition();
    const claim = await runtime.handoffs.claim({ toolName }, offer);
    const leftMs = endsAt - performance.now();
    if (claim !== undefined) return claim;
    if (leftMs <= 0 || signal.aborted) return null;
    await firstOrLater((waiting) => [ledger.entries.whenAppended(position, waiting)], leftMs, signal);
  }
}
