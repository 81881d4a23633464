/**
 * A worker claims a hand-off.
 *
 * 1. One worker has it, by compare-and-set, until its lease or the call's deadline ends.
 * 2. Only the claim reveals the exact arguments outside the runtime, with the hidden values.
 * 3. After a lease has ended, the next worker gets a new attempt, but only if the tool may run again.
 * 4. A worker that lost the response to its claim may claim again. Of several such requests, one succeeds.
 */
import { timeText } from '../../base/clock.ts';
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject } from '../../base/json.ts';
import { isJsonObject, toJson } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { parseToolCall } from '../../call/tool-call.ts';
import { isHandoff, isUntaken, leaseIsOver, takenBy } from '../../call/handoff.ts';
import type { DirectIdentity } from '../../call/event.ts';
import type { Principal } from '../../tool/tool-context.ts';
import { readIdentity } from '../host/acting.ts';
import { refuseWorker } from '../host/rights.ts';
import { BodyContext } from '../attempt/body-context.ts';
import type { CallMaker } from '../state/accepted-call.ts';
import type { BoundKey, ReadyCall } from '../state/call-stages.ts';
import { AttemptRemarks } from '../attempt/attempt-remarks.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import type { Engine } from '../state/engine.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { CallRef } from '../state/gate.ts';
import { elapsedSince, endDue, isDue } from './handoff-due.ts';
import { fail } from '../attempt/judgement.ts';
import { isDigestOf } from '../input/kept-input.ts';
import { makeHandoffToken, tokenDigest } from './handoff-token.ts';
import type { OpenHandoff } from './list-handoffs.ts';
import { findHandoffs, isWaiting } from './list-handoffs.ts';
import { keepEnd } from '../settle/keep-end.ts';
import { noAttempt } from '../settle/settle.ts';
import { prepareInput, takeOver } from '../take-over/take-over.ts';
import type { ToolCallInput } from '../host/tool-call-input.ts';

/** The call to claim: this one, or the call of this tool that has waited longest. */
export type HandoffChoice = CallRef | { readonly toolName: string };

export type HandoffTerms = {
  /** The worker that claims it. */
  readonly worker: string;
  /** How the host knows the worker. Without it, the name counts as self-asserted. */
  readonly identity?: DirectIdentity;
  /** How long the worker has it exclusively. Default: until the call's deadline. */
  readonly leaseMs?: number;
  /** The worker's unique id for this claim. With it the claim can be repeated if its response is lost. */
  readonly requestId?: string;
  /**
   * Earlier claims of this worker whose responses were lost, by `requestId`. If one of them holds the call
   * and the worker has not run it, this claim replaces it, with a new token for the same attempt. This works
   * once: a second claim that names the same lost one gets `handoff.taken`.
   */
  readonly reclaim?: readonly string[];
  /**
   * The request that the worker expects. If the call was made for another request, the claim fails with
   * `handoff.unknown`.
   */
  readonly asked?: ToolCallInput;
  /** With `{ toolName }`: skips calls that are larger in the ledger, in bytes. */
  readonly mostBytes?: number;
};

/** A call that a worker has claimed. */
export type HandoffClaim = {
  /** The token for the report. It is a secret: it allows its holder to report the end. */
  readonly token: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  /** The exact arguments for the body. */
  readonly arguments: JsonObject;
  /** The same for every attempt of this call. */
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly principal: Principal | undefined;
  /** The trace context of the call. Spans and requests of the worker belong under it. */
  readonly traceparent: string | undefined;
  /** When the call times out, by the ledger's clock. */
  readonly deadlineMs: number;
  /** When the lease ends. A report after this does not count. */
  readonly expiresAt: number;
};

/** Undefined if no call of the tool waits. Throws if a named call cannot be claimed. */
export async function claimHandoff(
  state: RuntimeState,
  choice: HandoffChoice,
  terms: HandoffTerms,
): Promise<HandoffClaim | undefined> {
  const { engine } = state;
  checkTerms(terms);
  refuseWorker(readIdentity('runtime.handoffs.claim', terms.identity, engine.redactor));
  if (typeof choice !== 'object' || choice === null || Array.isArray(choice))
    throw invalid('say which call: {sessionId, callId}, or {toolName}.');
  if (!('toolName' in choice)) return claimOne(state, choice, terms);
  checkKeys('runtime.handoffs.claim', choice, ['toolName']);
  if (terms.asked !== undefined)
    throw invalid('asked says which call was asked for; name that call: {sessionId, callId}.');
  requireTool(engine, choice.toolName);
  for await (const found of findHandoffs(state, choice.toolName, terms.mostBytes)) {
    const replaces = findReplaced(engine, found.call, terms);
    if (replaces.type === 'held') continue;
    const claimed = await tryClaim(state, found, terms, replaces);
    // Another worker was faster, or this process cannot open the input: try the next call.
    if (claimed.type === 'claimed') return claimed.claim;
  }
  return undefined;
}

