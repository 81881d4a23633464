/** `runtime.events`: reads events, follows them, and registers behaviors, which react to them. */
import type { QuittanceEvent } from '../call/event.ts';
import type { Feed } from '../ledger/feed.ts';
import { orUnavailable } from './host/ledger-trouble.ts';
import type { BehaviorHandler, BehaviorSpec, EventName, RegisteredBehavior } from './host/behavior.ts';
import type { Behavior } from './host/retry.ts';
import type { CallFilter } from './read-events.ts';
import { readEvents } from './read-events.ts';
import type { CallTool } from './behaviors/run-handler.ts';
import type { RuntimeCore } from './runtime-core.ts';
import type { TailedEvent, TailOptions } from './tail.ts';
import { tail } from './tail.ts';

/** The events of the ledger. */
export interface RuntimeEvents {
  /** The events of a session, or of one call, that are on record now. */
  list(filter: CallFilter): Promise<readonly QuittanceEvent[]>;
  /**
   * Follows the events of the ledger, or of one session, in the order they were written. It starts at any position and
   * ends when the signal aborts.
   */
  tail(options?: TailOptions): AsyncIterable<TailedEvent>;
  /**
   * Registers a behavior: named code that receives events after they are written. An error that it throws becomes the
   * event `behavior.failed` and affects no call.
   */
  on<const Name extends EventName>(
    spec: BehaviorSpec<Name>,
    handler: BehaviorHandler<Name>,
  ): RegisteredBehavior;
  /** Registers a ready-made behavior, such as `retry()`. */
  on(behavior: Behavior): RegisteredBehavior;
}

export function createRuntimeEvents(
  state: RuntimeCore,
  feed: Feed,
  call: CallTool,
  closing: AbortSignal,
): RuntimeEvents {
  const { engine, behaviors } = state;
  return {
    list: (filter) => orUnavailable(readEvents(engine.ledger.journal, filter)),
    tail: (options = {}) => tail(engine, feed, options, closing),
    on: (first: BehaviorSpec | Behavior, handler?: BehaviorHandler) =>
      handler === undefined && isBehavior(first)
        ? behaviors.on(first.spec, first.handler, call)
        : // The registration checks both and names what is missing.
          behaviors.on(first as BehaviorSpec, handler as BehaviorHandler, call),
  };
}

const isBehavior = (given: unknown): given is Behavior =>
  typeof given === 'object' && given !== null && 'spec' in given && 'handler' in given;
