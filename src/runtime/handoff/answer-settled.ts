/** Reports about a call that has its outcome: a repeat is answered again, any other report is stored as late. */
import type { Call } from '../../call/call.ts';
import { hidesInput } from '../../call/hides-input.ts';
import type { CallEvent, DirectIdentity, ToolReported } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { isCallEvent } from '../../ledger/fold-stored.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { readLate } from '../attempt/late.ts';
import { withheld } from '../attempt/rule-output.ts';
import type { CallMaker } from '../state/accepted-call.ts';
import type { TakenOverCall } from '../take-over/take-over.ts';
import { prepareInput, takeOver } from '../take-over/take-over.ts';
import { elapsedSince } from './handoff-due.ts';
import type { HandoffNotes, ReadReport } from './handoff-report.ts';
import type { HandoffGrant } from './handoff-token.ts';

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

export type FoundReport = {
  readonly stored: StoredCall;
  readonly call: Call;
  readonly grant: HandoffGrant;
  readonly read: ReadReport;
  readonly digest: string;
  readonly notes: HandoffNotes;
  readonly identity: DirectIdentity;
};

export const toReportAnswer = (
  { sessionId, callId }: Call,
  status: ReportedCall['status'],
  outcome: ToolOutcome,
  differs: boolean,
): ReportedCall => ({ sessionId, callId, status, outcome, differs });

export const reportsOf = (events: readonly CallEvent[]): readonly ToolReported[] =>
  events.filter((event) => event.type === 'tool.reported');

/** The call has its outcome. A repeated report gets it again; any other report is late. */
export async function answerSettled(
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
    return toReportAnswer(call, 'late', outcome, false);
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
  return toReportAnswer(call, isLate ? 'late' : 'replayed', outcome, differs);
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
