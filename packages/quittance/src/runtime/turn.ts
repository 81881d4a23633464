/** A turn: makes calls alone, in batches, or as typed functions, and ends. */
import { checkKeys, checkObject } from '../base/check-keys.ts';
import { QuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { readJsonText, toJson } from '../base/json.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { unwrap } from '../call/outcome.ts';
import { parseToolCall } from '../call/tool-call.ts';
import type { AnyTool, ToolInput, ToolOutput } from '../tool/define-tool.ts';
import type { Jsonified } from '../tool/jsonified.ts';
import type { CallInProgress } from './active-call.ts';
import type { CallOptions, TurnOptions, ToolCallInput } from './call-options.ts';
import type { RuntimeState } from './runtime-state.ts';
import { callKey } from './turn-state.ts';
import type { Engine } from './engine.ts';
import { checkCallOptions } from './call-options.ts';
import { makeCall, defaultTerms, rawOf, toRequest, withAskByMode } from './run-call.ts';
import type { TurnState } from './turn-state.ts';
import { readStoredArtifact } from './stored-artifact.ts';
import type { ParsedToolCall } from '../call/tool-call.ts';
import { acceptCall } from './active-call.ts';
import { readCaller } from './call-input.ts';
import { refuseCaller } from './rights.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { gates, passGates } from './gates.ts';
import { keepInput, inputForTool, resourceKeysOf } from './call-input.ts';
import { openQuestion } from './call-reply.ts';
import { answerByGrant } from './grants.ts';
import { coerce } from '../tool/coerce.ts';
import { timedSchema } from './accept-input.ts';
import { createSemaphore } from '../base/semaphore.ts';
import { recordEnd, watchResult, withdrawAll } from './end-turn.ts';
import { stayAwake } from './engine.ts';
import type { PendingReply } from './call-reply.ts';
import { whenChanged } from './runtime-state.ts';

/** One round of an agent's loop. */
export interface Turn<Tools extends readonly AnyTool[] = readonly AnyTool[]> {
  readonly sessionId: string;
  readonly turnId: string;
  /**
   * Makes a call and returns its one outcome. Throws `call.malformed` for an envelope that is not a tool
   * call, and `call.pending` if the call is held at the turn's deadline. With `ifHeld: 'return'` it does not
   * wait for a person: `{type: 'pending'}` then names the question.
   */
  call(call: ToolCallInput, options: CallOptions & IfHeld): Promise<ToolOutcome | PendingCall>;
  call(call: ToolCallInput, options?: CallOptions): Promise<ToolOutcome>;
  /**
   * If the call needs an approval, holds it and returns the question. Otherwise it leaves no trace. For
   * frameworks that ask before they run a tool: the call itself is made as usual and rejoins its question.
   */
  ask(call: ToolCallInput, options?: CallOptions): Promise<PendingCall | undefined>;
  /**
   * Makes several calls. Reads run in parallel; overlapping writes wait; results keep call order. A call
   * still held at the deadline gives `{type: 'pending'}`. With `ifHeld: 'return'` it does not wait for a person: a
   * held call and the calls that must wait for it are pending. Make the same calls again after the decisions.
   */
  callAll(
    calls: readonly ToolCallInput[],
    options?: CallAllOptions,
  ): Promise<readonly (ToolOutcome | PendingCall)[]>;
  /** Submits a call without waiting for it. */
  submit(call: ToolCallInput, options?: CallOptions): SubmittedCall;
  /** Cancels an active call of this session. Returns false if there is none. */
  cancel(callId: string, reason?: string): boolean;
  /** The tools as typed functions for code. They return the output or throw a `ToolError`. */
  readonly run: ToolRunners<Tools>;
  /** The tools for any agent loop. `execute` returns the content for the model. */
  tools(): readonly BoundTool[];
  /**
   * Opens a child turn, in its own session or in this one. The budgets and the deadline of this turn hold
   * there too, so a child gets only what is left.
   */
  child(options?: Partial<TurnOptions>): Turn<Tools>;
  /**
   * Ends the turn: no body starts for it any more. Later calls are denied, a running attempt continues to its
   * end, and a call due for a retry ends with its last failure. Held calls stay held and run when approved,
   * unless `withdraw` is set: then their questions are withdrawn, and child turns end in the same way.
   */
  end(options?: { readonly withdraw?: boolean }): Promise<void>;
}

type IfHeld = { readonly ifHeld: 'return' };

export type CallAllOptions = CallOptions & Partial<IfHeld> & { readonly concurrency?: number };

export interface SubmittedCall {
  readonly callId: string;
  /**
   * Resolves once the ledger has the request. Rejects with `ledger.unavailable` if it could not be stored;
   * then nothing ran.
   */
  readonly accepted: Promise<void>;
  outcome(): Promise<ToolOutcome>;
  cancel(reason?: string): void;
}

export type ToolRunners<Tools extends readonly AnyTool[]> = {
  readonly [Tool in Tools[number] as Tool['name']]: ToolRunner<Tool>['run'];
};

/** Written as a method, so that a runtime with specific tools is assignable to one with any tools. */
interface ToolRunner<Tool extends AnyTool> {
  run(
    args: ToolInput<Tool>,
    options?: CallOptions & { readonly callId?: string },
  ): Promise<Jsonified<ToolOutput<Tool>>>;
}

export type BoundTool = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input, if the schema's vendor provides one. */
  readonly schema: JsonObject | undefined;
  execute(
    args: Readonly<Record<string, unknown>> | string,
    options?: CallOptions & { readonly callId?: string },
  ): Promise<string>;
};

