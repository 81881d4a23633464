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
import { hidesInput } from '../../call/hides-input.ts';
import type { CallEvent, DirectIdentity, ToolReported } from '../../call/event.ts';
import { isHandoff, leaseIsOver } from '../../call/handoff.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { readIdentity } from '../host/acting.ts';
import { BodyContext } from '../attempt/body-context.ts';
import type { CallMaker } from '../state/accepted-call.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { AttemptRemarks } from '../attempt/attempt-remarks.ts';
import type { TakenOverCall } from '../take-over/take-over.ts';
import { requireTool } from './claim-handoff.ts';
import { knownCost } from '../gates/cost.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import type { Engine } from '../state/engine.ts';
import { foldStored, isCallEvent } from '../../ledger/fold-stored.ts';
import { elapsedSince, endDue, isDue } from './handoff-due.ts';
import type { HandoffNotes, HandoffReport, ReadReport } from './handoff-report.ts';
import { checkNotes, noteDown, readReport } from './handoff-report.ts';
import type { HandoffGrant } from './handoff-token.ts';
import { readHandoffToken, tokenDigest } from './handoff-token.ts';
import { judgeEnd } from '../attempt/judge.ts';
import { readLate } from '../attempt/late.ts';
import { withheld } from '../attempt/rule-output.ts';
import { keepEnd } from '../settle/keep-end.ts';
import { cutText } from '../../base/cut-text.ts';
import { clean } from '../input/clean.ts';
import { resultOf } from '../settle/note-failed-write.ts';
import { LedgerTrouble, orUnavailable } from '../host/ledger-trouble.ts';
import { prepareInput, takeOver } from '../take-over/take-over.ts';

/** Result of a report. */
export type ReportedCall = {
  readonly sessionId: string;
  readonly callId: string;
  /**
   * `settled`: it settled the call. `replayed`: it was reported before. `late`: the call had ended in another
   * way.
   */
  readonly status: 'settled' | 'replayed' | 'late';
  /** The recorded outcome of the call. */
  readonly outcome: ToolOutcome;
  /** Does it differ from the first report? */
  readonly differs: boolean;
};

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
      if (outcome !== undefined) return toAnswer(call, 'settled', outcome, false);
    }
  }
}

type FoundReport = {
  readonly stored: StoredCall;
  readonly call: Call;
  readonly grant: HandoffGrant;
  readonly read: ReadReport;
  readonly digest: string;
  readonly notes: HandoffNotes;
  readonly identity: DirectIdentity;
};

const unknownToken = (grant?: HandoffGrant): QuittanceError =>
  new QuittanceError(
    'handoff.unknown',
    grant === undefined
      ? 'This is not a hand-off token of this ledger.'
      : `The token is of no claim that call ${grant.callId} knows.`,
    grant === undefined ? {} : { callId: grant.callId },
  );

const toAnswer = (
  { sessionId, callId }: Call,
  status: ReportedCall['status'],
  outcome: ToolOutcome,
  differs: boolean,
): ReportedCall => ({ sessionId, callId, status, outcome, differs });

const reportsOf = (events: readonly CallEvent[]): readonly ToolReported[] =>
  events.filter((event) => event.type === 'tool.reported');

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
async function settleReport(
  maker: CallMaker,
  { stored, call, grant, read, digest, notes, identity }: FoundReport,
): Promise<ToolOutcome | undefined> {
  const { engine } = maker;
  requireTool(engine, call.toolName);
  const prepared = await prepareInput(await takeOver(maker, stored, call), { mayDiffer: true });
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
  live.journal.apply({
    type: 'report',
    attempt: grant.attempt,
    worker: grant.worker,
    identity,
    what: { type: 'given', digest },
  });
  const attempt = {
    costMicros: costMicrosOf(live, call, context),
    reached: context.targets,
    log: context.lines,
    payloadExtras: undefined,
  };
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

/** The call has its outcome. A repeated report gets it again; any other report is late. */
async function answerSettled(
  maker: CallMaker,
  found: FoundReport,
  outcome: ToolOutcome,
): Promise<ReportedCall> {
  const { stored, call, grant, digest, identity } = found;
  const mine = reportsOf(stored.events.filter(isCallEvent)).filter(
    ({ attempt }) => attempt === grant.attempt,
  );
  const first = mine.find(({ what }) => what.type === 'given')?.what;
  const live = await takeOver(maker, stored, call);
  if (first?.type !== 'given') {
    await keepLate(live, found);
    return toAnswer(call, 'late', outcome, false);
  }
  const differs = first.digest !== digest;
  const others = mine.filter(({ what }) => what.type === 'differs').map(({ what }) => what);
  const isNew = differs && !others.some((what) => what.type === 'differs' && what.digest === digest);
  if (isNew && others.length < mostDifferences)
    live.journal.apply({
      type: 'report',
      attempt: grant.attempt,
      worker: grant.worker,
      identity,
      what: { type: 'differs', digest },
    });
  const isLate = call.late.some(({ attempt }) => attempt === grant.attempt);
  if (!isLate)
    live.journal.apply({
      type: 'recall',
      how: 'replayed',
      fromCallId: call.callId,
      details: differs
        ? 'It was reported again with a different result. The first recorded one was returned.'
        : 'It was reported again. The recorded result was returned.',
    });
  if (live.journal.isBehind) await live.journal.flush({}, 'any');
  return toAnswer(call, isLate ? 'late' : 'replayed', outcome, differs);
}

/** The most different reports of one call that are recorded. */
const mostDifferences = 20;

async function keepLate(
  taken: TakenOverCall,
  { call, grant, read, digest, identity }: FoundReport,
): Promise<void> {
  // If the input can no longer be read, it is unknown which part of the result reveals a hidden value.
  const prepared = await prepareInput(taken, { mayDiffer: true });
  const mayShow = prepared.type === 'ready';
  const live = mayShow ? prepared.live : taken;
  const end = mayShow || (!hidesInput(call) && live.policy === undefined) ? read.end : withheldEnd;
  const result = await readLate(live, end);
  live.journal.apply({
    type: 'report',
    attempt: grant.attempt,
    worker: grant.worker,
    identity,
    what: { type: 'given', digest },
  });
  live.journal.apply({
    type: 'add_late',
    attempt: grant.attempt,
    elapsedMs: elapsedSince(live.engine, call.started?.at),
    result,
  });
  await live.journal.flush({}, 'any');
}

const withheldEnd = { type: 'returned', value: withheld } as const;
