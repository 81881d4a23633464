/**
 * A worker reports the end of a call that it claimed.
 *
 * 1. Only the token of the claim counts, for its session, call and attempt, until its expiry.
 * 2. The first report is judged like the end of a body, and settles the call. A repeat with the same token
 *    gets the recorded outcome; a different payload is noted and changes nothing.
 * 3. A report after the call ended in another way is stored as late.
 */
import { keyedDigestJson } from '../base/canonical.ts';
import { QuittanceError } from '../base/error.ts';
import type { Call } from '../call/call.ts';
import type { DirectIdentity } from '../call/identity.ts';
import { isHandoff, leaseIsOver } from '../call/call.ts';
import { hidesInput } from '../call/hides-input.ts';
import type { ToolOutcome, ToolResult } from '../call/outcome.ts';
import { toolResult } from '../call/outcome.ts';
import type { StoredCall } from '../ledger/journal.ts';
import { readIdentity, refuseWorker } from './rights.ts';
import { BodyContext } from './body-context.ts';
import type { ActiveCall, CheckedCall, CallMaker } from './active-call.ts';
import { AttemptRemarks, keepSideOutput, withheld } from './judgement.ts';
import { requireTool, elapsedSince, endDue, isDue, readHandoffToken, tokenDigest } from './claim-handoff.ts';
import { knownCost } from './gate-checks.ts';
import type { RuntimeState } from './runtime-state.ts';
import type { Engine } from './engine.ts';
import { foldStored, isCallEvent } from '../ledger/fold-stored.ts';
import type { HandoffGrant } from './claim-handoff.ts';
import { judgeEnd, readLate } from './judge.ts';
import { keepEnd } from './settle.ts';
import { cutText } from '../base/cut-text.ts';
import { clean } from './call-input.ts';
import { resultOf } from './failed-writes.ts';
import { LedgerTrouble, orUnavailable } from './ledger-trouble.ts';
import { observeReport } from './await-report.ts';
import { prepareInput, takeOver } from './take-over.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { toJson, ownValue } from '../base/json.ts';
import type { ReasonCode } from '../call/reason.ts';
import { ToolError } from '../call/tool-error.ts';
import type { BodyEnd } from './judgement.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { CallEvent } from '../call/event.ts';
import type { ToolReported } from '../call/events/attempt-event.ts';

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
  const digest = keyedDigestJson(engine.seal.digestKey, ['report', read.digested]);
  for (;;) {
    const stored = await engine.ledger.readCall(grant.sessionId, grant.callId);
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

/** True if the ledger has the claim of this token, with the same fields. */
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
  taken: ActiveCall,
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
  const { active } = prepared;
  const context = new BodyContext(active, call.attempt, active.toolKey);
  noteDown(context, notes);
  context.over = true;
  const judgement = await judgeEnd(active, read.end, {
    remarks: new AttemptRemarks(),
    context,
    elapsedMs: elapsedSince(engine, call.started?.at),
    deadlineMs: call.started?.deadlineMs ?? 0,
  });
  const attempt = {
    costMicros: costMicrosOf(active, call, context),
    ...(await keepSideOutput(active, context)),
    payloadExtras: undefined,
  };
  active.journal.apply({
    type: 'report',
    attempt: grant.attempt,
    worker: grant.worker,
    identity,
    what: { type: 'given', digest },
  });
  try {
    return (await keepEnd(active, judgement, attempt)) ? judgement.outcome : undefined;
  } catch (error) {
    // The worker must report again. Until then the record has the failure of this report.
    if (error instanceof LedgerTrouble)
      engine.failedWrites.add({
        call,
        depth: stored.depth,
        boundary: 'report',
        error: cutText(clean(active, `The report of ${grant.worker} was not stored: ${error.message}`), 500),
        result: resultOf(judgement.outcome),
      });
    throw error;
  }
}

/** The cost of this attempt, and of every lost attempt before it. */
function costMicrosOf(active: CheckedCall, call: Call, { chargedMicros }: BodyContext): number {
  const declared = knownCost(active);
  return (chargedMicros ?? declared) + declared * (call.attempt - 1);
}