export function createTurn<Tools extends readonly AnyTool[]>(
  runtime: RuntimeState,
  state: TurnState,
  openChild: (options: Partial<TurnOptions>) => Turn<Tools>,
): Turn<Tools> {
  const { engine } = runtime;
  const { sessionId, turnId } = state;
  // It does not wait itself: it would keep the arguments of a held call until its end.
  const call = async (envelope: unknown, options: CallOptions = noOptions): Promise<ToolOutcome> =>
    awaitReply(make(runtime, state, envelope, options), state, options).then(orPending);
  watchResult(runtime, state);
  return {
    sessionId,
    turnId,
    call: ((envelope, options) =>
      wantsReturn(options)
        ? callUnlessHeld(runtime, state, envelope, options)
        : call(envelope, options)) as Turn['call'],
    async ask(envelope, options = {}) {
      checkCallOptions(options);
      return askFirst(runtime, state, parseToolCall(envelope), options);
    },
    async callAll(calls, given = {}) {
      checkObject('turn.callAll', given);
      const { concurrency = engine.concurrency, ifHeld, ...options } = given;
      if (ifHeld !== undefined) checkIfHeld('turn.callAll', ifHeld);
      checkConcurrency(concurrency);
      return callBatch(runtime, state, calls.map(parseToolCall), options, {
        concurrency,
        waitsForPeople: ifHeld === undefined,
      });
    },
    submit: (envelope, options = {}) => submit(runtime, state, envelope, options),
    cancel(callId, reason = 'cancelled') {
      const made = runtime.callsInProgress.get(callKey({ sessionId, callId }));
      made?.active.signals.cancel(reason);
      return made !== undefined;
    },
    run: createRunners<Tools>(engine, sessionId, call),
    tools: () =>
      [...engine.tools.values()].map((tool) => ({
        name: tool.name,
        description: tool.description ?? '',
        schema: tool.input.jsonSchema,
        execute: async (args, given = {}) => {
          checkObject('execute', given);
          const { callId = engine.ids.next('call'), ...options } = given;
          return outcomeToModelContent(await call({ id: callId, name: tool.name, arguments: args }, options));
        },
      })),
    child(options = {}) {
      checkObject('turn.child', options);
      return openChild(options);
    },
    async end(options = {}) {
      checkKeys('turn.end', options, ['withdraw']);
      const { withdraw = false } = options;
      const why = 'The turn was ended and its questions withdrawn.';
      // Turns below this one without an active call have nothing to end.
      const turns = [...runtime.callsInProgress.values()].map(({ active }) => active.turn);
      const family = withdraw ? turns.filter((turn) => turn.isWithin(state)) : [];
      const open = [...new Set([state, ...family])].filter(({ ended }) => ended === undefined);
      if (withdraw) state.close(why);
      for (const turn of open) turn.endBy('asked');
      try {
        await Promise.all(open.map((turn) => recordEnd(engine, turn, 'asked')));
      } finally {
        if (withdraw) await withdrawAll(runtime, ({ turn }) => turn.isWithin(state), why);
      }
    },
  };
}

