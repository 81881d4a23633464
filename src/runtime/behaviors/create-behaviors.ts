/**
 * The behaviours of a runtime. Those that may ask for another attempt are run by whoever makes the call, before it
 * ends; all others read the ledger, each at its own pace.
 */
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { Feed } from '../../ledger/feed.ts';
import type { Engine } from '../state/engine.ts';
import { BehaviorReader, deepestCause } from './deliver.ts';
import type { Behaviors } from '../host/behaviors.ts';
import { orUnavailable } from '../../ledger/ledger-trouble.ts';
import type { Registration } from './registration.ts';
import { readRegistration } from './registration.ts';
import type { AnyEvent, CallTool, Delivery, Handled } from './run-handler.ts';
import { failure, runHandler } from './run-handler.ts';

export function createBehaviors(engine: Engine, feed: Feed, callTool: CallTool): Behaviors {
  const registered = new Map<string, Registration>();
  const readers = new Map<string, BehaviorReader>();
  /** Those that were taken off and may still be at an event, by name. */
  const leaving = new Map<string, Promise<void>>();
  const closing = new AbortController();
  let retriers: readonly Registration[] = [];

  const forget = (registration: Registration): void => {
    if (registered.get(registration.name) !== registration) return;
    registered.delete(registration.name);
    readers.delete(registration.name);
    retriers = retriers.filter((other) => other !== registration);
  };

  const answerOf = async (
    registration: Registration,
    delivery: Delivery,
    signal: AbortSignal,
  ): Promise<Handled> => {
    const match = matchOf(registration, delivery.event);
    if (match === true) return runHandler(engine, callTool, registration, delivery, signal);
    return {
      retry: undefined,
      events: match === false ? [] : [failure(engine, registration, delivery, match.thrown, false)],
    };
  };

  const takeOff = async (registration: Registration, reader: BehaviorReader): Promise<void> => {
    const { name } = registration;
    forget(registration);
    const left = reader.stop().finally(() => {
      if (leaving.get(name) === left) leaving.delete(name);
    });
    leaving.set(name, left);
    await left;
  };

  return {
    get anyRetries() {
      return retriers.length > 0;
    },
    on(spec, handler) {
      if (closing.signal.aborted)
        throw new QuittanceError(
          'runtime.closed',
          'This runtime is closed; create a new one on the same ledger.',
        );
      const registration = readRegistration(spec, handler);
      if (registered.has(registration.name))
        throw new QuittanceError(
          'config.invalid',
          `A behavior named "${registration.name}" is registered already. Give this one another name, or take the other off first.`,
        );
      registered.set(registration.name, registration);
      if (registration.kind === 'retries') {
        retriers = [...retriers, registration];
        return {
          name: registration.name,
          off: async () => forget(registration),
          caughtUp: async () => undefined,
        };
      }
      const reader = new BehaviorReader({ engine, feed, callTool }, registration);
      readers.set(registration.name, reader);
      reader.start(leaving.get(registration.name));
      return {
        name: registration.name,
        off: () => takeOff(registration, reader),
        caughtUp: () => orUnavailable(catchUp(engine, reader)),
      };
    },
    isAskedByCalls: (name) => registered.get(name)?.kind === 'retries',
    wantRetry(event) {
      // Predicates of the host are about to look at what will be kept. Events are JSON but for undefined.
      freezeJson(event as unknown as JsonObject);
      return retriers.some((registration) => matchOf(registration, event) !== false);
    },
    async offerRetry(event, depth, signal) {
      if (depth >= deepestCause) return { retry: undefined, events: [] };
      const delivery: Delivery = { event, depth, attempt: 1 };
      const answers = await Promise.all(
        retriers.map(async (registration) => ({
          by: registration.name,
          ...(await answerOf(registration, delivery, signal)),
        })),
      );
      const asking = answers.find(({ retry }) => retry !== undefined);
      return {
        retry: asking && { by: asking.by, notBefore: asking.retry?.notBefore },
        events: answers.flatMap(({ events }) => events),
      };
    },
    async close() {
      closing.abort(new DOMException('The runtime is closing.', 'AbortError'));
      await Promise.all([...readers.values()].map((reader) => reader.stop()));
    },
  };
}

/** Whether the event is for it, or what its predicate threw. */
function matchOf({ matches }: Registration, event: AnyEvent): boolean | { readonly thrown: unknown } {
  try {
    return matches(event);
  } catch (thrown) {
    return { thrown };
  }
}

const catchUp = async ({ ledger }: Engine, reader: BehaviorReader): Promise<void> =>
  reader.reached(await ledger.entries.lastPosition());