/**
 * A worker's report of the end of a call: its output, its error, or a tool result, which is an object with a boolean
 * `success` and may end the turn.
 */
export type HandoffReport =
  | { readonly output: unknown }
  | {
      readonly error: string;
      /** A reason code that a body may claim. Default: `tool.execution_error`. */
      readonly code?: ReasonCode;
      /** `true` states explicitly that nothing happened and a retry is safe. */
      readonly retryable?: boolean;
      /** The worker knows that nothing has happened. A repeat of the call then needs no approval. */
      readonly effect?: 'none';
      readonly extras?: JsonObject;
    }
  | ToolResult;

/** Notes that a body would make through its context. */
export type HandoffNotes = {
  readonly log?: readonly { readonly message: string; readonly fields?: JsonObject }[];
  /** External targets that were reached. */
  readonly reached?: readonly string[];
  /** The cost of the attempt. It replaces the cost that the tool declares. */
  readonly costMicros?: number;
};

/** The report and the value of its digest: two reports are equal if their digests are. */
type ReadReport = { readonly end: BodyEnd; readonly digested: JsonValue };

function readReport(report: HandoffReport): ReadReport {
  if (typeof report !== 'object' || report === null)
    throw invalid('a report is { output }, { error } or a tool result with a boolean success.');
  if (typeof ownValue(report, 'success') === 'boolean') return readResult(report);
  if (ownValue(report, 'error') !== undefined) return readError(report);
  if (!Object.hasOwn(report, 'output'))
    throw invalid('a report needs output, error or a boolean success. Use output: null if there is none.');
  checkKeys('runtime.handoffs.report', report, ['output']);
  const value = ownValue(report, 'output');
  return { end: { type: 'returned', value }, digested: ['output', asJson(value)] };
}

/** A worker's result lacks the mark of `toolResult()`. As part of a report it counts as made by the tool. */
function readResult(report: object): ReadReport {
  try {
    const result = toolResult(report as ToolResult); // checks every field
    return { end: { type: 'returned', value: result }, digested: ['result', asJson(result)] };
  } catch (cause) {
    throw invalid(cause instanceof Error ? cause.message : 'that is not a tool result.');
  }
}

function readError(report: object): ReadReport {
  checkKeys('runtime.handoffs.report', report, ['error', 'code', 'retryable', 'effect', 'extras']);
  const error = ownValue(report, 'error');
  const code = ownValue(report, 'code');
  const retryable = ownValue(report, 'retryable');
  const effect = ownValue(report, 'effect');
  const extras = ownValue(report, 'extras');
  if (typeof error !== 'string') throw invalid('error must be a text.');
  if (code !== undefined && typeof code !== 'string') throw invalid('code must be a reason code.');
  if (retryable !== undefined && typeof retryable !== 'boolean')
    throw invalid('retryable must be true or false.');
  if (effect !== undefined && effect !== 'none') throw invalid('effect may only be "none".');
  const thrown = new ToolError((code ?? 'tool.execution_error') as ReasonCode, error, {
    // An unknown reason code is handled when the error is classified.
    ...(retryable !== undefined && { retryable }),
    ...(effect === 'none' && { effect }),
    ...(typeof extras === 'object' && extras !== null && { extras: { ...extras } }),
  });
  const digested = [
    'error',
    error,
    code ?? null,
    retryable ?? null,
    thrown.payloadExtras,
    ...(effect === 'none' ? [effect] : []), // reports without it keep their digest
  ];
  return { end: { type: 'threw', error: thrown }, digested };
}

/** A value that JSON cannot hold is judged as such. For the digest all such values are equal. */
const asJson = (value: unknown): JsonValue => {
  const read = toJson(value);
  return read.ok ? read.value : null;
};