const noOptions: CallOptions = Object.freeze({});

/** JavaScript callers may pass anything as options. The checks of the other options refuse it. */
const wantsReturn = (options: CallOptions | undefined): options is CallOptions & IfHeld =>
  (options as Partial<IfHeld> | null | undefined)?.ifHeld !== undefined;

async function callUnlessHeld(
  runtime: RuntimeState,
  state: TurnState,
  envelope: unknown,
  { ifHeld, ...options }: CallOptions & IfHeld,
): Promise<ToolOutcome | PendingCall> {
  checkIfHeld('turn.call', ifHeld);
  const active = make(runtime, state, envelope, options);
  return unlessGivenUp(active, options, outcomeOrPending(active));
}

function checkConcurrency(concurrency: unknown): void {
  if (Number.isSafeInteger(concurrency) && Number(concurrency) >= 1) return;
  throw new QuittanceError(
    'config.invalid',
    `concurrency must be a whole number of at least 1, found ${String(concurrency)}.`,
  );
}

function checkIfHeld(where: string, ifHeld: unknown): void {
  if (ifHeld !== 'return')
    throw new QuittanceError('config.invalid', `${where}: ifHeld must be 'return', found ${String(ifHeld)}.`);
}

const make = (
  runtime: RuntimeState,
  state: TurnState,
  envelope: unknown,
  options: CallOptions,
): CallInProgress => makeCall(runtime, state, parseToolCall(envelope), options, defaultTerms);

function submit(
  runtime: RuntimeState,
  state: TurnState,
  envelope: unknown,
  options: CallOptions,
): SubmittedCall {
  const made = makeCall(runtime, state, parseToolCall(envelope), options, { submitted: true });
  const { callId, signals } = made.active;
  return {
    callId,
    accepted: whenAccepted(made),
    outcome: async () => orPending(await unlessGivenUp(made, options, outcomeOf(made))),
    cancel: (reason = 'cancelled by its submitter') => signals.cancel(reason),
  };
}

type RunOptions = CallOptions & { readonly callId?: string };

/** One function per tool of the runtime, typed by the tool's definition. */
function createRunners<Tools extends readonly AnyTool[]>(
  { ids, ledger, tools }: Engine,
  sessionId: string,
  call: (envelope: unknown, options: CallOptions) => Promise<ToolOutcome>,
): ToolRunners<Tools> {
  const run = async (name: string, args: unknown, options: RunOptions = {}): Promise<unknown> => {
    checkObject(`turn.run.${name}`, options);
    const { callId = ids.next('call'), ...rest } = options;
    const outcome = await call({ id: callId, name, arguments: args }, rest);
    if (outcome.type !== 'ToolArtifactReference') return mutableCopy(unwrap(outcome));
    const artifact = await readStoredArtifact(ledger, sessionId, outcome.artifactId);
    return typeof artifact?.content === 'string' ? readJsonText(artifact.content) : unwrap(outcome);
  };
  return new Proxy(Object.create(null) as ToolRunners<Tools>, {
    get: (_, name) =>
      typeof name === 'string' && tools.has(name)
        ? (args: unknown, options?: RunOptions) => run(name, args, options)
        : undefined,
    has: (_, name) => typeof name === 'string' && tools.has(name),
    ownKeys: () => [...tools.keys()],
  });
}

/** Its rejection need not be handled: `outcome()` reports the same error. */
function whenAccepted({ active, reply }: CallInProgress): Promise<void> {
  const accepted = Promise.race([active.journal.whenStored(), reply]).then((answer) => {
    if (answer?.type === 'ToolFailure' && answer.code === 'ledger.unavailable')
      throw new QuittanceError('ledger.unavailable', answer.error, { callId: active.callId });
  });
  accepted.catch(() => undefined);
  return accepted;
}

async function outcomeOf(made: CallInProgress): Promise<ToolOutcome> {
  const reply = await made.reply;
  return reply.type === 'held' ? reply.rest : reply;
}

