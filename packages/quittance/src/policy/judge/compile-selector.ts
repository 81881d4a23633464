/**
 * Finds the value that a selector names. It follows own keys only. So `__proto__`, `constructor` and the `length` of
 * a list or text select nothing, unless they were sent as data. Absent and null are the same: undefined.
 */
import type { JsonValue } from '../../base/json.ts';
import { isPromiseLike } from '../../base/deadlines.ts';
import type { Selector } from '../language/expression.ts';
import { foundKinds } from '../language/found-kinds.ts';
import type { OutputView } from './output-view.ts';
import { classifyTool, riskOfTool } from '../../tool/mode.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import { countOfMetric, countSelectors } from '../language/session-metric.ts';

/**
 * Returns the value or undefined, never null. `output` is undefined before the tool has run. Only a host's resolver
 * throws.
 */
export type Select = (call: PolicyCall, output: OutputView | undefined) => JsonValue | undefined;

export function compileSelector({ source, path }: Selector, world: PolicyWorld): Select {
  if (typeof source === 'object') return compileHostSelector(source.hostPrefix, path, world);
  switch (source) {
    case 'args':
      return (call) => followPath(call.input, path);
    case 'tool.name':
      return (call) => call.toolName;
    case 'tool.mode':
      return (call) => call.mode ?? classifyTool(call.toolName).mode;
    case 'tool.risk':
      // A host that says the mode says the risk too, if there is one.
      return (call) => (call.mode === undefined ? riskOfTool(call.toolName) : call.risk);
    case 'environment':
      return () => world.environment;
    case 'principal': {
      const [field = '', ...rest] = path;
      const key = principalKeys.get(field);
      if (key === undefined) return () => undefined;
      return (call) => followPath(call.principal && ownMember(call.principal, key), rest);
    }
    case 'metadata':
      return (call) => followPath(call.metadata, path);
    case 'env': {
      const name = path.join('.');
      return () => readVariable(world.env(name));
    }
    case 'output.text':
      return (_call, output) => output?.text();
    case 'result':
      return (_call, output) => followPath(output?.result, path);
    case 'snapshot':
      return (call) => followPath(call.snapshot, path);
    case 'found': {
      const kind = foundKinds.find((each) => each === path[0]);
      if (kind === undefined) return () => undefined;
      return (call) => {
        const texts = world.found?.(call)[kind] ?? [];
        return texts.length === 0 ? undefined : texts;
      };
    }
    case 'session': {
      const metric = countSelectors.get(path.join('.'));
      if (metric === undefined) return () => undefined;
      return (call) => countOfMetric(metric, world.counted?.(call), call.toolName);
    }
  }
}

/** A word that the host did not register selects nothing; the loader has already rejected it. */
function compileHostSelector(prefix: string, path: readonly string[], world: PolicyWorld): Select {
  const resolve = Object.hasOwn(world.selectors, prefix) ? world.selectors[prefix] : undefined;
  if (resolve === undefined) return () => undefined;
  return (call) => {
    const value: unknown = resolve(path, call);
    // Such a value would never equal anything, and the rule would never fire.
    if (isPromiseLike(value) || foreignTypes.has(typeof value))
      throw new TypeError(`The selector ${prefix} must return JSON synchronously.`);
    // The host says it is JSON; promises and foreign types are rejected above.
    return (value as JsonValue | undefined) ?? undefined;
  };
}

const foreignTypes: ReadonlySet<string> = new Set(['function', 'symbol', 'bigint']);

const principalKeys: ReadonlyMap<string, string> = new Map([
  ['user_id', 'userId'],
  ['service_id', 'serviceId'],
  ['org_id', 'orgId'],
  ['role', 'role'],
  ['ticket_ref', 'ticketRef'],
  ['claims', 'claims'],
]);

/** The value at the end of a path of own keys. */
export function followPath(from: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  let at = from;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = ownMember(at, key);
  }
  return at ?? undefined;
}

/**
 * An item of a list is found by its index, `args.files.0`. Without this, a rule about an item would silently never
 * fire. The length of a list is an own property but was never sent.
 */
function ownMember(holder: object, key: string): JsonValue | undefined {
  if (!Object.hasOwn(holder, key) || (key === 'length' && Array.isArray(holder))) return undefined;
  // Every own member of a JSON value is JSON.
  return (holder as { readonly [key: string]: JsonValue })[key];
}

/** Variables are text; rules compare them with booleans and numbers. */
export function readVariable(text: string | undefined): JsonValue | undefined {
  if (text === undefined) return undefined;
  if (/^true$/i.test(text)) return true;
  if (/^false$/i.test(text)) return false;
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return text;
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

/**
 * May the call name more than the selector gives? Only for `found.…`, if a command or a host of the call cannot be
 * read.
 */
export function compileIncomplete(
  { source, path }: Selector,
  world: PolicyWorld,
): ((call: PolicyCall) => boolean) | undefined {
  const kind = source === 'found' ? foundKinds.find((each) => each === path[0]) : undefined;
  return kind && ((call) => world.found?.(call).incomplete.has(kind) === true);
}
