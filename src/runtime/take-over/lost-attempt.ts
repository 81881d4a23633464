/**
 * Handles an attempt without a recorded end: asks the tool, and says what applies if the tool does not know.
 */
import type { Call } from '../../call/call.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { Reconciliation } from '../../tool/tool-spec.ts';
import { BodyContext } from '../attempt/body-context.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { BoundKey, EndedCall, ReadyCall } from '../state/call-stages.ts';
import { modelNote } from '../state/call-stages.ts';
import { aside } from '../state/aside.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import { AttemptRemarks } from '../attempt/attempt-remarks.ts';
import { unjudged } from '../settle/settle.ts';
import type { AttemptRecord } from '../state/unkept-end.ts';
import { judgeEnd } from '../attempt/judge.ts';
import type { AttemptFacts, Judgement } from '../attempt/judgement.ts';
import { fail } from '../attempt/judgement.ts';
import { endNotRecorded, unknownEnd } from '../settle/unavailable.ts';

/** Asks the tool's `reconcile`. Anything but a clear answer counts as unknown. */
export async function askTool(live: ReadyCall & BoundKey, call: Call): Promise<Reconciliation> {
  const { tool } = live;
  if (tool.reconcile === undefined) return { status: 'unknown' };
  try {
    const found: unknown = await tool.reconcile({
      args: inputForTool(live.tool.input, live.input),
      sessionId: call.sessionId,
      callId: call.callId,
      attempt: call.attempt,
      idempotencyKey: new BodyContext(live, call.attempt, live.toolKey).idempotencyKey,
      startedAt: call.started?.at ?? call.requestedAt,
    });
    return readReconciliation(found);
  } catch (error) {
    aside(live, `reconcile of the tool threw: ${describeThrown(error)}`);
    return { status: 'unknown' };
  }
}

function readReconciliation(found: unknown): Reconciliation {
  const { status, output, reason } = (found ?? {}) as Partial<Record<string, unknown>>;
  if (status === 'succeeded') return { status, output };
  if (status === 'failed') return { status, ...(typeof reason === 'string' && { reason }) };
  return { status: 'unknown' };
}

/** A finding of the tool about an attempt whose end was not recorded. */
export type KnownEnd = Exclude<Reconciliation, { status: 'unknown' }>;

/** The end of such an attempt by the tool's finding. `why`: why its end was not recorded. */
export async function judgeFound(
  live: ReadyCall & BoundKey,
  found: KnownEnd,
  why: string = endNotRecorded,
): Promise<Judgement> {
  const facts = unseenFacts(live);
  switch (found.status) {
    case 'succeeded':
      return judgeEnd(live, { type: 'returned', value: found.output }, facts);
    case 'failed':
      return fail(
        live,
        {
          code: 'tool.execution_error',
          error: `${why}. The tool reports that it did not take effect${found.reason === undefined ? '.' : `: ${found.reason}`}`,
          retryable: true,
          // The tool knows that nothing happened: a repeat is safe.
          repeatIsSafe: true,
        },
        facts,
      );
  }
}

/** The end of such an attempt if neither the tool nor a person knows how it ended. */
export const judgeUnknown = (live: EndedCall, why: string = endNotRecorded): Judgement =>
  unjudged(unknownEnd(live, modelNote(live.notes), why));

/** The end of a read that ended every process that worked on it. A repeat is pointless. No rule judges it. */
export function judgePoison({ request, notes }: EndedCall, error: string): Judgement {
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: request.name,
    code: 'tool.execution_error',
    error,
    retryable: false,
    elapsedMs: 0,
    ...modelNote(notes),
  });
  return unjudged(outcome, false);
}

const unseenFacts = (live: ReadyCall & BoundKey): AttemptFacts => ({
  remarks: new AttemptRemarks(live.notes),
  context: new BodyContext(live, live.journal.call?.attempt ?? 1, live.toolKey),
  elapsedMs: 0,
  deadlineMs: live.journal.call?.started?.deadlineMs ?? 0,
});

/** The cost of an attempt whose end was not recorded: what it had reserved. */
export const lostAttempt = ({ journal: { call } }: AcceptedCall): AttemptRecord => ({
  costMicros: call?.started?.reserved.find(({ metric }) => metric === 'cost_micros')?.amount ?? 0,
  reached: [],
  log: [],
  payloadExtras: undefined,
});