/** Outcomes are frozen. Callers of `run` get a copy that they may change. */
const mutableCopy = (value: JsonValue): unknown =>
  typeof value === 'object' && value !== null ? structuredClone(value) : value;

/**
 * If the call needs an approval, holds it and returns its question. Otherwise stores nothing. For frameworks that ask
 * before they run a tool. When the call is made, it passes the gates again.
 */
async function askFirst(
  state: RuntimeState,
  turn: TurnState,
  request: ParsedToolCall,
  options: CallOptions,
): Promise<PendingCall | undefined> {
  const { sessionId } = turn;
  const { id: callId } = request;
  refuseCalls(state.engine, turn, [request], options);
  if (!state.callsInProgress.has(callKey({ sessionId, callId }))) {
    const stored = await state.engine.ledger.readCall(sessionId, callId);
    if (stored !== undefined) {
      // A stored call is not handled here. The caller that makes it rejoins it or gets a conflict.
      const asked = openQuestion(foldStored(stored));
      return asked && toPending(callId, asked);
    }
    if (!state.closed && !(await wouldAsk(state, turn, request, options))) return undefined;
  }
  const reply = await makeCall(state, turn, request, options, defaultTerms).reply;
  return reply.type === 'held' ? toPending(callId, reply) : undefined;
}

/** Throws unless the caller may call all these tools. */
function refuseCalls(
  { tools, redactor }: Engine,
  turn: TurnState,
  requests: readonly ParsedToolCall[],
  { askedBy }: CallOptions,
): void {
  const caller = readCaller(askedBy, turn.facts, redactor);
  for (const { name } of requests) refuseCaller(caller, tools.get(name));
}

/** A preview changes the record, so only the actual call makes one. */
const gatesToLookAt = gates.filter(({ name }) => name !== 'preview');

async function wouldAsk(
  state: RuntimeState,
  turn: TurnState,
  request: ParsedToolCall,
  options: CallOptions,
): Promise<boolean> {
  const { engine } = state;
  const paths = engine.tools.get(request.name)?.redact?.input;
  const requested = keepInput(rawOf(request.input), paths, engine.redactor, engine.seal);
  const active = acceptCall(state, turn, request, requested, options, defaultTerms);
  active.journal.apply(toRequest(active));
  const passed = await passGates(active, gatesToLookAt);
  if (passed.type === 'stopped') return false;
  const asks = withAskByMode(passed.active);
  return asks.length > 0 && (await answerByGrant(passed.active, asks)) === undefined;
}

/**
 * Runs many calls with the same results as in sequence. Reads run in parallel. Any other call waits for earlier calls that
 * touch the same resources or do not declare theirs. Later calls wait for it likewise, and a held call keeps its position.
 * Results keep call order.
 *
 * With `ifHeld: 'return'` nothing waits for a person. A call that must wait for a held one is not made. If it needs an
 * approval too, the person is asked at once, unless a call between them must run first.
 */
async function callBatch(
  state: RuntimeState,
  turn: TurnState,
  requests: readonly ParsedToolCall[],
  options: CallOptions,
  { concurrency, waitsForPeople }: { readonly concurrency: number; readonly waitsForPeople: boolean },
): Promise<readonly (ToolOutcome | PendingCall)[]> {
  // Checked for all calls before the first one runs.
  refuseCalls(state.engine, turn, requests, options);
  const reaches = await Promise.all(requests.map((request) => reachOf(state.engine, turn, request)));
  const { clock } = state.engine;
  const askedAtMs = clock.monotonicMs();
  const waitForSlot = createSemaphore(concurrency);
  const answers: Promise<ToolOutcome | PendingCall>[] = [];
  for (const [index, request] of requests.entries()) {
    const earlier = answers.filter((_, other) => overlap(reaches[index], reaches[other]));
    const make = async (): Promise<ToolOutcome | PendingCall> => {
      const before = await Promise.allSettled(earlier);
      const pending = waitsForPeople ? [] : before.flatMap(pendingOf);
      if (pending.length > 0) return askInAdvance(pending, state, turn, request, options);
      const queuedMs = clock.monotonicMs() - askedAtMs;
      const active = makeCall(state, turn, request, options, { submitted: false, waitForSlot, queuedMs });
      return waitsForPeople
        ? awaitReply(active, turn, options)
        : unlessGivenUp(active, options, outcomeOrPending(active));
    };
    answers.push(make());
  }
  return Promise.all(answers);
}

