/** A behavior: named code that subscribes to events. It runs after they are kept, beside whoever caused them. */
import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
import type { EmittedEvent } from '../../call/emitted-event.ts';
import type { EventType, QuittanceEvent } from '../../call/event.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { Where } from './where.ts';

/** The type of an event of ours, or one of the host's own such as `order.flagged`. */
export type EventName = EventType | (`${string}.${string}` & {});

/** The event that carries this type. */
export type EventNamed<Name extends string> = Name extends EventType
  ? Extract<QuittanceEvent, { readonly type: Name }>
  : EmittedEvent;

/** What a behavior is called, what it hears, and how. */
export type BehaviorSpec<Name extends EventName = EventName> = {
  /** Under this name its position is kept: the same name in another process goes on where this one stopped. */
  readonly name: string;
  readonly on: Name | readonly Name[];
  /** Only events whose fields match, by dotted path: by value, by a list of values, by prefix, by a predicate. */
  readonly where?: Where;
  /**
   * Keeps no position: it hears what happens from now on, in every process that registers it, and what happens while
   * none runs is not for it. Without this a behavior is durable, and of all processes that register its name one runs it.
   */
  readonly ephemeral?: boolean;
  /**
   * It may ask for another attempt of a call. It then runs in the process that makes the call, which waits for its
   * answer before it ends the call, and hears `tool.responded` of attempts that failed and may be tried again.
   */
  readonly retries?: boolean;
  /** Where a durable behavior begins the first time its name is seen: with what comes, or with all there is. */
  readonly from?: 'now' | 'start';
  /** How long it may take with one event. Five minutes; ten seconds where a call waits for it. */
  readonly timeoutMs?: number;
  /** On whose behalf it calls tools. */
  readonly principal?: Principal;
};

export type BehaviorHandler<Name extends EventName = EventName> = (
  event: EventNamed<Name>,
  context: BehaviorContext,
) => Awaitable<unknown>;

/** What a behavior can do with an event. */
export interface BehaviorContext {
  /** How many times this behavior is given this event, from 1. */
  readonly attempt: number;
  /** Aborted when its time is up or the runtime closes. */
  readonly signal: AbortSignal;
  /**
   * Emits an event into the session of the one at hand, caused by it. What is emitted is kept together with the
   * position of the behavior, so it is there once however often the event is delivered, and not at all if it throws.
   */
  emit(type: 'retry.requested', data: RetryWish): void;
  emit(type: EventName, data: JsonObject): void;
  /**
   * Has it tried again: the call, where a behavior with `retries` is told of a failed attempt; what another behavior
   * failed to handle, where this one is told of `behavior.failed`.
   */
  retry(options?: { readonly afterMs?: number }): void;
  /**
   * Calls a tool, in the session of the event. Gives the output or throws a `ToolError`, which may escape. The call has
   * the same id each time the event is delivered, so that after a crash it is answered from its record.
   */
  call(call: BehaviorCall): Promise<JsonValue>;
}

/** A tool to call. Without an id it gets one made of the behavior, the event and how many it called before. */
export type BehaviorCall = {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly id?: string;
};

/** What is to be tried again. */
export type RetryWish = {
  /** The event that is to be answered by trying again: the one at hand, or the one it says could not be handled. */
  readonly forEvent: string;
  /** Which attempt it will be; the next one where left out. */
  readonly attempt?: number;
  /** Not before this moment, in milliseconds since 1970. */
  readonly notBefore?: number;
};

/** A behavior that was registered. */
export interface RegisteredBehavior {
  readonly name: string;
  /** Hears nothing any more. The position of a durable one stays where it is. */
  off(): Promise<void>;
  /** Resolves once everything that was kept up to now was given to it, here or in the process that runs it. */
  caughtUp(): Promise<void>;
}