async function claimOne(maker: CallMaker, ref: CallRef, terms: HandoffTerms): Promise<HandoffClaim> {
  const { engine } = maker;
  checkKeys('runtime.handoffs.claim', ref, ['sessionId', 'callId']);
  const { sessionId, callId } = ref;
  for (;;) {
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined)
      throw new QuittanceError('call.unknown', `The session ${sessionId} has no call ${callId}.`, {
        sessionId,
        callId,
      });
    if (!isHandoff(call))
      throw new QuittanceError(
        'handoff.unknown',
        call.settled === undefined
          ? `Call ${callId} was not handed over.`
          : `Call ${callId} has its outcome; there is nothing left to run.`,
        { sessionId, callId },
      );
    requireTool(engine, call.toolName);
    if (terms.asked !== undefined && !isMadeFor(engine, call, terms.asked))
      throw new QuittanceError('handoff.unknown', `Call ${callId} was made for another request.`, {
        sessionId,
        callId,
      });
    if (isDue(engine, call)) {
      await endDue(await takeOver(maker, stored, call));
      continue;
    }
    const replaces = findReplaced(engine, call, terms);
    if (replaces.type === 'held') throw alreadyTaken(call);
    const claimed = await tryClaim(maker, { stored, call }, terms, replaces);
    if (claimed.type === 'overtaken') continue;
    if (claimed.type === 'claimed') return claimed.claim;
    throw new QuittanceError(
      'seal.broken',
      `The input of call ${callId} cannot be read here: it cannot be unsealed, or no longer matches the tool.`,
      { sessionId, callId },
    );
  }
}

/** The same comparison as for two calls with one id. */
function isMadeFor({ seal }: Engine, call: Call, asked: ToolCallInput): boolean {
  const { id, name, input } = parseToolCall(asked);
  const raw = input.ok ? input.arguments : input.raw;
  return id === call.callId && name === call.toolName && isDigestOf(call.requestDigest, raw, seal);
}

/** The claim that holds the call, if it is one of this worker's lost claims. */
function findLostClaim({ redactor }: Engine, call: Call, { worker, reclaim = [] }: HandoffTerms): Replaced {
  const taken = takenBy(call);
  if (taken?.what.type !== 'claimed' || taken.worker !== redactor.text(worker)) return { type: 'held' };
  const { requestId, tokenDigest: digest } = taken.what;
  return reclaim.some((id) => redactor.text(id) === requestId)
    ? { type: 'lost_claim', tokenDigest: digest }
    : { type: 'held' };
}

/** What a claim would replace. */
type Replaced =
  | { readonly type: 'nothing' }
  /** A claim of the same worker whose response was lost. */
  | { readonly type: 'lost_claim'; readonly tokenDigest: string }
  /** Another worker has the call. */
  | { readonly type: 'held' };

const findReplaced = (engine: Engine, call: Call, terms: HandoffTerms): Replaced =>
  isWaiting(call, engine.ledger.now()) ? { type: 'nothing' } : findLostClaim(engine, call, terms);

const alreadyTaken = (call: Call): QuittanceError => {
  const taken = takenBy(call);
  const until = taken?.what.type === 'claimed' ? taken.what.expiresAt : undefined;
  return new QuittanceError(
    'handoff.taken',
    `${taken?.worker ?? 'A worker'} has claimed call ${call.callId}${until === undefined ? '' : ` until ${timeText(until)}`}.`,
    {
      callId: call.callId,
      worker: taken?.worker ?? '',
      ...(until !== undefined && { expiresAt: String(until) }),
    },
  );
};

type Claimed =
  | { readonly type: 'claimed'; readonly claim: HandoffClaim }
  /** Another process has changed the call. */
  | { readonly type: 'overtaken' }
  /** This process cannot read the input. */
  | { readonly type: 'unreadable' };

