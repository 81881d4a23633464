/**
 * Delivers one event to one behavior, parses registrations, and calls tools for handlers.
 *
 * 1. A delivery always ends with the emitted events, or with the event that describes the failure.
 * 2. Events emitted by a handler that fails are dropped.
 * 3. A handler that exceeds its time limit is aborted, and its later emissions are refused.
 */
import { QuittanceError, isQuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { freezeJson, isJsonObject, toJson } from '../base/json.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import { isReservedEventType } from '../call/emitted-event.ts';
import type { BehaviorFailed } from '../call/events/behavior-event.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { RedeliveryRequested } from '../call/events/retry-event.ts';
import { isToolError } from '../call/tool-error.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import { cutText } from '../base/cut-text.ts';
import { classifyThrown } from './classify-thrown.ts';
import type { Engine } from './engine.ts';
import type {
  BehaviorCall,
  BehaviorContext,
  BehaviorHandler,
  EventName,
  RetryWish,
  Emission,
  BehaviorSpec,
} from './behavior.ts';
import { isEventType } from '../ledger/formats/v1/event-table.ts';
import type { Principal } from '../tool/tool-context.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { Matches } from './views.ts';
import { compileWhere } from './views.ts';
import { unwrap } from '../call/outcome.ts';
import type { RuntimeState } from './runtime-state.ts';
import { callKey } from './turn-state.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { openTurnState } from './open-turn.ts';
import { awaitReply, orPending } from './turn.ts';
import { makeCall, defaultTerms } from './run-call.ts';
import { parseToolCall } from '../call/tool-call.ts';

export type AnyEvent = QuittanceEvent | EmittedEvent;

/** An event to be delivered to a behavior. */
export type Delivery = {
  readonly event: AnyEvent;
  /** How many behaviors are in its chain of causes. */
  readonly depth: number;
  /** From 1. */
  readonly attempt: number;
  /** See `BehaviorContext`. */
  readonly mayRepeat: boolean;
};

/** Result of a delivery. */
export type Handled = {
  readonly events: readonly Emission[];
  /** Set if another attempt of the call is requested, not before this time. */
  readonly retry: { readonly notBefore: number | undefined } | undefined;
};

/** Calls a tool for a behavior. `nth`: how many calls it made before for this event. */
export type CallTool = (
  registration: Registration,
  delivery: Delivery,
  call: BehaviorCall,
  nth: number,
  signal: AbortSignal,
) => Promise<JsonValue>;

/** The parts of the runtime that handlers need. */
export type HandlerHost = {
  readonly engine: Engine;
  readonly callTool: CallTool;
  /** True if calls ask the behavior of this name before they end. It then gets each event once. */
  isAskedByCalls(name: string): boolean;
};

const mostEmitted = 1_000;

export async function runHandler(
  host: HandlerHost,
  registration: Registration,
  delivery: Delivery,
  closing: AbortSignal,
): Promise<Handled> {
  const { engine } = host;
  const { event } = delivery;
  const reply = new Emissions(host, registration, delivery, closing);
  const tooLong = Promise.withResolvers<never>();
  let tookTooLong = false;
  const watch = engine.deadlines.watch(registration.timeoutMs, () => {
    tookTooLong = true;
    const reason = new DOMException('The behavior ran out of time.', 'TimeoutError');
    reply.end(reason);
    tooLong.reject(reason);
  });
  try {
    // The handler accepts its own event types, and this event has one: see `Registration.types`.
    const handler = registration.handler as BehaviorHandler<EventName>;
    const answer = handler(freezeJson(event as unknown as JsonObject) as never, reply);
    await Promise.race([answer, tooLong.promise]);
    return { events: reply.events, retry: reply.wanted };
  } catch (error) {
    return { events: [failure(engine, registration, delivery, error, tookTooLong)], retry: undefined };
  } finally {
    watch.stop();
    reply.end(undefined);
  }
}

/** The event that says why a behavior could not handle another event. */
export function failure(
  engine: Engine,
  { name, timeoutMs }: Registration,
  { event, attempt }: Delivery,
  thrown: unknown,
  tookTooLong: boolean,
): BehaviorFailed {
  const { code, message, extras, traceback } = classifyThrown(thrown, 'any reason');
  // The model never sees this. The author of the behavior reads it.
  const description = isQuittanceError(thrown) ? thrown.message : message;
  const clean = (text: string): string => cutText(engine.redactor.text(text), 4_000);
  const kept = engine.redactor.input(
    traceback === undefined ? extras : { ...extras, traceback: cutText(traceback, 4_000) },
  ).value as JsonObject; // redacting an object gives an object
  return {
    id: engine.nextEventId(),
    type: 'behavior.failed',
    ...turnOfEvent(event),
    at: engine.ledger.now(),
    cause: event.id,
    behavior: name,
    reason: tookTooLong ? 'behavior.timeout' : isToolError(thrown) ? code : 'behavior.error',
    message: tookTooLong ? `It took longer than ${timeoutMs} ms.` : clean(description),
    attempt,
    triggeringEventId: event.id,
    triggeringCallId: callIdOf(event),
    payloadExtras: tookTooLong ? undefined : freezeJson(kept),
  };
}

/** Where a behavior's event is stored: with its cause, unless that is in the ledger's own chain. */
export const turnOfEvent = ({
  sessionId,
  turnId,
}: AnyEvent): { readonly sessionId: string; readonly turnId: string } =>
  sessionId === ledgerSessionId ? { sessionId: behaviorSessionId, turnId } : { sessionId, turnId };

export const behaviorSessionId = 'quittance.behaviors';

export const callIdOf = (event: AnyEvent): string | undefined =>
  'callId' in event ? event.callId : undefined;

/** The context of a handler. */
class Emissions implements BehaviorContext {
  readonly attempt: number;
  readonly mayRepeat: boolean;
  readonly events: (EmittedEvent | RedeliveryRequested)[] = [];
  wanted: Handled['retry'];
  #isOver = false;
  /** Created on first use: most handlers never need it. */
  #abort: AbortController | undefined;
  readonly #closing: AbortSignal;
  readonly #host: HandlerHost;
  readonly #engine: Engine;
  readonly #registration: Registration;
  readonly #delivery: Delivery;
  #calls = 0;

  constructor(host: HandlerHost, registration: Registration, delivery: Delivery, closing: AbortSignal) {
    this.#host = host;
    this.#engine = host.engine;
    this.#registration = registration;
    this.#delivery = delivery;
    this.attempt = delivery.attempt;
    this.mayRepeat = delivery.mayRepeat;
    this.#closing = closing;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#closing.aborted) this.#close();
      else this.#closing.addEventListener('abort', this.#close);
    }
    return this.#abort.signal;
  }

  readonly #close = (): void => this.#abort?.abort(this.#closing.reason);

  /** Refuses further emissions. With a reason, also aborts the handler's signal. */
  end(reason: DOMException | undefined): void {
    this.#isOver = true;
    this.#closing.removeEventListener('abort', this.#close);
    if (reason !== undefined) this.#abort?.abort(reason);
  }

  emit(type: EventName, data: JsonObject | RetryWish): void {
    this.#refuseIfOver();
    if (type === 'retry.requested') return this.#tryAgain(data as RetryWish);
    if (typeof type !== 'string' || isReservedEventType(type))
      throw this.#mistake(
        `it cannot emit ${JSON.stringify(type)}. Types of your own are words with dots, such as "order.flagged", and begin with none of ours; of ours only "retry.requested" may be emitted.`,
      );
    const read = toJson(data);
    if (!read.ok || !isJsonObject(read.value))
      throw this.#mistake(`the data of "${type}" must be a JSON object.`);
    if (this.events.length >= mostEmitted)
      throw this.#mistake(`it emitted more than ${mostEmitted} events for one.`);
    this.events.push(
      Object.freeze({
        ...this.#envelope(),
        type,
        callId: callIdOf(this.#delivery.event),
        by: this.#registration.name,
        // Redacting an object gives an object.
        data: freezeJson(this.#engine.redactor.input(read.value).value) as JsonObject,
      }),
    );
  }

  retry({ afterMs = 0 }: { readonly afterMs?: number } = {}): void {
    this.#refuseIfOver();
    if (!(Number.isFinite(afterMs) && afterMs >= 0))
      throw this.#mistake(`afterMs must be a number of at least 0, found ${String(afterMs)}.`);
    const { event } = this.#delivery;
    const notBefore = afterMs === 0 ? undefined : Math.round(this.#engine.ledger.now() + afterMs);
    this.#tryAgain({
      forEvent:
        event.type === 'behavior.failed' && 'triggeringEventId' in event ? event.triggeringEventId : event.id,
      ...(notBefore !== undefined && { notBefore }),
    });
  }

  call(call: BehaviorCall): Promise<JsonValue> {
    const called = this.#call(call);
    // A handler that does not await the call must not crash the process. The end of the call is on record.
    called.catch(() => undefined);
    return called;
  }

  async #call(call: BehaviorCall): Promise<JsonValue> {
    this.#refuseIfOver();
    return this.#host.callTool(this.#registration, this.#delivery, call, this.#calls++, this.signal);
  }

  #tryAgain(wish: RetryWish): void {
    const { forEvent, attempt, notBefore } = wish ?? {};
    const { event } = this.#delivery;
    if (typeof forEvent !== 'string')
      throw this.#mistake(
        'a retry needs forEvent: the id of the event that is to be answered by trying again.',
      );
    if (notBefore !== undefined && !(Number.isSafeInteger(notBefore) && notBefore >= 0))
      throw this.#mistake('notBefore must be a moment in whole milliseconds since 1970.');
    if (this.#registration.kind === 'retries') return this.#tryCallAgain(forEvent, attempt, notBefore);
    if (!('triggeringEventId' in event) || event.triggeringEventId !== forEvent)
      throw this.#mistake(
        event.type === 'tool.responded'
          ? 'the call has ended before it gets the event. Register it with retries: true, so that the call waits for it.'
          : 'only what a behavior failed to handle can be delivered again: be on "behavior.failed" and name its triggeringEventId.',
      );
    if (this.#host.isAskedByCalls(event.behavior))
      throw this.#mistake(
        `"${event.behavior}" is not given an event again: it has retries, and the call it was asked about has ended without it.`,
      );
    if (attempt !== undefined && attempt !== event.attempt + 1)
      throw this.#mistake(`the next attempt is number ${event.attempt + 1}, not ${String(attempt)}.`);
    // A second request replaces the first.
    const before = this.events.findIndex(({ type }) => type === 'retry.requested');
    this.events.splice(
      before === -1 ? this.events.length : before,
      1,
      Object.freeze({
        ...this.#envelope(),
        type: 'retry.requested',
        forEvent,
        forCallId: event.triggeringCallId,
        attempt: event.attempt + 1,
        notBefore,
        by: this.#registration.name,
        behavior: event.behavior,
      }),
    );
  }

  #tryCallAgain(forEvent: string, attempt: number | undefined, notBefore: number | undefined): void {
    const { event } = this.#delivery;
    if (event.id !== forEvent) throw this.#mistake('it can only retry the call of its event.');
    const next = 'attempt' in event && typeof event.attempt === 'number' ? event.attempt + 1 : undefined;
    if (attempt !== undefined && attempt !== next)
      throw this.#mistake(`the next attempt is number ${String(next)}, not ${String(attempt)}.`);
    this.wanted = { notBefore };
  }

  #envelope(): Pick<EmittedEvent, 'id' | 'sessionId' | 'turnId' | 'at' | 'cause'> {
    const { event } = this.#delivery;
    return {
      id: this.#engine.nextEventId(),
      ...turnOfEvent(event),
      at: this.#engine.ledger.now(),
      cause: event.id,
    };
  }

  #refuseIfOver(): void {
    if (this.#isOver || this.#closing.aborted)
      throw this.#mistake('its time for this event is over, so later emissions are dropped.');
  }

  #mistake(problem: string): QuittanceError {
    return new QuittanceError('config.invalid', `Behavior "${this.#registration.name}": ${problem}`);
  }
}

