/**
 * A worker reports the end of a call that it claimed.
 *
 * 1. Only the token of the claim counts, for its session, call and attempt, until its expiry.
 * 2. The first report is judged like the end of a body, and settles the call. A repeat with the same token
 *    gets the recorded outcome; a different payload is noted and changes nothing.
 * 3. A report after the call ended in another way is stored as late.
 */
import { keyedDigestJson } from '../../base/canonical.ts';
import { QuittanceError } from '../../base/error.ts';
import type { Call } from '../../call/call.ts';
import type { DirectIdentity } from '../../call/event.ts';
import { isHandoff, leaseIsOver } from '../../call/handoff.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { readIdentity } from '../host/acting.ts';
import { refuseWorker } from '../host/rights.ts';
import { BodyContext } from '../attempt/body-context.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { AttemptRemarks } from '../attempt/attempt-remarks.ts';
import type { TakenOverCall } from '../take-over/take-over.ts';
import { requireTool } from './claim-handoff.ts';
import { knownCost } from '../gates/cost.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import type { Engine } from '../state/engine.ts';
import { foldStored, isCallEvent } from '../../ledger/fold-stored.ts';
import { elapsedSince, endDue, isDue } from './handoff-due.ts';
import type { HandoffNotes, HandoffReport } from './handoff-report.ts';
import { checkNotes, noteDown, readReport } from './handoff-report.ts';
import type { HandoffGrant } from './handoff-token.ts';
import { readHandoffToken, tokenDigest } from './handoff-token.ts';
import { keepSideOutput } from '../attempt/redact-side-output.ts';
import { judgeEnd } from '../attempt/judge.ts';
import { keepEnd } from '../settle/keep-end.ts';
import { cutText } from '../../base/cut-text.ts';
import { clean } from '../input/clean.ts';
import { resultOf } from '../settle/note-failed-write.ts';
import { LedgerTrouble, orUnavailable } from '../host/ledger-trouble.ts';
import { observeReport } from './observe-report.ts';
import type { FoundReport, ReportedCall } from './answer-settled.ts';
import { answerSettled, reportsOf, toReportAnswer } from './answer-settled.ts';
import { prepareInput, takeOver } from '../take-over/take-over.ts';

export type BatchReport = {
  readonly token: string;
  readonly report: HandoffReport;
  readonly notes?: HandoffNotes;
  /** How the host knows the reporter. */
  readonly identity?: DirectIdentity;
};
export type BatchAnswer =
  | { readonly ok: true; readonly reported: ReportedCall }
  | { readonly ok: false; readonly error: Error };

/** One answer for each report, in their order. Each report fails on its own. */
export async function reportAll(
  state: RuntimeState,
  reports: readonly BatchReport[],
): Promise<readonly BatchAnswer[]> {
  if (!Array.isArray(reports))
    throw new QuittanceError(
      'config.invalid',
      'runtime.handoffs.reportAll takes a list of { token, report }.',
    );
  const answers: BatchAnswer[] = [];
  for (const item of reports as readonly (BatchReport | null | undefined)[])
    answers.push(
      await orUnavailable(
        reportHandoff(state, item?.token, item?.report as HandoffReport, item?.notes, item?.identity),
      ).then(
        (reported) => ({ ok: true, reported }) as const,
        (error: unknown) => ({ ok: false, error: error instanceof Error ? error : new Error(String(error)) }),
      ),
    );
  return answers;
}

