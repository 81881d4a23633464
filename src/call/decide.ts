/** A command and a call give events, where `refuse` has nothing against it. */
import type { Call } from './call.ts';
import type { Command } from './command.ts';
import { leavesDoubt } from './doubt.ts';
import type { CallEvent } from './event.ts';
import { isUntaken } from './handoff.ts';
import { refuse } from './refuse.ts';

/** Whom the events are about, and where their ids and time come from. */
export type Subject = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly at: number;
  readonly nextId: () => string;
  /** What brought the call itself about, where that was an event. */
  readonly origin?: string | undefined;
};

export type Decision =
  { readonly ok: true; readonly event: CallEvent } | { readonly ok: false; readonly refusal: string };

export function decide(call: Call | undefined, command: Command, subject: Subject): Decision {
  const refusal = refuse(call, command);
  if (refusal !== undefined) return { ok: false, refusal };
  return { ok: true, event: toEvent(call, command, subject) };
}

/** The four events of every call are written out: this is where most of what a call costs is allocated. */
function toEvent(call: Call | undefined, command: Command, subject: Subject): CallEvent {
  const { sessionId, turnId, callId, at } = subject;
  const id = subject.nextId();
  const cause = call === undefined ? subject.origin : call.lastEventId;
  switch (command.type) {
    case 'request':
      return {
        id,
        type: 'tool.requested',
        sessionId,
        turnId,
        callId,
        at,
        cause,
        toolName: command.toolName,
        displayName: command.displayName,
        mode: command.mode,
        modeOrigin: command.modeOrigin,
        requestedInput: command.requestedInput,
        hidden: command.hidden,
        requestDigest: command.requestDigest,
        principal: command.principal,
        provenance: command.provenance,
        attrs: command.attrs,
        submitted: command.submitted,
        schemaDigest: command.schemaDigest,
        ...(command.askedBy !== undefined && { askedBy: command.askedBy }),
        ...(command.separateDuties !== undefined && { separateDuties: command.separateDuties }),
      };
    case 'rule':
      return {
        id,
        type: 'tool.decided',
        sessionId,
        turnId,
        callId,
        at,
        cause,
        decision: command.decision,
        gates: command.gates,
        decidedBy: command.decidedBy,
        policyVersion: command.policyVersion,
        effectiveInput: command.effectiveInput,
        inputDigest: command.inputDigest,
        inputForm: command.inputForm,
        acceptedInput: command.acceptedInput,
        artifacts: command.artifacts ?? none,
        changes: command.changes,
        rules: command.rules,
        grantId: command.grantId,
        sideEffect: command.sideEffect,
      };
    case 'start':
      return {
        id,
        type: 'tool.started',
        sessionId,
        turnId,
        callId,
        at,
        cause,
        attempt: attemptOf(call) + 1,
        idempotencyKey: command.idempotencyKey,
        deadlineMs: command.deadlineMs,
        mayRerun: command.mayRerun,
        handoff: command.handoff ?? false,
        stages: command.stages ?? none,
        reserved: command.reserved,
      };
    case 'respond':
      return {
        id,
        type: 'tool.responded',
        sessionId,
        turnId,
        callId,
        at,
        cause,
        attempt: attemptOf(call),
        final: command.final,
        outcome: command.outcome,
        content: command.content,
        toolSuccess: command.toolSuccess,
        error: command.error,
        payloadExtras: command.payloadExtras,
        costMicros: command.costMicros,
        reached: command.reached,
        log: command.log,
        unsettledEffect: call !== undefined && call.attempt > 0 && !isUntaken(call) && endsInDoubt(command),
        rules: command.rules,
      };
    case 'hold':
      return {
        revision: undefined,
        expiresAt: undefined,
        timeoutEffect: 'block',
        risk: [],
        schemaDigest: undefined,
        comparison: undefined,
        ...command,
        id,
        type: 'tool.held',
        sessionId,
        turnId,
        callId,
        at,
        cause,
      };
    case 'preview':
      return { ...command, id, type: 'tool.previewed', sessionId, turnId, callId, at, cause };
    case 'take_over':
      return {
        previousOwner: command.previousOwner,
        takeover: takeoversBefore(call, at) + 1,
        id,
        type: 'tool.taken_over',
        sessionId,
        turnId,
        callId,
        at,
        cause,
      };
    case 'expire':
      return { ...command, id, type: 'confirmation.expired', sessionId, turnId, callId, at, cause };
    case 'report':
      return { ...command, id, type: 'tool.reported', sessionId, turnId, callId, at, cause };
    case 'undo':
      return { ...command, id, type: 'tool.undone', sessionId, turnId, callId, at, cause };
    case 'answer':
      return {
        revision: undefined,
        editedInput: undefined,
        editedDigest: undefined,
        editedHidden: [],
        editedForm: undefined,
        editedAccepted: undefined,
        editedArtifacts: [],
        response: undefined,
        receivedAt: undefined,
        ...command,
        id,
        type: 'confirmation.decided',
        sessionId,
        turnId,
        callId,
        at,
        cause,
      };
    case 'withdraw':
      return { ...command, id, type: 'confirmation.withdrawn', sessionId, turnId, callId, at, cause };
    case 'try_again':
      return {
        ...command,
        forCallId: callId,
        behavior: undefined,
        id,
        type: 'retry.requested',
        sessionId,
        turnId,
        callId,
        at,
        cause,
      };
    case 'exhaust':
      return { ...command, id, type: 'runtime.budget_exhausted', sessionId, turnId, callId, at, cause };
    case 'add_late':
      return { ...command, id, type: 'tool.late', sessionId, turnId, callId, at, cause };
    case 'resolve':
      return { ...command, id, type: 'tool.resolved', sessionId, turnId, callId, at, cause };
    case 'fail_to_persist':
      return {
        result: undefined,
        ...command,
        id,
        type: 'persistence.failed',
        sessionId,
        turnId,
        callId,
        at,
        cause,
      };
    case 'recall':
      return { ...command, id, type: 'tool.recalled', sessionId, turnId, callId, at, cause };
  }
}

const none: readonly never[] = Object.freeze([]);

const attemptOf = (call: Call | undefined): number => call?.attempt ?? 0;

/**
 * A call that waits for a person or for its next attempt outlives many restarts. Only restarts that follow each other
 * closely look like a call that ends its processes, so an old takeover of such a call does not count.
 */
function takeoversBefore(call: Call | undefined, at: number): number {
  if (call?.takenOverAt === undefined) return 0;
  const waits = call.status === 'held' || call.failed !== undefined;
  return waits && at - call.takenOverAt > crashLoopMs ? 0 : call.takeovers;
}

const crashLoopMs = 3_600_000;

function endsInDoubt({ outcome, mayRerun, authorSaysRetry }: Command & { type: 'respond' }): boolean {
  switch (outcome.type) {
    case 'ToolTimeout':
      // A body that returned has done what it does: nobody needs to find out.
      return outcome.finished !== true && leavesDoubt({ code: outcome.code, mayRerun, authorSaysRetry });
    case 'ToolFailure':
      return leavesDoubt({ code: outcome.code, mayRerun, authorSaysRetry });
    case 'ToolExecutionResult':
    case 'ToolArtifactReference':
    case 'ToolDenied':
      return false;
  }
}
