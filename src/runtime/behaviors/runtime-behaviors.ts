/**
 * The behaviors of a runtime. Behaviors that may request a retry run within the call, before it ends. All
 * others read the ledger, each at its own pace.
 */
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { ToolResponded } from '../../call/event.ts';
import type { Feed } from '../../ledger/feed.ts';
import { orUnavailable } from '../host/ledger-trouble.ts';
import type { BehaviorHandler, BehaviorSpec, RegisteredBehavior } from '../host/behavior.ts';
import type { Behaviors, Offer } from '../host/behaviors.ts';
import type { Engine } from '../state/engine.ts';
import { BehaviorReader, deepestCause } from './behavior-reader.ts';
import type { Registration } from './registration.ts';
import { readRegistration } from './registration.ts';
import type { AnyEvent, CallTool, Delivery, Handled, HandlerHost } from './run-handler.ts';
import { failure, runHandler } from './run-handler.ts';

/** A behavior that may request a retry, and the runtime for its tool calls. */
type Retrier = { readonly registration: Registration; readonly host: HandlerHost };

export class RuntimeBehaviors implements Behaviors {
  readonly #engine: Engine;
  readonly #feed: Feed;
  readonly #registered = new Map<string, Registration>();
  readonly #readers = new Map<string, BehaviorReader>();
  /** Removed behaviors that may still work on an event, by name. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  #retriers: readonly Retrier[] = [];

  constructor(engine: Engine, feed: Feed) {
    this.#engine = engine;
    this.#feed = feed;
  }

  get anyRetries(): boolean {
    return this.#retriers.length > 0;
  }

  /** Registers a behavior. `callTool` makes the calls that its handler requests. */
  on(spec: BehaviorSpec, handler: BehaviorHandler, callTool: CallTool): RegisteredBehavior {
    if (this.#closing.signal.aborted)
      throw new QuittanceError(
        'runtime.closed',
        'This runtime is closed; create a new one on the same ledger.',
      );
    const registration = readRegistration(spec, handler);
    const { name } = registration;
    if (this.#registered.has(name))
      throw new QuittanceError(
        'config.invalid',
        `A behavior named "${name}" is registered already. Give this one another name, or take the other off first.`,
      );
    this.#registered.set(name, registration);
    const host: HandlerHost = {
      engine: this.#engine,
      callTool,
      isAskedByCalls: (other) => this.#registered.get(other)?.kind === 'retries',
    };
    if (registration.kind === 'retries') {
      this.#retriers = [...this.#retriers, { registration, host }];
      return { name, off: async () => this.#forget(registration), caughtUp: async () => undefined };
    }
    const reader = new BehaviorReader(host, this.#feed, registration);
    this.#readers.set(name, reader);
    const before = this.#leaving.get(name);
    reader.start(before);
    // A reader that replaces another one continues from a stored position.
    if (registration.kind === 'durable' && before === undefined)
      this.#engine.appendGate.closeUntil(reader.opened);
    return {
      name,
      off: () => this.#remove(registration, reader),
      caughtUp: () => orUnavailable(catchUp(this.#engine, reader)),
    };
  }

  wantRetry(event: ToolResponded): boolean {
    // Predicates of the host will read the event that is stored. Events are JSON except for undefined.
    freezeJson(event as unknown as JsonObject);
    return this.#retriers.some(({ registration }) => matchOf(registration, event) !== false);
  }

  async offerRetry(event: ToolResponded, depth: number, signal: AbortSignal): Promise<Offer> {
    if (depth >= deepestCause) return { retry: undefined, events: [] };
    const delivery: Delivery = { event, depth, attempt: 1, mayRepeat: false };
    const answers = await Promise.all(
      this.#retriers.map(async (retrier) => ({
        by: retrier.registration.name,
        ...(await answerOf(retrier, delivery, signal)),
      })),
    );
    const asking = answers.find(({ retry }) => retry !== undefined);
    return {
      retry: asking && { by: asking.by, notBefore: asking.retry?.notBefore },
      events: answers.flatMap(({ events }) => events),
    };
  }

  async close(): Promise<void> {
    this.#closing.abort(new DOMException('The runtime is closing.', 'AbortError'));
    await Promise.all([...this.#readers.values()].map((reader) => reader.stop()));
  }

  #forget(registration: Registration): void {
    const { name } = registration;
    if (this.#registered.get(name) !== registration) return;
    this.#registered.delete(name);
    this.#readers.delete(name);
    this.#retriers = this.#retriers.filter((other) => other.registration !== registration);
  }

  async #remove(registration: Registration, reader: BehaviorReader): Promise<void> {
    const { name } = registration;
    this.#forget(registration);
    const left = reader.stop().finally(() => {
      if (this.#leaving.get(name) === left) this.#leaving.delete(name);
    });
    this.#leaving.set(name, left);
    await left;
  }
}

async function answerOf(
  { registration, host }: Retrier,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Handled> {
  const match = matchOf(registration, delivery.event);
  if (match === true) return runHandler(host, registration, delivery, signal);
  return {
    retry: undefined,
    events: match === false ? [] : [failure(host.engine, registration, delivery, match.thrown, false)],
  };
}

/** Does the event match? Returns the error if its predicate threw. */
function matchOf({ matches }: Registration, event: AnyEvent): boolean | { readonly thrown: unknown } {
  try {
    return matches(event);
  } catch (thrown) {
    return { thrown };
  }
}

const catchUp = async ({ ledger }: Engine, reader: BehaviorReader): Promise<void> =>
  reader.reached(await ledger.entries.lastPosition());
