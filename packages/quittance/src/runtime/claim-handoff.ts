/**
 * Hand-offs: a worker claims a call, a due call ends without a report, and open hand-offs are listed.
 *
 * 1. One worker has it, by compare-and-set, until its lease or the call's deadline ends.
 * 2. Only the claim reveals the exact arguments outside the runtime, with the hidden values.
 * 3. After a lease has ended, the next worker gets a new attempt, but only if the tool may run again.
 * 4. A worker that lost the response to its claim may claim again. Of several such requests, one succeeds.
 */
import { timeText } from '../base/deadlines.ts';
import { QuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, toJson, freezeJson, readJsonText } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import { parseToolCall } from '../call/tool-call.ts';
import { isHandoff, isUnclaimed, leaseIsOver, claimedBy, dueAt } from '../call/call.ts';
import type { DirectIdentity } from '../call/identity.ts';
import type { Principal } from '../tool/tool-context.ts';
import { readIdentity, refuseWorker } from './rights.ts';
import { checkName, limits, checkPage } from '../call/limits.ts';
import { BodyContext } from './body-context.ts';
import type { CallMaker, CheckedCall, CallRef, ActiveCall } from './active-call.ts';
import { AttemptRemarks, fail, inDoubt, repeatOf } from './judgement.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { RuntimeState } from './runtime-state.ts';
import type { Engine } from './engine.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { isDigestOf, inputExtra } from './call-input.ts';
import { keepEnd, noAttempt, unjudged } from './settle.ts';
import {
  prepareInput,
  takeOver,
  recordTakeover,
  askTool,
  judgeFound,
  judgeUnknown,
  lostAttempt,
} from './take-over.ts';
import type { ToolCallInput } from './call-options.ts';
import type { ToolFailure, ToolOutcome } from '../call/outcome.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { Judgement } from './judgement.ts';
import { isChecked, modelNote } from './active-call.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { OpenCall } from '../ledger/call-query.ts';
import type { StoredCall } from '../ledger/journal.ts';
import type { ToolMode } from '../tool/mode.ts';
import { keyedDigestJson } from '../base/canonical.ts';
import type { Seal } from '../ledger/seal.ts';
import { findOpenCalls, measureStoredCall } from '../ledger/reads.ts';

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
    throw invalid('name the call: {sessionId, callId}, or {toolName}.');
  if (!('toolName' in choice)) return claimOne(state, choice, terms);
  checkKeys('runtime.handoffs.claim', choice, ['toolName']);
  if (terms.asked !== undefined) throw invalid('asked requires the call by its id: {sessionId, callId}.');
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
    const stored = await engine.ledger.readCall(sessionId, callId);
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
    if (replaces.type === 'held') throw alreadyClaimed(call);
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
  const restored = claimedBy(call);
  if (restored?.what.type !== 'claimed' || restored.worker !== redactor.text(worker)) return { type: 'held' };
  const { requestId, tokenDigest: digest } = restored.what;
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

const alreadyClaimed = (call: Call): QuittanceError => {
  const restored = claimedBy(call);
  const until = restored?.what.type === 'claimed' ? restored.what.expiresAt : undefined;
  return new QuittanceError(
    'handoff.taken',
    `${restored?.worker ?? 'A worker'} has claimed call ${call.callId}${until === undefined ? '' : ` until ${timeText(until)}`}.`,
    {
      callId: call.callId,
      worker: restored?.worker ?? '',
      ...(until !== undefined && { expiresAt: String(until) }),
    },
  );
};

type Claimed =
  | { readonly type: 'claimed'; readonly claim: HandoffClaim }
  /** Another process has changed the call. */
  | { readonly type: 'overtaken' }
  /** This process cannot open the input. */
  | { readonly type: 'unreadable' };

