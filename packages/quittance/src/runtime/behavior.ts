/**
 * A behavior: named code that subscribes to events. It runs after they are stored, separately from the calls
 * that caused them.
 */
import type { Awaitable, JsonObject, JsonValue } from '../base/json.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { EventType, QuittanceEvent } from '../call/event.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { Where } from './views.ts';
import type { BehaviorFailed } from '../call/events/behavior-event.ts';
import type { RedeliveryRequested } from '../call/events/retry-event.ts';
import type { ToolResponded } from '../call/events/attempt-event.ts';

/** A built-in event type, or a custom one such as `order.flagged`. */
export type EventName = EventType | (`${string}.${string}` & {});

/** The event of this type. */
export type EventNamed<Name extends string> = Name extends EventType
  ? Extract<QuittanceEvent, { readonly type: Name }>
  : EmittedEvent;

/** The name of a behavior, its events and its options. */
export type BehaviorSpec<Name extends EventName = EventName> = {
  /** The name of its position: the same name in another process continues where this one stopped. */
  readonly name: string;
  readonly on: Name | readonly Name[];
  /** Only events whose fields match, by dotted path: a value, a list of values, a prefix or a predicate. */
  readonly where?: Where;
  /**
   * Stores no position: it gets events from now on, in every process that registers it, and misses events
   * while none runs. Without this a behavior is durable, and one of all processes that register its name runs
   * it.
   */
  readonly ephemeral?: boolean;
  /**
   * It may request another attempt of a call. It then runs in the process that makes the call, which waits
   * for its answer before it ends the call. It gets `tool.responded` of failed attempts that may be retried.
   */
  readonly retries?: boolean;
  /**
   * Where a durable behavior starts the first time its name is seen: with new events, or with all stored
   * ones.
   */
  readonly from?: 'now' | 'start';
  /** Time limit for one event. Default: five minutes, or ten seconds if a call waits for it. */
  readonly timeoutMs?: number;
  /** On whose behalf it calls tools. */
  readonly principal?: Principal;
};

export type BehaviorHandler<Name extends EventName = EventName> = (
  event: EventNamed<Name>,
  context: BehaviorContext,
) => Awaitable<unknown>;

/** The context of a behavior's handler. */
export interface BehaviorContext {
  /** How many times this behavior has got this event, from 1. */
  readonly attempt: number;
  /**
   * The event may have been delivered before, to a reader that stopped before its end was stored. Effects outside may
   * then be a repetition. Never false for a repetition; it may be true for a first delivery after a crash.
   */
  readonly mayRepeat: boolean;
  /** Aborted when its time is up or the runtime closes. */
  readonly signal: AbortSignal;
  /**
   * Emits an event into the session of the handled event, with that event as its cause. It is stored together
   * with the behavior's position: once, however often the event is delivered, and not at all if the handler
   * throws.
   */
  emit(type: 'retry.requested', data: RetryWish): void;
  emit(type: EventName, data: JsonObject): void;
  /**
   * Requests a retry. A behavior with `retries` retries the call of a failed attempt. On `behavior.failed` it
   * retries the event that the other behavior failed to handle.
   */
  retry(options?: { readonly afterMs?: number }): void;
  /**
   * Calls a tool in the session of the event. Returns the output or throws a `ToolError`, which may escape.
   * The call has the same id each time the event is delivered, so after a crash it is answered from its
   * record.
   */
  call(call: BehaviorCall): Promise<JsonValue>;
}

/** A tool call. Its default id is made from the behavior, the event and the number of earlier calls. */
export type BehaviorCall = {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly id?: string;
};

/** A request for a retry. */
export type RetryWish = {
  /** The event to retry: the handled one, or the one that it says could not be handled. */
  readonly forEvent: string;
  /** The number of the attempt. Default: the next one. */
  readonly attempt?: number;
  /** Not before this time, in milliseconds since 1970. */
  readonly notBefore?: number;
};

/** A registered behavior. */
export interface RegisteredBehavior {
  readonly name: string;
  /** Stops delivery. The position of a durable behavior stays. */
  off(): Promise<void>;
  /** Resolves once everything stored so far was delivered, here or in the process that runs it. */
  caughtUp(): Promise<void>;
}

/** An event from a behavior: an emitted one, or its failure. */
export type Emission = EmittedEvent | RedeliveryRequested | BehaviorFailed;

/** What a call needs from the behaviors of its runtime. */
export interface Behaviors {
  /** True if any behavior may request a retry. */
  readonly anyRetries: boolean;
  /** True if one of them could request another attempt after this end. */
  wantRetry(event: ToolResponded): boolean;
  /**
   * Asks them and waits for their answers. The first request for a retry counts. The signal ends the wait.
   */
  offerRetry(event: ToolResponded, depth: number, signal: AbortSignal): Promise<Offer>;
}

export type Offer = {
  readonly retry: { readonly by: string; readonly notBefore: number | undefined } | undefined;
  readonly events: readonly Emission[];
};
