/**
 * A call that another program requests: allowed and handed to it, denied, held for a person, or settled.
 *
 * Requests are repeatable: the same request again continues with the same call.
 */
import { isQuittanceError } from 'quittance/internal/base/error';
import type { Call } from 'quittance/internal/call/call';
import { isHandoff, claimedBy } from 'quittance/internal/call/call';
import { outcomeToModelContent } from 'quittance/internal/call/model-content';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { outcomeIsError } from 'quittance/internal/call/outcome';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import type { Actor } from './actor.ts';
import { identityOf, refusePrincipal } from './actor.ts';
import type { CallAnswer, NewCall } from './api/call.ts';
import type { Asking } from './asking.ts';
import { firstOrLater } from './first-or-later.ts';
import { refuseLargeCall } from './large-calls.ts';
import type { Service } from './service.ts';
import { workerName } from './worker-name.ts';
import { lastPosition, whenAppended, whenCallChanged } from 'quittance/internal/ledger/reads';

type Ref = { readonly sessionId: string; readonly callId: string };

export async function askCall(
  service: Service,
  actor: Actor,
  asked: NewCall,
  { signal, traceparent }: { readonly signal: AbortSignal; readonly traceparent: string | undefined },
): Promise<CallAnswer> {
  const { ledger, runtime, askedCalls } = service;
  const { sessionId, call } = asked;
  refusePrincipal(actor, asked.principal);
  await refuseLargeCall(service, { sessionId, callId: call.id });
  const digest = askedCalls.digest(asked);
  const isKnown = (await ledger.readCall(sessionId, call.id)) !== undefined;
  const isSame = askedCalls.isSame(sessionId, call.id, digest);
  const turn = askedCalls.turnOf(runtime, sessionId, asked.turnId);
  const asking = askedCalls.asking(sessionId, call.id, digest, () =>
    turn.call(call, {
      ifHeld: 'return',
      askedBy: identityOf(actor),
      ...(traceparent !== undefined && { traceparent }),
      ...(asked.principal !== undefined && { principal: asked.principal }),
      ...(asked.provenance !== undefined && { provenance: asked.provenance }),
      ...(asked.attrs !== undefined && { attrs: asked.attrs }),
    }),
  );
  // Noted before anything else, because it tells two simultaneous requests apart.
  if (!isKnown && isSame === undefined) askedCalls.note(sessionId, call.id, digest);
  const ref = { sessionId, callId: call.id };
  return watch(
    service,
    ref,
    { signal, waitMs: asked.waitMs ?? 0, asking, toolName: call.name },
    async (found) => {
      const { answer } = asking;
      const isJoined = isSame === true || answer?.type === 'pending';
      if (answer !== undefined && answer.type !== 'pending') return toCallAnswer(ref, answer);
      if (found === undefined || found.toolName !== call.name) return undefined;
      const isOurs = isJoined || (!isKnown && isSame === undefined && found.turnId === turn.turnId);
      if (isJoined) askedCalls.note(sessionId, call.id, digest);
      if (isOurs) return takeUp(service, actor, asked, found);
      // Requested before this server started, or from another server: the ledger has the arguments.
      if (found.settled !== undefined || !isHandoff(found)) return undefined;
      return takeUp(service, actor, asked, found, digest);
    },
  );
}

/** The state of a call that was not requested with POST /v1/calls. */
export const followCall = (
  service: Service,
  ref: Ref,
  signal: AbortSignal,
  waitMs: number,
): Promise<CallAnswer> => watch(service, ref, { signal, waitMs }, (call) => Promise.resolve(standing(call)));

type Watching = {
  readonly signal: AbortSignal;
  readonly waitMs: number;
  readonly asking?: Asking<unknown>;
  /** Known before the call is stored: a read is stored when it ends. */
  readonly toolName?: string;
};

/**
 * Reads the call after each change until its state is final or the time is up. `asking` may answer first; if it fails,
 * this fails too.
 */
