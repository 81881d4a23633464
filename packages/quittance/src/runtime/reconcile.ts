/**
 * Records the resolution of an unresolved call.
 *
 * 1. The outcome stays. A call gets at most one resolution, the first by compare-and-set.
 * 2. It comes from a named person with the permission, or from the tool's own `reconcile` on behalf of a
 *    person. A model cannot reach this.
 * 3. The same append applies its consequences: evidence for workflows if the effect happened; release of the
 *    twin guard and the key if it did not, or if a rerun does no harm.
 */
import { checkName, checkText, limits, checkPage } from '../call/limits.ts';
import { QuittanceError } from '../base/error.ts';
import { formatPath, toJson } from '../base/json.ts';
import type { JsonValue } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { DecidedBy } from '../call/events/gate-event.ts';
import type { DirectIdentity } from '../call/identity.ts';
import type { Resolution } from '../call/events/resolution-event.ts';
import { isRemote } from '../call/identity.ts';
import { evolve } from '../call/evolve.ts';
import { decide } from '../call/decide.ts';
import type { Acting } from './rights.ts';
import { personOf, readIdentity, dutiesAreSeparate } from './rights.ts';
import type { ActiveCall, CallMaker, CallRef } from './active-call.ts';
import { clean, cleanOutput } from './call-input.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { Engine } from './engine.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { keepEvidenceOf } from './contract-rules.ts';
import { readLate } from './judge.ts';
import { whyAsker, whyNotAllowed } from './approvers.ts';
import type { PreparedCall } from './take-over.ts';
import { prepareInput, takeOver, askTool } from './take-over.ts';
import { toUnresolvedCall } from './views.ts';
import { isChecked } from './active-call.ts';
import type { Page } from '../ledger/call-query.ts';
import type { UnresolvedCall } from './views.ts';
import { readClaim, findCalls } from '../ledger/reads.ts';

/** The finding of a person about an unresolved call. */
export type FoundOut = {
  readonly resolution: Resolution;
  /** The person who found out. */
  readonly by: string;
  /** How the host knows this person. Without it, the name counts as self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason?: string;
  /** The result of the effect, if known. */
  readonly result?: unknown;
};

/** Asks the tool's own `reconcile`. If it cannot tell, nothing is recorded and the call stays unresolved. */
export type AskTool = {
  readonly ask: 'tool';
  /** The person who requests it. */
  readonly by: string;
  readonly identity?: DirectIdentity;
};

type Finding = {
  readonly resolution: Resolution;
  readonly by: DecidedBy;
  readonly reason: string | undefined;
  readonly result: unknown;
};

export async function reconcile(maker: CallMaker, ref: CallRef, found: FoundOut | AskTool): Promise<Call> {
  const { engine } = maker;
  const asks = isAskTool(found);
  if (asks) checkAsk(found);
  else checkFound(found);
  const identity = readIdentity('runtime.calls.reconcile', found.identity, engine.redactor);
  const acting = { by: found.by, identity };
  for (;;) {
    const stored = await engine.ledger.readCall(ref.sessionId, ref.callId);
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined)
      throw new QuittanceError('call.unknown', `The session ${ref.sessionId} has no call ${ref.callId}.`, {
        sessionId: ref.sessionId,
        callId: ref.callId,
      });
    refuseKnown(engine, call);
    await refuseUnauthorised(engine, call, acting, asks);
    const taken = await takeOver(maker, stored, call);
    const prepared = await prepareInput(taken);
    const finding = asks
      ? await findOut(taken, call, prepared, acting)
      : toFinding(engine, call, found, acting);
    if (finding === undefined) return call;
    const resolved = await append(prepared.type === 'ready' ? prepared.active : taken, call, finding);
    if (resolved !== undefined) return resolved;
  }
}

const isAskTool = (found: FoundOut | AskTool): found is AskTool =>
  typeof found === 'object' && found !== null && 'ask' in found;

/** Checks first whether there is anything to resolve. */
function refuseKnown(engine: Engine, call: Call): void {
  const { sessionId, turnId, callId } = call;
  const decision = decide(
    call,
    { type: 'resolve', resolution: 'failed', by: unassigned, reason: undefined, result: undefined },
    { sessionId, turnId, callId, at: engine.ledger.now(), nextId: () => '' },
  );
  if (!decision.ok)
    throw new QuittanceError('call.resolved', `Call ${callId}: ${decision.refusal}`, { sessionId, callId });
}

const unassigned: DecidedBy = { type: 'gate', name: 'reconcile' };

/**
 * A resolution releases the guards against a rerun: the twin guard, and the claim on the key unless it says
 * "succeeded". So with separate duties, and always over HTTP, the requester of the call may not resolve it.
 * Over HTTP the requester may ask the tool, because the tool determines the finding.
 */
async function refuseUnauthorised(
  engine: Engine,
  call: Call,
  acting: Acting,
  asksTool: boolean,
): Promise<void> {
  const { by, identity } = acting;
  const forbid = (why: string): never => {
    throw new QuittanceError('confirmation.forbidden', `${by} may not resolve call ${call.callId}: ${why}.`, {
      callId: call.callId,
      by,
    });
  };
  const mustDiffer = dutiesAreSeparate(engine, call) || (!asksTool && isRemote(identity));
  const why = mustDiffer ? whyAsker(engine, call, acting) : undefined;
  if (why !== undefined) forbid(why);
  // A person's statement may let the effect run again, so it needs the role approver. A finding of the tool does not.
  const needed = asksTool ? 'operator or approver' : 'approver';
  const view = toUnresolvedCall(call, canAskTool(engine, call));
  const not = view && (await whyNotAllowed(engine, view, acting, 'resolve', needed));
  if (not !== undefined) forbid(not);
}

