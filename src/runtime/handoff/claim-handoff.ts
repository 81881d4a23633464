/**
 * A worker takes a call that was handed over.
 *
 * 1. One worker has it, by compare-and-set, until its lease or the call's deadline is over.
 * 2. Only then does anybody outside the runtime see the exact arguments, what is hidden in them included.
 * 3. A lease that ran out is a new attempt for the next worker, and only where the tool may run again.
 * 4. A worker whose answer was lost may claim again what it has. Of several requests that say so, one gets it.
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

/** Which call to take: this one, or the one that has waited longest for this tool. */
export type HandoffChoice = CallRef | { readonly toolName: string };

export type HandoffTerms = {
  /** Who takes it. */
  readonly worker: string;
  /** How the host knows the worker. The name counts as self-asserted where nothing is said. */
  readonly identity?: DirectIdentity;
  /** How long nobody else may have it; until the call's deadline where nothing is said. */
  readonly leaseMs?: number;
  /** What the worker calls this claim, another text for each. With it the claim can be made again if its answer is lost. */
  readonly requestId?: string;
  /**
   * Claims of this worker whose answers were lost, by their `requestId`. If one of them has the call, and the worker has
   * not run it, this claim takes its place, with another token for the same attempt. It can do so once: of two claims
   * that name the same lost one, the second hears `handoff.taken`.
   */
  readonly reclaim?: readonly string[];
  /** What the call was asked for with. Where it was made for another request, it is not to be had: `handoff.unknown`. */
  readonly asked?: ToolCallInput;
  /** With `{ toolName }`: calls that are larger in the ledger, in bytes, are left to others. */
  readonly mostBytes?: number;
};

/** A call in a worker's hands. */
export type HandoffClaim = {
  /** What to report with. A secret: whoever has it says how the call went. */
  readonly token: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  /** Exactly what the body must get. */
  readonly arguments: JsonObject;
  /** The same for every attempt of this call. */
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly principal: Principal | undefined;
  /** When the call times out, by the ledger's clock. */
  readonly deadlineMs: number;
  /** When the worker's time is up: a report after this does not count. */
  readonly expiresAt: number;
};

/** Undefined where no call of the tool waits. Throws where a call that is named cannot be had. */
export async function claimHandoff(
  state: RuntimeState,
  choice: HandoffChoice,
  terms: HandoffTerms,
): Promise<HandoffClaim | undefined> {
  const { engine } = state;
  checkTerms(terms);
  if (typeof choice !== 'object' || choice === null)
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
    // Another worker was faster, or this process cannot open the input: the next call may do.
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
      `The input of call ${callId} cannot be read here: it does not open, or does not fit the tool any more.`,
      { sessionId, callId },
    );
  }
}

/** As two calls under one id are told apart. */
function isMadeFor({ seal }: Engine, call: Call, asked: ToolCallInput): boolean {
  const { id, name, input } = parseToolCall(asked);
  const raw = input.ok ? input.arguments : input.raw;
  return id === call.callId && name === call.toolName && isDigestOf(call.requestDigest, raw, seal);
}

/** The claim that has the call, if it is one of this worker's whose answer was lost. */
function findLostClaim({ redactor }: Engine, call: Call, { worker, reclaim = [] }: HandoffTerms): Replaced {
  const taken = takenBy(call);
  if (taken?.what.type !== 'claimed' || taken.worker !== redactor.text(worker)) return { type: 'held' };
  const { requestId, tokenDigest: digest } = taken.what;
  return reclaim.some((id) => redactor.text(id) === requestId)
    ? { type: 'lost_claim', tokenDigest: digest }
    : { type: 'held' };
}

/** What a claim would take the place of. */
type Replaced =
  | { readonly type: 'nothing' }
  /** A claim of the same worker whose answer was lost. */
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
    `${taken?.worker ?? 'Somebody'} has call ${call.callId} in hand${until === undefined ? '' : ` until ${timeText(until)}`}.`,
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
  /** The input of the call cannot be had here. */
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
      deadlineMs,
      expiresAt,
    },
  };
}

/**
 * The schema gives a value that JSON cannot hold, and another one each time: no worker can ever be given what was
 * accepted. So the call ends now, with the reason, and not at its deadline. False where another process moved it.
 */
async function endDiffering(live: ReadyCall & BoundKey, call: Call): Promise<boolean> {
  const judgement = await fail(
    live,
    {
      code: 'tool.cancelled',
      error:
        'The call did not run: the input schema of the tool gives another value each time, so no worker can be given what was accepted.',
      retryable: false,
      authorSaysRetry: true, // it never ran: a repeat is no twin
    },
    {
      remarks: new AttemptRemarks(),
      context: new BodyContext(live, call.attempt, live.toolKey),
      elapsedMs: elapsedSince(live.engine, call.started?.at),
      deadlineMs: call.started?.deadlineMs ?? 0,
    },
  );
  return keepEnd(live, judgement, noAttempt);
}

/** The same call, deadline and reservation; another run of it. */
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

/** What the schema made of the input, if JSON can hold that; else what the schema was given. */
function argumentsOf(live: ReadyCall): JsonObject | undefined {
  const { value, checked } = live.input;
  const read = toJson(value);
  if (read.ok && isJsonObject(read.value)) return read.value;
  const plain = toJson(checked);
  return plain.ok && isJsonObject(plain.value) ? plain.value : undefined;
}

/** The tool says what its arguments and its results must be, so a worker's runtime has it too. */
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
