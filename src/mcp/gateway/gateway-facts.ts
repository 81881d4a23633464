/** What the gateway says about itself to clients. A single server shows through; several are summed up. */
import type { ServerFacts } from './connection.ts';
import type { Era, Fields } from './relayed-request.ts';
import { textOf, toFields, isFields } from './relayed-request.ts';

export type NamedFacts = { readonly server: string; readonly facts: ServerFacts | undefined };

type Seen = { readonly era: Era; readonly readsOnly: boolean };

export function gatewayFacts(servers: readonly NamedFacts[], me: Fields, face: Seen): ServerFacts {
  const [only] = servers;
  if (servers.length === 1 && only?.facts !== undefined) {
    const { info, capabilities, instructions } = only.facts;
    return {
      // Named by its key in the configuration: a server may call itself anything.
      info: { name: only.server, version: textOf(info['version'])?.slice(0, 100) ?? '0' },
      capabilities: withOwn(capabilities, face),
      instructions,
    };
  }
  const known = servers.flatMap(({ facts }) => facts ?? []);
  const texts = servers.flatMap(({ server, facts }) =>
    facts?.instructions === undefined ? [] : [`# ${server}\n${facts.instructions}`],
  );
  // A server that is not up yet may still bring tools.
  const capabilities = known.reduce<Fields>((sum, { capabilities: own }) => merge(sum, own), { tools: {} });
  return {
    info: me,
    capabilities: withOwn(capabilities, face),
    instructions: texts.length === 0 ? undefined : texts.join('\n\n'),
  };
}

/**
 * Restarts change the list of tools, also if the server itself never does. Held calls are tasks for modern clients. The
 * gateway makes the tasks of legacy servers itself.
 */
function withOwn(given: Fields, { era, readsOnly }: Seen): Fields {
  const { tasks: _, ...rest } = given;
  const capabilities = readsOnly ? onlyReading(rest) : rest;
  const { tools, extensions } = capabilities;
  if (tools === undefined) return capabilities;
  const own = { ...capabilities, tools: { ...toFields(tools), listChanged: true } };
  if (era === 'legacy') return own;
  return { ...own, extensions: { ...toFields(extensions), 'io.modelcontextprotocol/tasks': {} } };
}

/** A viewer changes nothing at a server: no log level, and no subscriptions. */
function onlyReading(capabilities: Fields): Fields {
  const { logging: _, resources, ...rest } = capabilities;
  if (resources === undefined) return rest;
  const { subscribe: __, ...reading } = toFields(resources);
  return { ...rest, resources: reading };
}

function merge(one: Fields, other: Fields): Fields {
  const merged: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const known = merged[key];
    merged[key] = isFields(known) && isFields(value) ? merge(known, value) : (known ?? value);
  }
  return merged;
}