async function tryClaim(
  maker: CallMaker,
  { stored, call }: OpenHandoff,
  { worker, identity, requestId, leaseMs = Number.POSITIVE_INFINITY }: HandoffTerms,
  replaces: Exclude<Replaced, { type: 'held' }>,
): Promise<Claimed> {
  const { engine } = maker;
  const taken = await takeOver(maker, stored, call);
  const prepared = await prepareInput(taken, { stored });
  if (prepared.type === 'differs' && isUntaken(call))
    return { type: (await endDiffering(prepared.live, call)) ? 'overtaken' : 'unreadable' };
  if (prepared.type !== 'ready') return { type: 'unreadable' };
  const { live } = prepared;
  const input = argumentsOf(live);
  if (input === undefined) return { type: 'unreadable' };
  const deadlineMs = call.started?.deadlineMs ?? 0;
  if (leaseIsOver(call, engine.ledger.now())) startAgain(live, call);
  const attempt = live.journal.call?.attempt ?? 1;
  const name = engine.redactor.text(worker);
  const { sessionId, callId, toolName } = call;
  const expiresAt = Math.min(Math.floor(engine.ledger.now() + leaseMs), deadlineMs);
  const token = makeHandoffToken(engine.seal, { sessionId, callId, attempt, worker: name, expiresAt });
  live.journal.apply({
    type: 'report',
    attempt,
    worker: name,
    identity: readIdentity('runtime.handoffs.claim', identity, engine.redactor),
    what: {
      type: 'claimed',
      expiresAt,
      tokenDigest: tokenDigest(engine.seal, token),
      ...(requestId !== undefined && { requestId: engine.redactor.text(requestId) }),
      ...(replaces.type === 'lost_claim' && { replaces: replaces.tokenDigest }),
    },
  });
  if ((await live.journal.flush()).status !== 'appended') return { type: 'overtaken' };
  const { idempotencyKey, principal } = new BodyContext(live, attempt, live.toolKey);
  return {
    type: 'claimed',
    claim: {
      token,
      sessionId,
      callId,
      toolName,
      arguments: input,
      idempotencyKey,
      attempt,
      principal,
      traceparent: call.traceparent,
      deadlineMs,
      expiresAt,
    },
  };
}

/**
 * The schema returns a value that JSON cannot hold, and a different one each time, so no worker can ever get
 * the accepted value. The call therefore ends now with that reason, not at its deadline. Returns false if
 * another process changed it.
 */
async function endDiffering(live: ReadyCall & BoundKey, call: Call): Promise<boolean> {
  const judgement = await fail(
    live,
    {
      code: 'tool.cancelled',
      error:
        'The call did not run: the input schema of the tool returns another value each time, so no worker can get the accepted one.',
      retryable: false,
      repeatIsSafe: true, // it never ran, so a repeat is not a twin
    },
    {
      remarks: new AttemptRemarks(),
      context: new BodyContext(live, call.attempt, live.toolKey),
      elapsedMs: elapsedSince(live.engine, call.started?.at),
      deadlineMs: call.started?.deadlineMs ?? 0,
    },
  );
  return await keepEnd(live, judgement, noAttempt);
}

/** Starts another run of the same call with the same deadline and reservation. */
function startAgain(live: ReadyCall, { started }: Call): void {
  if (started === undefined) return;
  const { idempotencyKey, deadlineMs, mayRerun, stages, reserved } = started;
  live.journal.apply({
    type: 'start',
    idempotencyKey,
    deadlineMs,
    mayRerun,
    handoff: true,
    stages,
    reserved,
  });
}

/** The schema's result if JSON can hold it, otherwise the schema's input. */
function argumentsOf(live: ReadyCall): JsonObject | undefined {
  const { value, checked } = live.input;
  const read = toJson(value);
  if (read.ok && isJsonObject(read.value)) return read.value;
  const plain = toJson(checked);
  return plain.ok && isJsonObject(plain.value) ? plain.value : undefined;
}

/** The tool defines arguments and results, so the worker's runtime needs it too. */
export function requireTool(engine: Engine, toolName: string): void {
  if (engine.tools.get(toolName)?.handoff === true) return;
  const known = [...engine.tools.values()].filter(({ handoff }) => handoff).map(({ name }) => name);
  throw invalid(
    `this runtime has no tool named "${String(toolName)}" that is handed off. Known ones: ${known.join(', ') || 'none'}.`,
  );
}

const invalid = (problem: string): QuittanceError =>
  new QuittanceError('config.invalid', `runtime.handoffs.claim: ${problem}`);

function checkTerms(terms: HandoffTerms): void {
  if (typeof terms !== 'object' || terms === null)
    throw invalid('say who takes the call: { worker: "mailer-1" }.');
  checkKeys('runtime.handoffs.claim', terms, termNames);
  const { worker, leaseMs, requestId, reclaim } = terms;
  if (typeof worker !== 'string' || worker.trim() === '' || worker.length > longestName)
    throw invalid(`worker must be a name of 1 to ${longestName} characters.`);
  if (leaseMs !== undefined && !(typeof leaseMs === 'number' && leaseMs >= 1))
    throw invalid('leaseMs must be a number of milliseconds of at least 1.');
  if (requestId !== undefined && !isRequestId(requestId))
    throw invalid(`requestId must be a text of 1 to ${longestName} characters.`);
  if (reclaim !== undefined && !(Array.isArray(reclaim) && reclaim.every(isRequestId)))
    throw invalid('reclaim must be a list of the requestIds of earlier claims.');
}

const termNames: readonly (keyof HandoffTerms)[] = [
  'worker',
  'identity',
  'leaseMs',
  'requestId',
  'reclaim',
  'asked',
  'mostBytes',
];

const longestName = 200;

const isRequestId = (id: unknown): boolean => typeof id === 'string' && id !== '' && id.length <= longestName;