async function tryClaim(
  maker: CallMaker,
  { stored, call }: OpenHandoff,
  { worker, identity, requestId, leaseMs = Number.POSITIVE_INFINITY }: HandoffTerms,
  replaces: Exclude<Replaced, { type: 'held' }>,
): Promise<Claimed> {
  const { engine } = maker;
  const restored = await takeOver(maker, stored, call);
  const prepared = await prepareInput(restored, { stored });
  if (prepared.type === 'differs' && isUnclaimed(call))
    return { type: (await endDiffering(prepared.active, call)) ? 'overtaken' : 'unreadable' };
  if (prepared.type !== 'ready') return { type: 'unreadable' };
  const { active } = prepared;
  const input = argumentsOf(active);
  if (input === undefined) return { type: 'unreadable' };
  const deadlineMs = call.started?.deadlineMs ?? 0;
  if (leaseIsOver(call, engine.ledger.now())) startAgain(active, call);
  const attempt = active.journal.call?.attempt ?? 1;
  const name = engine.redactor.text(worker);
  const { sessionId, callId, toolName } = call;
  const expiresAt = Math.min(Math.floor(engine.ledger.now() + leaseMs), deadlineMs);
  const token = makeHandoffToken(engine.seal, { sessionId, callId, attempt, worker: name, expiresAt });
  active.journal.apply({
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
  if ((await active.journal.flush()).status !== 'appended') return { type: 'overtaken' };
  const { idempotencyKey, principal } = new BodyContext(active, attempt, active.toolKey);
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
async function endDiffering(active: CheckedCall, call: Call): Promise<boolean> {
  const judgement = await fail(
    active,
    {
      code: 'tool.cancelled',
      error:
        'The call did not run: the input schema of the tool returns another value each time, so no worker can get the accepted one.',
      retryable: false,
      repeatIsSafe: true, // it never ran, so a repeat is not a twin
    },
    {
      remarks: new AttemptRemarks(),
      context: new BodyContext(active, call.attempt, active.toolKey),
      elapsedMs: elapsedSince(active.engine, call.started?.at),
      deadlineMs: call.started?.deadlineMs ?? 0,
    },
  );
  return await keepEnd(active, judgement, noAttempt);
}

/** Starts another run of the same call with the same deadline and reservation. */
function startAgain(active: CheckedCall, { started }: Call): void {
  if (started === undefined) return;
  const { idempotencyKey, deadlineMs, mayRerun, stages, reserved } = started;
  active.journal.apply({
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
function argumentsOf(active: CheckedCall): JsonObject | undefined {
  const { value, checked } = active.input;
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
  if (typeof terms !== 'object' || terms === null) throw invalid('name the worker: { worker: "mailer-1" }.');
  checkKeys('runtime.handoffs.claim', terms, termNames);
  const { worker, leaseMs, requestId, reclaim } = terms;
  checkName('runtime.handoffs.claim', worker, 'worker', limits.workerChars);
  if (leaseMs !== undefined && !(typeof leaseMs === 'number' && leaseMs >= 1))
    throw invalid('leaseMs must be a number of milliseconds of at least 1.');
  if (requestId !== undefined && !isRequestId(requestId))
    throw invalid(`requestId must be a text of 1 to ${limits.requestIdChars} characters.`);
  if (
    reclaim !== undefined &&
    !(Array.isArray(reclaim) && reclaim.length <= limits.reclaimed && reclaim.every(isRequestId))
  )
    throw invalid(`reclaim must be a list of at most ${limits.reclaimed} requestIds of earlier claims.`);
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

const isRequestId = (id: unknown): boolean =>
  typeof id === 'string' && id !== '' && id.length <= limits.requestIdChars;

/** True if the hand-off has reached its deadline or the end of its lease. */
export const isDue = ({ ledger }: Engine, call: Call): boolean =>
  isHandoff(call) && ledger.now() >= dueAt(call);

/**
 * Ends a hand-off without a report in time. Any process may do it, by compare-and-set: one that waits for the call,
 * repeats it, or looks for work. Returns undefined and stores nothing if another process has changed the call.
 *
 * 1. After its deadline the call has timed out. If no worker had claimed it, nothing ran.
 * 2. If the lease ended earlier, the worker may have run the call. Only a tool that may run again goes to another
 *    worker. Otherwise the tool is asked. Without its answer, the effect is unknown.
 */
export async function endDue(active: ActiveCall): Promise<ToolOutcome | undefined> {
  const {
    engine,
    journal: { call },
  } = active;
  if (call === undefined || !isDue(engine, call)) return undefined;
  const timedOut = engine.ledger.now() >= (call.started?.deadlineMs ?? 0);
  if (!timedOut && asksTool(active) && !(await recordTakeover(active))) return undefined;
  const judgement = timedOut ? judgeTimeout(active, call) : await judgeSilence(active, call);
  const kept = await keepEnd(active, judgement, isUnclaimed(call) ? noAttempt : lostAttempt(active));
  return kept ? judgement.outcome : undefined;
}

const asksTool = ({ tool, takenOver }: ActiveCall): boolean =>
  tool?.reconcile !== undefined && takenOver?.givenUp !== true;

function judgeTimeout(active: ActiveCall, call: Call): Judgement {
  const { request, tool, engine, notes, journal } = active;
  const started = call.started;
  const untaken = 'No worker claimed the call in time, so it did not run.';
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolTimeout',
    callId: request.id,
    toolName: request.name,
    code: 'tool.timeout',
    deadlineMs: started?.deadlineMs ?? 0,
    ...repeatOfHandoff(tool, call, tool?.retryOnTimeout ?? true),
    elapsedMs: elapsedSince(engine, started?.at),
    payloadExtras: freezeJson(inputExtra(journal)),
    ...modelNote(isUnclaimed(call) ? [...notes, untaken] : notes),
  });
  return unjudged(outcome, false);
}

/** Uses the record if this process does not have the tool. */
function repeatOfHandoff(
  tool: AnyTool | undefined,
  call: Call,
  retryable: boolean,
): Pick<ToolFailure, 'retryable' | 'inDoubt' | 'blocksTool'> {
  if (isUnclaimed(call) || call.started?.mayRerun === true) return { retryable };
  return tool === undefined ? inDoubt(retryable) : repeatOf(tool, { code: 'tool.timeout', retryable });
}

/** The time since an event, for an outcome. The ledger's clock may be set back. */
export const elapsedSince = ({ ledger }: Engine, at: number | undefined): number =>
  Math.max(0, Math.round(ledger.now() - (at ?? ledger.now())));

async function judgeSilence(active: ActiveCall, call: Call): Promise<Judgement> {
  const worker = claimedBy(call)?.worker ?? 'nobody';
  const why = `The time of the worker ${worker} was up before it reported`;
  const ready = asksTool(active) ? await readyToAsk(active) : undefined;
  const found = ready && (await askTool(ready, call));
  return ready === undefined || found === undefined || found.status === 'unknown'
    ? judgeUnknown(active, why)
    : judgeFound(ready, found, why);
}

/** The call with its input, or undefined if the input is unavailable. */
async function readyToAsk(active: ActiveCall): Promise<CheckedCall | undefined> {
  if (isChecked(active)) return active;
  const prepared = await prepareInput(active);
  return prepared.type === 'ready' ? prepared.active : undefined;
}

const pageSize = 1_000;

/**
 * Every call without an outcome, oldest first, read page by page. Other work gets a turn between two pages.
 */
export async function* readOpenCalls(ledger: Pick<Ledger, 'query'>): AsyncGenerator<OpenCall, void> {
  let after: string | undefined;
  for (;;) {
    const page = await findOpenCalls(ledger, {
      limit: pageSize,
      ...(after !== undefined && { after }),
    });
    yield* page;
    after = page.at(-1)?.cursor;
    if (page.length < pageSize || after === undefined) return;
    await new Promise(setImmediate);
  }
}

export type HandoffQuery = { readonly toolName?: string; readonly limit?: number };

/** A hand-off that waits for a worker (`waiting`) or that a worker has claimed (`taken`). The input is in its stored form. */
export type HandoffView = {
  readonly sessionId: string;
  readonly callId: string;
  readonly turnId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly attempt: number;
  readonly status: 'waiting' | 'taken';
  readonly input: JsonValue;
  /** Paths whose values are not shown. A worker that claims the call gets them. */
  readonly hidden: readonly string[];
  readonly inputDigest: string | undefined;
  readonly principal: Principal | undefined;
  readonly startedAt: number;
  readonly deadlineMs: number;
  /** The worker that claimed it, since when and until when. */
  readonly worker: string | undefined;
  readonly takenAt: number | undefined;
  readonly expiresAt: number | undefined;
};

type OpenHandoff = { readonly stored: StoredCall; readonly call: Call };

/** Lists open hand-offs, oldest first. */
export async function listHandoffs(
  state: RuntimeState,
  query: HandoffQuery,
): Promise<readonly HandoffView[]> {
  checkKeys('runtime.handoffs.list', query, ['toolName', 'limit']);
  checkPage('runtime.handoffs.list', query);
  const { limit = 100 } = query;
  const views: HandoffView[] = [];
  for await (const { call } of findHandoffs(state, query.toolName)) {
    views.push(toHandoffView(call, state.engine.ledger.now()));
    if (views.length === limit) break;
  }
  return views;
}

const looksAtOnce = 20;

/** Yields open hand-offs. Ends those that are due, since their callers may be gone. */
async function* findHandoffs(
  state: RuntimeState,
  toolName: string | undefined,
  mostBytes: number = Number.POSITIVE_INFINITY,
): AsyncGenerator<OpenHandoff, void> {
  const { engine } = state;
  let looks = 0;
  for await (const { sessionId, callId } of readOpenCalls(engine.ledger)) {
    // Many calls may be open, so other work in the process gets a turn in between.
    if (++looks % looksAtOnce === 0) await new Promise(setImmediate);
    if (
      mostBytes < Number.POSITIVE_INFINITY &&
      (await measureStoredCall(engine.ledger, sessionId, callId)) > mostBytes
    )
      continue;
    const stored = await engine.ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined || !isHandoff(call)) continue;
    if (toolName !== undefined && call.toolName !== toolName) continue;
    if (isDue(engine, call)) await endDue(await takeOver(state, stored, call));
    else yield { stored, call };
  }
}

const isWaiting = (call: Call, now: number): boolean =>
  claimedBy(call) === undefined || leaseIsOver(call, now);

export function toHandoffView(call: Call, now: number): HandoffView {
  const waiting = isWaiting(call, now);
  const restored = waiting ? undefined : claimedBy(call);
  return {
    sessionId: call.sessionId,
    callId: call.callId,
    turnId: call.turnId,
    toolName: call.toolName,
    displayName: call.displayName,
    mode: call.mode,
    attempt: call.attempt,
    status: waiting ? 'waiting' : 'taken',
    input: call.effectiveInput ?? call.requestedInput,
    hidden: call.hidden,
    inputDigest: call.inputDigest,
    principal: call.principal,
    startedAt: call.started?.at ?? call.requestedAt,
    deadlineMs: call.started?.deadlineMs ?? 0,
    worker: restored?.worker,
    takenAt: restored?.at,
    expiresAt: restored?.what.type === 'claimed' ? restored.what.expiresAt : undefined,
  };
}

/**
 * The content of the token that proves a claim. The token is sealed, so only holders of the ledger's key can make or
 * read one. The ledger stores only a keyed digest, so a reader of the ledger cannot report.
 */
export type HandoffGrant = {
  readonly sessionId: string;
  readonly callId: string;
  readonly attempt: number;
  readonly worker: string;
  /** By the ledger's clock. */
  readonly expiresAt: number;
};

const purpose = 'quittance hand-off token';

const makeHandoffToken = (seal: Seal, grant: HandoffGrant): string =>
  seal.seal(
    JSON.stringify([grant.sessionId, grant.callId, grant.attempt, grant.worker, grant.expiresAt]),
    purpose,
  );

export const tokenDigest = (seal: Seal, token: string): string =>
  keyedDigestJson(seal.digestKey, [purpose, token]);

/** The claim that the token proves, or undefined if it is not from this ledger. */
export function readHandoffToken(seal: Seal, token: unknown): HandoffGrant | undefined {
  if (typeof token !== 'string' || token.length > longest) return undefined;
  try {
    const [sessionId, callId, attempt, worker, expiresAt] = readJsonText(
      seal.open(token, purpose),
    ) as readonly JsonValue[]; // we sealed it as this list
    return typeof sessionId === 'string' &&
      typeof callId === 'string' &&
      typeof attempt === 'number' &&
      typeof worker === 'string' &&
      typeof expiresAt === 'number'
      ? { sessionId, callId, attempt, worker, expiresAt }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Length limit for tokens, far above any valid one. */
const longest = 1_000_000;