const toFinding = (
  engine: Engine,
  call: Call,
  { resolution, reason, result }: FoundOut,
  acting: Acting,
): Finding => ({ resolution, by: personOf(engine.redactor, call, acting), reason, result });

async function findOut(
  active: ActiveCall,
  call: Call,
  prepared: PreparedCall,
  acting: Acting,
): Promise<Finding | undefined> {
  const { by } = acting;
  const { tool } = active;
  const cannot = (why: string): never => {
    throw new QuittanceError('config.invalid', `runtime.calls.reconcile: the tool cannot be asked: ${why}.`, {
      callId: call.callId,
    });
  };
  if (tool?.reconcile === undefined)
    return cannot(`this runtime has no tool "${call.toolName}" with a reconcile`);
  if (prepared.type !== 'ready')
    return cannot('the hidden part of the input is no longer stored, or no longer matches the tool');
  const found = await askTool(prepared.active, call);
  if (found.status === 'unknown') return undefined;
  const { identity } = personOf(active.engine.redactor, call, acting);
  // The tool says how it ended. The identity is that of the person who asked it.
  const asked: DecidedBy = { type: 'hook', name: 'reconcile', ...(identity && { identity }) };
  return found.status === 'succeeded'
    ? { resolution: 'succeeded', by: asked, reason: `Asked by ${by}.`, result: found.output }
    : {
        resolution: 'failed',
        by: asked,
        reason: `Asked by ${by}. ${found.reason ?? ''}`.trim(),
        result: undefined,
      };
}

/** Stores the resolution. Undefined if another process changed the call, or a state that it depends on. */
async function append(
  active: ActiveCall,
  call: Call,
  { resolution, by, reason, result }: Finding,
): Promise<Call | undefined> {
  const kept = result === undefined ? undefined : await readResult(active, result);
  const event = active.journal.apply({
    type: 'resolve',
    resolution,
    by: { ...by, name: clean(active, by.name) },
    reason: reason === undefined ? undefined : clean(active, reason),
    result: kept,
  });
  if (resolution === 'succeeded') await keepEvidenceOf(active, kept ?? null);
  const mayBeUndone = resolution === 'succeeded' && active.tool?.undo !== undefined;
  const { status } = await active.journal.flush({
    ...(active.journal.sealed && !mayBeUndone && { dropSealed: true }),
    ...(resolution !== 'succeeded' && (await releaseOf(active, call))),
  });
  return status === 'appended' ? evolve(call, event) : undefined;
}

/** The key is released only while this call holds it: a person may have let another call take it. */
async function releaseOf(
  { engine, claimKey }: ActiveCall,
  { sessionId, callId }: Call,
): Promise<{ readonly releaseClaim?: string }> {
  if (claimKey === undefined) return {};
  const holder = await readClaim(engine.ledger, claimKey);
  return holder?.sessionId === sessionId && holder.callId === callId ? { releaseClaim: claimKey } : {};
}

/** Stored like a late result: under the rules, redacted, and with the same size limit. */
async function readResult(active: ActiveCall, result: unknown): Promise<JsonValue> {
  if (!isChecked(active)) return cleanOutput(active, jsonOf(result));
  const late = await readLate(active, { type: 'returned', value: result });
  return late.type === 'returned' ? late.output : late.error;
}

function checkAsk(ask: AskTool): void {
  checkKeys('runtime.calls.reconcile', ask, ['ask', 'by', 'identity']);
  if (ask.ask !== 'tool') throw invalid("ask must be 'tool'.");
  checkName('runtime.calls.reconcile', ask.by);
}

function checkFound(found: FoundOut): void {
  if (typeof found !== 'object' || found === null)
    throw invalid("state the finding, e.g. { resolution: 'failed', by: 'ada' }, or { ask: 'tool', by }.");
  checkKeys('runtime.calls.reconcile', found, ['resolution', 'by', 'identity', 'reason', 'result']);
  checkName('runtime.calls.reconcile', found.by);
  if (!['succeeded', 'failed', 'safe_to_retry'].includes(found.resolution))
    throw invalid('resolution must be succeeded, failed or safe_to_retry.');
  checkText('runtime.calls.reconcile', 'reason', found.reason, limits.reasonChars);
  if (found.result !== undefined) jsonOf(found.result);
}

function jsonOf(result: unknown): JsonValue {
  const read = toJson(result);
  if (read.ok) return read.value;
  throw invalid(`The result is not JSON at ${formatPath(read.path)}: ${read.problem}`);
}

const invalid = (problem: string): QuittanceError =>
  new QuittanceError('config.invalid', `runtime.calls.reconcile: ${problem}`);

export type UnresolvedQuery = {
  readonly sessionId?: string;
  readonly toolName?: string;
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly cursor?: string;
};

/** Newest first. */
export async function listUnresolved(engine: Engine, query: UnresolvedQuery): Promise<Page<UnresolvedCall>> {
  checkKeys('runtime.calls.unresolved', query, ['sessionId', 'toolName', 'limit', 'cursor']);
  checkPage('runtime.calls.unresolved', query);
  const { rows, next } = await findCalls(engine.ledger, { ...query, unresolved: true });
  const calls: UnresolvedCall[] = [];
  for (const { sessionId, callId } of rows) {
    const stored = await engine.ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const view = call && toUnresolvedCall(call, canAskTool(engine, call));
    if (view !== undefined) calls.push(view);
  }
  return { rows: calls, next };
}

/** True if this runtime has the tool and the tool has a `reconcile`. */
const canAskTool = ({ tools }: Engine, { toolName }: Call): boolean =>
  tools.get(toolName)?.reconcile !== undefined;