function checkNotes(notes: HandoffNotes): void {
  if (typeof notes !== 'object' || notes === null)
    throw invalid('the notes are { log, reached, costMicros }.');
  checkKeys('runtime.handoffs.report', notes, ['log', 'reached', 'costMicros']);
  const { log, reached, costMicros } = notes;
  if (log !== undefined && !(Array.isArray(log) && log.every(isLine)))
    throw invalid('log must be a list of { message, fields }.');
  if (reached !== undefined && !(Array.isArray(reached) && reached.every((each) => typeof each === 'string')))
    throw invalid('reached must be a list of texts.');
  if (costMicros !== undefined && !(Number.isSafeInteger(costMicros) && costMicros >= 0))
    throw invalid('costMicros must be a whole number of at least 0.');
}

const isLine = (line: unknown): boolean =>
  typeof line === 'object' && line !== null && typeof ownValue(line, 'message') === 'string';

/** Writes the worker's notes through the context of a body. */
function noteDown(context: BodyContext, { log = [], reached = [], costMicros }: HandoffNotes): void {
  for (const { message, fields } of log) context.log(message, fields);
  for (const target of reached) context.reached(target);
  if (costMicros !== undefined) context.charge(costMicros);
}

const invalid = (problem: string): QuittanceError =>
  new QuittanceError('config.invalid', `runtime.handoffs.report: ${problem}`);

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
  /** True if it differs from the first report. */
  readonly differs: boolean;
};

type FoundReport = {
  readonly stored: StoredCall;
  readonly call: Call;
  readonly grant: HandoffGrant;
  readonly read: ReadReport;
  readonly digest: string;
  readonly notes: HandoffNotes;
  readonly identity: DirectIdentity;
};

const toReportAnswer = (
  { sessionId, callId }: Call,
  status: ReportedCall['status'],
  outcome: ToolOutcome,
  differs: boolean,
): ReportedCall => ({ sessionId, callId, status, outcome, differs });

const reportsOf = (events: readonly CallEvent[]): readonly ToolReported[] =>
  events.filter((event) => event.type === 'tool.reported');

/** Handles a report about a settled call. A repeated report gets the recorded outcome; any other report is stored as late. */
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
  const active = await takeOver(maker, stored, call);
  if (first?.type !== 'given') {
    await keepLate(active, found);
    return toReportAnswer(call, 'late', outcome, false);
  }
  const differs = first.digest !== digest;
  const others = mine.filter(({ what }) => what.type === 'differs').map(({ what }) => what);
  const isNew = differs && !others.some((what) => what.type === 'differs' && what.digest === digest);
  if (isNew && others.length < mostDifferences)
    active.journal.apply({
      type: 'report',
      attempt: grant.attempt,
      worker: grant.worker,
      identity,
      what: { type: 'differs', digest },
    });
  const isLate = call.late.some(({ attempt }) => attempt === grant.attempt);
  if (!isLate)
    active.journal.apply({
      type: 'recall',
      how: 'replayed',
      fromCallId: call.callId,
      details: differs
        ? 'It was reported again with a different result. The first recorded one was returned.'
        : 'It was reported again. The recorded result was returned.',
    });
  if (active.journal.unwritten.length > 0) await active.journal.flush({}, 'any');
  return toReportAnswer(call, isLate ? 'late' : 'replayed', outcome, differs);
}

/** The most different reports of one call that are recorded. */
const mostDifferences = 20;

async function keepLate(
  taken: ActiveCall,
  { call, grant, read, digest, identity }: FoundReport,
): Promise<void> {
  // If the input can no longer be read, it is unknown which part of the result reveals a hidden value.
  const prepared = await prepareInput(taken, { mayDiffer: true });
  const mayShow = prepared.type === 'ready';
  const active = mayShow ? prepared.active : taken;
  const end = mayShow || (!hidesInput(call) && active.policy === undefined) ? read.end : withheldEnd;
  const result = await readLate(active, end);
  active.journal.apply({
    type: 'report',
    attempt: grant.attempt,
    worker: grant.worker,
    identity,
    what: { type: 'given', digest },
  });
  active.journal.apply({
    type: 'add_late',
    attempt: grant.attempt,
    elapsedMs: elapsedSince(active.engine, call.started?.at),
    result,
  });
  await active.journal.flush({}, 'any');
}

const withheldEnd = { type: 'returned', value: withheld } as const;
