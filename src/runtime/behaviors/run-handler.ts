/**
 * Delivers one event to one behavior.
 *
 * 1. It always answers: with the emitted events, or with the event that describes the failure.
 * 2. Events emitted by a handler that fails are dropped.
 * 3. A handler that exceeds its time limit is aborted, and its later emissions are refused.
 */
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { freezeJson, isJsonObject, toJson } from '../../base/json.ts';
import type { EmittedEvent } from '../../call/emitted-event.ts';
import { isReservedEventType } from '../../call/emitted-event.ts';
import type { BehaviorFailed, QuittanceEvent, RedeliveryRequested } from '../../call/event.ts';
import { isToolError } from '../../call/tool-error.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { cutText } from '../../base/cut-text.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import { classifyThrown } from '../attempt/classify-thrown.ts';
import type { Engine } from '../state/engine.ts';
import type {
  BehaviorCall,
  BehaviorContext,
  BehaviorHandler,
  EventName,
  RetryWish,
} from '../host/behavior.ts';
import type { Emission } from '../host/behaviors.ts';
import type { Registration } from './registration.ts';

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
  /** Do calls ask the behavior of this name before they end? Then it gets each event once. */
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
    if (isPromiseLike(answer)) await Promise.race([answer, tooLong.promise]);
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
  const said = isQuittanceError(thrown) ? thrown.message : message;
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
    message: tookTooLong ? `It took longer than ${timeoutMs} ms.` : clean(said),
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
    // The end of the call is on record. A handler that does not await it must not crash the process.
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