const pendingOf = (settled: PromiseSettledResult<ToolOutcome | PendingCall>): readonly PendingCall[] =>
  settled.status === 'fulfilled' && settled.value.type === 'pending' ? [settled.value] : [];

/** A call that was made before is answered as usual. */
async function askInAdvance(
  pending: readonly PendingCall[],
  state: RuntimeState,
  turn: TurnState,
  request: ParsedToolCall,
  options: CallOptions,
): Promise<ToolOutcome | PendingCall> {
  const { sessionId } = turn;
  const { id: callId } = request;
  const isKnown =
    state.callsInProgress.has(callKey({ sessionId, callId })) ||
    (await state.engine.ledger.readCall(sessionId, callId)) !== undefined;
  if (!isKnown) {
    const mayAsk = pending.every(({ confirmationId }) => confirmationId !== undefined);
    const asked = mayAsk ? await askFirst(state, turn, request, options) : undefined;
    return asked ?? toPending(callId, undefined);
  }
  const active = makeCall(state, turn, request, options, defaultTerms);
  return unlessGivenUp(active, options, outcomeOrPending(active));
}

/** Resources that a call may touch. `keys: undefined` means any. */
type Reach = { readonly reads: boolean; readonly keys: readonly string[] | undefined };

const nothing: Reach = { reads: true, keys: [] };

async function reachOf(engine: Engine, turn: TurnState, { name, input }: ParsedToolCall): Promise<Reach> {
  const tool = engine.tools.get(name);
  if (tool === undefined || !input.ok) return nothing;
  const reads = tool.surelyReads;
  if (tool.resourceKeys === undefined) return { reads, keys: undefined };
  // The deadline of the turn ends this wait too: every call of the batch waits here.
  const schema = timedSchema(engine, tool.input, turn.deadlineAtMs - engine.clock.monotonicMs());
  const copy = toJson(input.arguments);
  const checked = copy.ok ? await schema.check(copy.value) : undefined;
  const keysOf = (read: JsonObject, value: unknown): readonly string[] | undefined =>
    resourceKeysOf(tool, () => inputForTool(tool.input, { form: 'typed', value, checked: read }));
  if (checked?.ok === true) return { reads, keys: keysOf(input.arguments, checked.value) };
  const coerced = await coerce(input.arguments, schema);
  return { reads, keys: coerced.ok ? keysOf(coerced.input, coerced.value) : undefined };
}

function overlap(left: Reach | undefined, right: Reach | undefined): boolean {
  if (left === undefined || right === undefined || (left.reads && right.reads)) return false;
  if (left.keys === undefined || right.keys === undefined) return true;
  return left.keys.some((key) => right.keys?.includes(key));
}

/** Returned instead of an outcome: the call waits for a person, or another caller is still making it. */
export type PendingCall = {
  readonly type: 'pending';
  readonly callId: string;
  /** Id of the open question, or undefined if the call has none. */
  readonly confirmationId: string | undefined;
  /** Why the call needs an approval, in words that the model may see. Absent without a question. */
  readonly waitsFor?: string;
};

export const toPending = (
  callId: string,
  asked: { readonly confirmationId: string | undefined; readonly waitsFor?: string } | undefined,
): PendingCall => ({
  type: 'pending',
  callId,
  confirmationId: asked?.confirmationId,
  ...(asked?.waitsFor !== undefined && { waitsFor: asked.waitsFor }),
});

/**
 * Returns the outcome. Returns a pending call at the turn's deadline, or when the caller stops waiting for a
 * call that another caller makes. Neither case ends the call or its hold.
 */
export function awaitReply(
  call: CallInProgress,
  turn: TurnState,
  options: CallOptions = call.active.options,
): Promise<ToolOutcome | PendingCall> {
  const reply = untilReply(call, turn);
  return options.signal === undefined ? reply : unlessGivenUp(call, options, reply);
}

/**
 * The signal of the caller that makes the call cancels it, and the outcome says so. The signal of a caller
 * that joined, here or from another process, only ends that caller's wait.
 */
