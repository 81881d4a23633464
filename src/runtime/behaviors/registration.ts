/** A registered behavior, parsed once: its event types, filter and time limit. */
import { QuittanceError } from '../../base/error.ts';
import { isReservedEventType } from '../../call/emitted-event.ts';
import { isEventType } from '../../ledger/formats/v1/event-table.ts';
import type { Principal } from '../../tool/tool-context.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { BehaviorHandler, BehaviorSpec } from '../host/behavior.ts';
import type { Matches } from '../host/where.ts';
import { compileWhere } from '../host/where.ts';

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
