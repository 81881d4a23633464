/**
 * The behaviours of a runtime. Those that may ask for another attempt are run by whoever makes the call, before it
 * ends; all others read the ledger, each at its own pace.
 */
import { QuittanceError } from '../../base/error.ts';
import type { ToolResponded } from '../../call/event.ts';
import type { Feed } from '../../ledger/feed.ts';
import type { Engine } from '../engine.ts';
import { BehaviorReader, deepestCause } from './deliver.ts';
import type { Behaviors } from './behaviors.ts';
import type { Registration } from './registration.ts';
import { readRegistration } from './registration.ts';
import type { CallTool } from './run-handler.ts';
import { runHandler } from './run-handler.ts';

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
        caughtUp: async () => reader.reached(await engine.ledger.lastPosition()),
      };
    },
    wantRetry: (event) => retriers.some((registration) => wants(registration, event)),
    async offerRetry(event, depth) {
      if (depth >= deepestCause) return { retry: undefined, events: [] };
      const answers = await Promise.all(
        retriers
          .filter((registration) => wants(registration, event))
          .map(async (registration) => ({
            by: registration.name,
            ...(await runHandler(
              engine,
              callTool,
              registration,
              { event, depth, attempt: 1 },
              closing.signal,
            )),
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

/** A predicate that throws wants nothing. */
function wants({ matches }: Registration, event: ToolResponded): boolean {
  try {
    return matches(event);
  } catch {
    return false;
  }
}