export async function unlessGivenUp(
  call: CallInProgress,
  { signal }: CallOptions,
  waiting: Promise<ToolOutcome | PendingCall>,
): Promise<ToolOutcome | PendingCall> {
  if (signal === undefined) return waiting;
  const given = Promise.withResolvers<PendingCall>();
  const giveUp = async (): Promise<void> => {
    const { options, callId, signals } = call.active;
    const isMaker = options.signal === signal && !(await isMadeElsewhere(call));
    if (!isMaker) given.resolve(toPending(callId, signals.held));
  };
  const onAbort = (): void => void giveUp().catch(() => undefined); // the wait then ends with the same error
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([waiting, given.promise]);
  } finally {
    waiting.catch(() => undefined);
    signal.removeEventListener('abort', onAbort);
  }
}

/** True if the call is stored and made by another runtime. */
async function isMadeElsewhere(call: CallInProgress): Promise<boolean> {
  const reply = await call.reply;
  return reply.type === 'held' && !call.active.journal.owned && call.active.signals.takenFrom === undefined;
}

async function untilReply(call: CallInProgress, turn: TurnState): Promise<ToolOutcome | PendingCall> {
  const { active } = call;
  const leftMs = turn.deadlineAtMs - active.engine.clock.monotonicMs();
  const bounded = leftMs !== Number.POSITIVE_INFINITY;
  // The attempt bounds only the turn that makes the call. A turn that joined has its own deadline.
  if (bounded && active.turn !== turn) return untilDeadline(call, outcomeOf(call), leftMs);
  const reply = await call.reply;
  if (reply.type !== 'held') return reply;
  return bounded ? untilDeadline(call, reply.rest, leftMs, reply) : stayAwake(active.engine, reply.rest);
}

/** `asked`: the open question of the call, if it is known. */
function untilDeadline(
  { active: { engine, callId }, reply }: CallInProgress,
  outcome: Promise<ToolOutcome>,
  leftMs: number,
  asked?: PendingReply,
): Promise<ToolOutcome | PendingCall> {
  return new Promise((resolve, reject) => {
    let held = asked;
    if (held === undefined)
      reply.then(
        (found) => {
          if (found.type === 'held') held = found;
        },
        () => undefined,
      );
    const watch = engine.deadlines.watch(Math.max(0, leftMs), () => resolve(toPending(callId, held)));
    const stop = (): void => watch.stop();
    outcome.then(resolve, reject);
    outcome.then(stop, stop);
  });
}

/**
 * For callers that expect an outcome or an exception. A framework may show the message to its model, so it
 * only says what the call waits for. The remedy in the error is for the developer.
 */
export function orPending(answer: ToolOutcome | PendingCall): ToolOutcome {
  if (answer.type !== 'pending') return answer;
  const { callId, confirmationId, waitsFor } = answer;
  throw new QuittanceError(
    'call.pending',
    confirmationId === undefined
      ? `Call ${callId} is still being made elsewhere, and its caller no longer waits for it here. Do not make it again.`
      : `Call ${callId} has not run: it still waits for a person.${waitsFor === undefined ? '' : ` ${waitsFor}`} Do not make it again.`,
    {
      callId,
      ...(confirmationId !== undefined && { confirmationId }),
      ...(waitsFor !== undefined && { waitsFor }),
    },
  );
}

/**
 * The outcome of a call, or its open question. A person may have answered since the call was held. Then the
 * call runs, and may meet another question before it ends.
 */
export async function outcomeOrPending(call: CallInProgress): Promise<ToolOutcome | PendingCall> {
  const reply = await call.reply;
  if (reply.type !== 'held') return reply;
  const { engine, sessionId, callId } = call.active;
  for (;;) {
    const stored = await engine.ledger.readCall(sessionId, callId);
    const found = stored && foldStored(stored);
    const confirmation = found?.confirmation;
    if (stored === undefined || found === undefined || confirmation === undefined)
      return toPending(callId, reply);
    const asked = openQuestion(found);
    if (asked !== undefined) return toPending(callId, asked);
    const stop = new AbortController();
    const changed = whenChanged(engine, found, stored.version, stop.signal).then(() => undefined);
    const outcome = await Promise.race([reply.rest, changed]).finally(() => stop.abort());
    if (outcome !== undefined) return outcome;
  }
}