/** A registered behavior, parsed once: its event types, filter and time limit. */
export type Registration = {
  readonly name: string;
  readonly types: ReadonlySet<string>;
  /** May throw an error from a predicate. */
  readonly matches: Matches;
  readonly handler: BehaviorHandler;
  readonly kind: 'durable' | 'ephemeral' | 'retries';
  readonly from: 'now' | 'start';
  readonly timeoutMs: number;
  readonly principal: Principal | undefined;
};

const keys = ['name', 'on', 'where', 'ephemeral', 'retries', 'from', 'timeoutMs', 'principal'] as const;

/** Reports mistakes at registration, not at the first event. */
export function readRegistration(spec: BehaviorSpec, handler: BehaviorHandler): Registration {
  if (typeof spec !== 'object' || spec === null)
    refuse(
      'runtime.events.on takes the events and a handler, e.g. on({ name: "alert", on: "tool.responded" }, (event) => …).',
    );
  const { name, on, where, ephemeral = false, retries = false, from = 'now', timeoutMs, principal } = spec;
  if (typeof name !== 'string' || name === '' || name.length > 200 || !name.isWellFormed())
    refuse('A behavior needs a name: a text of 1 to 200 characters. Its position is stored under this name.');
  const where_ = `Behavior "${name}"`;
  checkKeys(where_, spec, keys);
  if (typeof handler !== 'function') refuse(`${where_} needs a function that is given each event.`);
  const types = typeof on === 'string' ? [on] : on;
  if (!Array.isArray(types) || types.length === 0)
    refuse(`${where_}: on must be the type of an event, or a list of them.`);
  for (const type of types)
    if (typeof type !== 'string' || (!isEventType(type) && isReservedEventType(type)))
      refuse(
        `${where_}: there is no event type ${JSON.stringify(type)}. Custom types are words with dots, such as "order.flagged", and do not start with a built-in word.`,
      );
  if (typeof ephemeral !== 'boolean' || typeof retries !== 'boolean')
    refuse(`${where_}: ephemeral and retries are true or false.`);
  if (from !== 'now' && from !== 'start') refuse(`${where_}: from is "now" or "start".`);
  if (retries && (types.length !== 1 || types[0] !== 'tool.responded'))
    refuse(
      `${where_} may ask for another attempt of a call (retries), so it must be on "tool.responded" and nothing else.`,
    );
  if ((retries || ephemeral) && from === 'start')
    refuse(`${where_}: only a durable behavior has a position, so only one can begin at the start.`);
  if (retries && ephemeral)
    refuse(
      `${where_}: a behavior with retries runs in the process that makes the call and stores no position; omit ephemeral.`,
    );
  if (timeoutMs !== undefined && !(Number.isSafeInteger(timeoutMs) && timeoutMs >= 1))
    refuse(`${where_}: timeoutMs must be a whole number of at least 1, found ${String(timeoutMs)}.`);
  return {
    name,
    types: new Set(types),
    matches: compileWhere(where, name),
    handler,
    kind: retries ? 'retries' : ephemeral ? 'ephemeral' : 'durable',
    from,
    timeoutMs: timeoutMs ?? (retries ? 10_000 : 300_000),
    principal,
  };
}

