/**
 * Undoes a call, at most once: a second request gets the name of the first person. An undo that failed may be retried,
 * unless its effect is unknown; then a person must resolve it first.
 */
import { checkName, checkText, limits } from '../call/limits.ts';
import { readIdentity } from './rights.ts';
import { whyRoleForbids } from '../call/role.ts';
import { QuittanceError } from '../base/error.ts';
import type { Call } from '../call/call.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { DirectIdentity } from '../call/identity.ts';
import type { Principal } from '../tool/tool-context.ts';
import { awaitReply, orPending } from './turn.ts';
import { checkKeys, checkObject } from '../base/check-keys.ts';
import type { RuntimeState } from './runtime-state.ts';
import type { Engine } from './engine.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { CallRef } from './active-call.ts';
import { makeCall, defaultTerms } from './run-call.ts';
import { noteUndone } from './settle.ts';
import { readUndoAttrs, undoCallId, undoToolName } from './undo-tool.ts';
import { openTurnState } from './open-turn.ts';
import { readUndoInput, whyNotUndo } from './undo-request.ts';

/** A request for an undo, and the person who makes it. */
export type UndoRequest = {
  readonly by: string;
  /** How the host knows this person. Without it, the name counts as self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason?: string;
  /** Undoes even if later calls touched the same resources. */
  readonly force?: boolean;
  /** For rules. Default: `{ userId: by }`. */
  readonly principal?: Principal;
  /**
   * How long to wait for a person, if one is asked. Then `call.pending` is thrown; repeat the request to
   * rejoin.
   */
  readonly timeoutMs?: number;
};

export async function undo(state: RuntimeState, ref: CallRef, request: UndoRequest): Promise<ToolOutcome> {
  const { engine } = state;
  checkObject('runtime.calls.undo', ref);
  const { sessionId, callId } = ref;
  checkRequest(request);
  const { by, reason, force = false, principal = { userId: by }, timeoutMs } = request;
  const askedBy = readIdentity('runtime.calls.undo', request.identity, engine.redactor);
  const forbidden = whyRoleForbids(askedBy, 'operator');
  if (forbidden !== undefined)
    throw new QuittanceError('confirmation.forbidden', `${by} may not undo call ${callId}: ${forbidden}.`, {
      by,
    });
  const call = await read(engine, sessionId, callId);
  if (call === undefined)
    throw new QuittanceError('call.unknown', `The session ${sessionId} has no call ${callId}.`, {
      sessionId,
      callId,
    });
  const attempt = await nextAttempt(engine, call, by);
  const refusal = await whyNotUndo(engine, engine.tools.get(call.toolName), call, force);
  if (refusal !== undefined) throw new QuittanceError(refusal.code, refusal.message, { sessionId, callId });
  const input = await readUndoInput(engine, call);
  if (!input.ok)
    throw new QuittanceError('undo.unavailable', `Call ${callId} cannot be undone: ${input.problem}.`, {
      sessionId,
      callId,
    });
  const turn = openTurnState(engine, {
    sessionId,
    principal,
    askedBy,
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  const name = undoToolName(call.toolName);
  const id = undoCallId(callId, attempt);
  const active = makeCall(
    state,
    turn,
    { id, name, input: { ok: true, arguments: input.arguments } },
    { attrs: { undoes: callId, by, ...(reason !== undefined && { reason }), ...(force && { force }) } },
    defaultTerms,
    input.asUndone(engine.undoToolFor(name, engine.policyInForce())),
  );
  const answer = await awaitReply(active, turn);
  // Two concurrent requests make the same call, which belongs to the first.
  const made = await read(engine, sessionId, id);
  const { by: other } = readUndoAttrs(made?.attrs);
  if (made !== undefined && other !== engine.redactor.text(by))
    throw new QuittanceError('undo.spent', `${other} was first to undo call ${callId}: call ${id}.`, {
      sessionId,
      callId,
    });
  return orPending(answer);
}

async function read(engine: Engine, sessionId: string, callId: string): Promise<Call | undefined> {
  const stored = await engine.ledger.readCall(sessionId, callId);
  return stored && foldStored(stored);
}

/** The id of the undo: the first unused one, or the one that the same person has open. */
async function nextAttempt(engine: Engine, call: Call, by: string): Promise<number> {
  const { sessionId, callId } = call;
  const spent = (message: string): never => {
    throw new QuittanceError('undo.spent', message, { sessionId, callId });
  };
  for (let attempt = 1; ; attempt++) {
    const undoing = await read(engine, sessionId, undoCallId(callId, attempt));
    if (undoing === undefined) return attempt;
    // A call of another kind has this id.
    if (undoing.toolName !== undoToolName(call.toolName)) continue;
    const { settled, resolution, callId: undoId } = undoing;
    const { by: other } = readUndoAttrs(undoing.attrs);
    if (settled === undefined) {
      if (other === engine.redactor.text(by)) return attempt;
      spent(`${other} is undoing call ${callId} already: call ${undoId}.`);
    } else if (isSuccess(settled.outcome) || resolution?.resolution === 'succeeded') {
      // The undo may have succeeded in a process that died before it recorded that on this call.
      if (call.undone === undefined) await noteUndone(engine, callId, undoing);
      spent(`Call ${callId} was undone already, by ${other}: call ${undoId}.`);
    } else if (settled.unsettledEffect && resolution === undefined)
      spent(
        `${other} tried to undo call ${callId}, and it is unknown whether that took effect. Find out, and record it with runtime.calls.reconcile({ sessionId, callId: ${JSON.stringify(undoId)} }, …).`,
      );
  }
}

const isSuccess = ({ type }: ToolOutcome): boolean =>
  type === 'ToolExecutionResult' || type === 'ToolArtifactReference';

function checkRequest(request: UndoRequest): void {
  if (typeof request !== 'object' || request === null)
    throw new QuittanceError(
      'config.invalid',
      'runtime.calls.undo takes who wants it: { by: "ada", reason }.',
    );
  checkKeys('runtime.calls.undo', request, ['by', 'identity', 'reason', 'force', 'principal', 'timeoutMs']);
  checkName('runtime.calls.undo', request.by);
  checkText('runtime.calls.undo', 'reason', request.reason, limits.reasonChars);
  if (request.force !== undefined && typeof request.force !== 'boolean')
    throw new QuittanceError('config.invalid', 'runtime.calls.undo: force must be true or false.');
}