async function watch(
  { ledger }: Service,
  { sessionId, callId }: Ref,
  { signal, waitMs, asking, toolName }: Watching,
  look: (call: Call | undefined) => Promise<CallAnswer | undefined>,
): Promise<CallAnswer> {
  const startedAt = performance.now();
  for (;;) {
    const position = await lastPosition(ledger);
    const stored = await ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const wasAnswered = asking?.answer !== undefined;
    const answer = await look(call);
    const isInterim = answer === undefined || answer.decision === 'held' || answer.decision === 'running';
    // The gates usually take a moment, so wait at least that long.
    const leftMs =
      startedAt + (answer === undefined ? Math.max(waitMs, settleMs) : waitMs) - performance.now();
    if (!isInterim) return answer;
    if (leftMs <= 0 || signal.aborted) return answer ?? running(sessionId, callId, call, toolName);
    const waitsFor = (waiting: AbortSignal): readonly Promise<void>[] => [
      ...(asking === undefined || wasAnswered ? [] : [asking.whenAnswered(waiting)]),
      stored === undefined
        ? whenAppended(ledger, position, waiting)
        : whenCallChanged(ledger, sessionId, callId, stored.version, waiting),
    ];
    await firstOrLater(waitsFor, leftMs, signal);
  }
}

const settleMs = 2_000;

async function takeUp(
  service: Service,
  actor: Actor,
  { worker, leaseMs, claim: mayClaim = true, requestId, reclaim, call: request }: NewCall,
  call: Call,
  /** For a request that this server does not know: it may read only the call it asks for. */
  unknown?: string,
): Promise<CallAnswer | undefined> {
  const { runtime, askedCalls } = service;
  const { sessionId, callId, toolName } = call;
  if (call.settled !== undefined || !isHandoff(call) || !mayClaim) return standing(call);
  const name = workerName(actor, worker);
  try {
    const claim = await runtime.handoffs.claim(
      { sessionId, callId },
      {
        worker: name,
        identity: identityOf(actor),
        ...(leaseMs !== undefined && { leaseMs }),
        ...(requestId !== undefined && { requestId }),
        ...(reclaim !== undefined && { reclaim }),
        ...(unknown !== undefined && { asked: request }),
      },
    );
    if (unknown !== undefined) askedCalls.note(sessionId, callId, unknown);
    const { token, arguments: input, attempt, idempotencyKey, traceparent, deadlineMs, expiresAt } = claim;
    return {
      decision: 'allow',
      sessionId,
      callId,
      toolName,
      arguments: input,
      token,
      attempt,
      idempotencyKey,
      traceparent,
      deadlineMs,
      expiresAt,
    };
  } catch (error) {
    if (isQuittanceError(error, 'handoff.taken')) return running(sessionId, callId, call);
    // The call changed between the read and the claim. The next read sees it.
    if (isQuittanceError(error, 'handoff.unknown')) return undefined;
    throw error;
  }
}

/** The answer about a call that does not claim it. */
function standing(call: Call | undefined): CallAnswer | undefined {
  if (call === undefined) return undefined;
  const { sessionId, callId, toolName, settled, confirmation } = call;
  if (settled !== undefined) return toCallAnswer({ sessionId, callId }, settled.outcome, settled.content);
  if (confirmation?.status === 'pending')
    return {
      decision: 'held',
      sessionId,
      callId,
      toolName,
      confirmationId: confirmation.confirmationId,
      description: confirmation.description,
      inputDigest: confirmation.inputDigest,
      expiresAt: confirmation.expiresAt,
    };
  return call.status === 'running' ? running(sessionId, callId, call) : undefined;
}

const toCallAnswer = ({ sessionId, callId }: Ref, outcome: ToolOutcome, content?: string): CallAnswer => ({
  decision: outcome.type === 'ToolDenied' ? 'deny' : 'settled',
  sessionId,
  callId,
  toolName: outcome.toolName,
  outcome,
  content: content ?? outcomeToModelContent(outcome),
  isError: outcomeIsError(outcome),
});

const running = (sessionId: string, callId: string, call: Call | undefined, asked = ''): CallAnswer => ({
  decision: 'running',
  sessionId,
  callId,
  toolName: call?.toolName ?? asked,
  worker: call && claimedBy(call)?.worker,
});