function refuse(message: string): never {
  throw new QuittanceError('config.invalid', message);
}

/**
 * Calls tools for behaviors. The id of a call is made from the behavior, the event and the number of earlier
 * calls. After a crash, a redelivered event therefore finds its calls on record. On a retry after a failure,
 * only calls that did not succeed get a new id, so successful ones are not repeated.
 */
export async function callTool(
  state: RuntimeState,
  registration: Registration,
  delivery: Delivery,
  call: BehaviorCall,
  nth: number,
  signal: AbortSignal,
): Promise<JsonValue> {
  const { engine } = state;
  const { sessionId } = turnOfEvent(delivery.event);
  if (typeof call !== 'object' || call === null)
    throw new QuittanceError(
      'call.malformed',
      'context.call takes a tool to call, e.g. context.call({ name: "notify", arguments: {} }).',
    );
  const { name, arguments: input, id } = call;
  const callId = id ?? (await idFor(state, sessionId, registration.name, delivery, nth));
  const turn = openTurnState(
    engine,
    {
      sessionId,
      timeoutMs: registration.timeoutMs,
      ...(registration.principal !== undefined && { principal: registration.principal }),
    },
    undefined,
    { eventId: delivery.event.id, depth: delivery.depth + 1 },
  );
  const options = { signal };
  const request = parseToolCall({ id: callId, name, arguments: input });
  const active = makeCall(state, turn, request, options, defaultTerms);
  return unwrap(orPending(await awaitReply(active, turn, options)));
}

async function idFor(
  { engine, callsInProgress }: RuntimeState,
  sessionId: string,
  behavior: string,
  { event, attempt }: Delivery,
  nth: number,
): Promise<string> {
  const idOf = (which: number): string =>
    `behavior:${behavior}:${event.id}:${nth}${which === 1 ? '' : `:${which}`}`;
  for (let earlier = 1; earlier < attempt; earlier++) {
    // A call that is in progress or held is rejoined.
    if (callsInProgress.has(callKey({ sessionId, callId: idOf(earlier) }))) return idOf(earlier);
    const stored = await engine.ledger.readCall(sessionId, idOf(earlier));
    const call = stored && foldStored(stored);
    const type = call?.settled?.outcome.type;
    const isOpen = call !== undefined && type === undefined;
    if (isOpen || type === 'ToolExecutionResult' || type === 'ToolArtifactReference') return idOf(earlier);
  }
  return idOf(attempt);
}
