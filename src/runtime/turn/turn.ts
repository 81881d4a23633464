import { checkKeys, checkObject } from '../../base/check-keys.ts';
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { readJsonText } from '../../base/json.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { unwrap } from '../../call/outcome.ts';
import type { TurnEndReason, TurnEnded } from '../../call/event.ts';
import { parseToolCall } from '../../call/tool-call.ts';
import type { AnyTool, ToolInput, ToolOutput } from '../../tool/define-tool.ts';
import type { Jsonified } from '../../tool/jsonified.ts';
import { askFirst } from './ask-first.ts';
import type { PendingCall } from './await-reply.ts';
import { awaitReply, orPending, unlessGivenUp } from './await-reply.ts';
import { callBatch } from './call-batch.ts';
import type { ActiveCall } from '../state/active-call.ts';
import type { CallOptions } from '../host/call-options.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { callKey } from '../state/call-key.ts';
import type { Engine } from '../state/engine.ts';
import { checkCallOptions, noOptions } from './check-call-options.ts';
import { MadeCall } from './made-call.ts';
import { makeCall, waitedFor } from './make-call.ts';
import type { TurnOptions } from '../host/turn-options.ts';
import type { TurnState } from '../state/turn-state.ts';
import { readStoredArtifact } from '../host/read-stored-artifact.ts';
import type { ToolCallInput } from '../host/tool-call-input.ts';
import { outcomeOrPending } from './outcome-or-pending.ts';

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
  const call = (envelope: unknown, options: CallOptions = noOptions): Promise<ToolOutcome> => {
    let active: ActiveCall;
    try {
      active = make(runtime, state, envelope, options);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    return active instanceof MadeCall && active.live.turn === state && options.signal === undefined
      ? active.outcome()
      : awaitReply(active, state, options).then(orPending);
  };
  state.onEnd = (why) => {
    if (why === 'terminal_result') endWithResult(runtime, state);
  };
  return {
    sessionId,
    turnId,
    call: ((envelope, options) =>
      wantsReturn(options)
        ? callUnlessHeld(runtime, state, envelope, options)
        : call(envelope, options)) as Turn['call'],
    async ask(envelope, options = noOptions) {
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
      const active = runtime.activeCalls.get(callKey({ sessionId, callId }));
      active?.live.signals.cancel(reason);
      return active !== undefined;
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
      const active = [...runtime.activeCalls.values()].map(({ live }) => live.turn);
      const family = withdraw ? active.filter((turn) => turn.isWithin(state)) : [];
      const open = [...new Set([state, ...family])].filter(({ ended }) => ended === undefined);
      if (withdraw) state.close(why);
      for (const turn of open) turn.endBy('asked');
      try {
        await Promise.all(open.map((turn) => writeEnd(engine, turn, 'asked')));
      } finally {
        if (withdraw) await withdrawAll(runtime, (turn) => turn.isWithin(state), why);
      }
    },
  };
}

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

const make = (runtime: RuntimeState, state: TurnState, envelope: unknown, options: CallOptions): ActiveCall =>
  makeCall(runtime, state, parseToolCall(envelope), options, waitedFor);

function submit(
  runtime: RuntimeState,
  state: TurnState,
  envelope: unknown,
  options: CallOptions,
): SubmittedCall {
  const active = makeCall(runtime, state, parseToolCall(envelope), options, {
    submitted: true,
    awaitStart: undefined,
  });
  const { callId, signals } = active.live;
  return {
    callId,
    accepted: whenAccepted(active),
    outcome: async () => orPending(await unlessGivenUp(active, options, outcomeOf(active))),
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
    if (outcome.type !== 'ToolArtifactReference') return thaw(unwrap(outcome));
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

/** Records the end of the turn, if the turn has a record. */
async function writeEnd(engine: Engine, state: TurnState, why: TurnEndReason): Promise<void> {
  if (!state.opened) return;
  const event: TurnEnded = {
    id: engine.nextEventId(),
    type: 'turn.ended',
    sessionId: state.sessionId,
    turnId: state.turnId,
    at: engine.ledger.now(),
    cause: undefined,
    why,
  };
  await engine.ledger.journal.append({
    entryId: engine.ids.next('ent'),
    sessionId: state.sessionId,
    callId: undefined,
    expectedVersion: 0,
    events: [event],
    ...(state.depth > 0 && { depth: state.depth }),
  });
}

/** Withdraws the open questions of these turns. Waits until their calls have ended. */
async function withdrawAll(
  runtime: RuntimeState,
  isOf: (turn: TurnState) => boolean,
  reason: string,
): Promise<void> {
  const held = [...runtime.activeCalls.values()].filter(
    ({ live }) => isOf(live.turn) && live.signals.withdraw !== undefined,
  );
  for (const { live } of held) live.signals.withdraw?.(reason);
  await Promise.allSettled(
    held.map(async (active) => {
      const reply = await active.reply;
      return reply?.type === 'held' ? reply.rest : reply;
    }),
  );
}

/** A tool returned the final result of the turn. */
function endWithResult(runtime: RuntimeState, state: TurnState): void {
  const { stragglers } = runtime.engine;
  const why = 'The turn has ended with the final result of another tool.';
  state.withdraw(why);
  const ending = Promise.all([
    writeEnd(runtime.engine, state, 'terminal_result'),
    withdrawAll(runtime, (turn) => turn === state, why),
  ])
    // The outcome that ended the turn is stored. The end of the turn itself is recorded if the ledger takes it.
    .catch(() => undefined)
    .finally(() => stragglers.delete(ending));
  stragglers.add(ending);
}

/** Its rejection need not be handled: `outcome()` reports the same error. */
function whenAccepted(active: ActiveCall): Promise<void> {
  const accepted = Promise.race([active.live.journal.whenKept(), active.reply]).then((reply) => {
    if (reply?.type === 'ToolFailure' && reply.code === 'ledger.unavailable')
      throw new QuittanceError('ledger.unavailable', reply.error, { callId: active.live.callId });
  });
  accepted.catch(() => undefined);
  return accepted;
}

async function outcomeOf(active: ActiveCall): Promise<ToolOutcome> {
  const reply = await active.reply;
  if (reply === undefined) throw new TypeError(`Call ${active.live.callId} is not being made.`);
  return reply.type === 'held' ? reply.rest : reply;
}

/** Outcomes are frozen. Callers of `run` get a copy that they may change. */
const thaw = (value: JsonValue): unknown =>
  typeof value === 'object' && value !== null ? structuredClone(value) : value;