export async function reportHandoff(
  state: RuntimeState,
  token: unknown,
  report: HandoffReport,
  notes: HandoffNotes = {},
  givenIdentity?: DirectIdentity,
): Promise<ReportedCall> {
  const { engine } = state;
  const grant = readHandoffToken(engine.seal, token);
  if (grant === undefined || typeof token !== 'string') throw unknownToken();
  const read = readReport(report);
  checkNotes(notes);
  const identity = readIdentity('runtime.handoffs.report', givenIdentity, engine.redactor);
  refuseWorker(identity);
  const digest = keyedDigestJson(engine.seal.digestKey, ['report', read.said]);
  for (;;) {
    const stored = await engine.ledger.journal.readCall(grant.sessionId, grant.callId);
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined || !isClaimed(engine, stored, grant, token))
      throw unknownToken(grant);
    const found = { stored, call, grant, read, digest, notes, identity };
    if (call.settled !== undefined) return answerSettled(state, found, call.settled.outcome);
    if (isDue(engine, call)) await endDue(await takeOver(state, stored, call));
    else if (!isHandoff(call) || call.attempt !== grant.attempt || leaseIsOver(call, engine.ledger.now()))
      throw new QuittanceError(
        'handoff.expired',
        `The time of ${grant.worker} for call ${grant.callId} was up, and the call waits for another worker.`,
        { callId: grant.callId, worker: grant.worker, expiresAt: String(grant.expiresAt) },
      );
    else {
      const outcome = await settleReport(state, found);
      if (outcome !== undefined) return toReportAnswer(call, 'settled', outcome, false);
    }
  }
}

const unknownToken = (grant?: HandoffGrant): QuittanceError =>
  new QuittanceError(
    'handoff.unknown',
    grant === undefined
      ? 'This is not a hand-off token of this ledger.'
      : `The token is of no claim that call ${grant.callId} knows.`,
    grant === undefined ? {} : { callId: grant.callId },
  );

/** Does the ledger know the claim of this token, with all its fields? */
function isClaimed(engine: Engine, { events }: StoredCall, grant: HandoffGrant, token: string): boolean {
  const digest = tokenDigest(engine.seal, token);
  return reportsOf(events.filter(isCallEvent)).some(
    ({ what, attempt, worker }) =>
      what.type === 'claimed' &&
      what.tokenDigest === digest &&
      what.expiresAt === grant.expiresAt &&
      attempt === grant.attempt &&
      worker === grant.worker,
  );
}

/** Undefined if another process has changed the call. */
async function settleReport(state: RuntimeState, found: FoundReport): Promise<ToolOutcome | undefined> {
  const { stored, call } = found;
  requireTool(state.engine, call.toolName);
  const taken = await takeOver(state, stored, call);
  return observeReport(state, taken, call, () => judgeReport(taken, found));
}

async function judgeReport(
  taken: TakenOverCall,
  { stored, call, grant, read, digest, notes, identity }: FoundReport,
): Promise<ToolOutcome | undefined> {
  const { engine } = taken;
  const prepared = await prepareInput(taken, { mayDiffer: true });
  if (prepared.type !== 'ready')
    throw new QuittanceError(
      'seal.broken',
      `The input of call ${call.callId} cannot be read here, so its end cannot be judged. Report to a process that can read it.`,
      { callId: call.callId },
    );
  const { live } = prepared;
  const context = new BodyContext(live, call.attempt, live.toolKey);
  noteDown(context, notes);
  context.over = true;
  const judgement = await judgeEnd(live, read.end, {
    remarks: new AttemptRemarks(),
    context,
    elapsedMs: elapsedSince(engine, call.started?.at),
    deadlineMs: call.started?.deadlineMs ?? 0,
  });
  const attempt = {
    costMicros: costMicrosOf(live, call, context),
    ...(await keepSideOutput(live, context)),
    payloadExtras: undefined,
  };
  live.journal.apply({
    type: 'report',
    attempt: grant.attempt,
    worker: grant.worker,
    identity,
    what: { type: 'given', digest },
  });
  try {
    return (await keepEnd(live, judgement, attempt)) ? judgement.outcome : undefined;
  } catch (error) {
    // The worker learns that it must report again. Until then the record has this report.
    if (error instanceof LedgerTrouble)
      engine.failedWrites.add({
        call,
        depth: stored.depth,
        boundary: 'report',
        error: cutText(clean(live, `The report of ${grant.worker} was not stored: ${error.message}`), 500),
        result: resultOf(judgement.outcome),
      });
    throw error;
  }
}

/** The cost of this attempt, and of every lost attempt before it. */
function costMicrosOf(live: ReadyCall, call: Call, { chargedMicros }: BodyContext): number {
  const declared = knownCost(live);
  return (chargedMicros ?? declared) + declared * (call.attempt - 1);
}
