/** Filters the events of a behavior by their fields. */
import { QuittanceError } from '../../base/error.ts';

/**
 * By dotted path of a field, e.g. `error.reason`: a value, a list of alternatives, a prefix or a predicate.
 */
export type Where = { readonly [path: string]: FieldMatch | readonly FieldMatch[] };

export type FieldMatch =
  | string
  | number
  | boolean
  | null
  | { readonly prefix: string }
  | ((value: unknown, event: object) => boolean);

/** May throw an error from a predicate. */
export type Matches = (event: object) => boolean;

const anything: Matches = () => true;

/** Refuses a filter that can match nothing. */
export function compileWhere(where: Where | undefined, behavior: string): Matches {
  if (where === undefined) return anything;
  if (typeof where !== 'object' || where === null || Array.isArray(where))
    throw new QuittanceError(
      'config.invalid',
      `Behavior "${behavior}": where must be an object, e.g. { 'error.reason': ['tool.timeout'] }.`,
    );
  const fields = Object.entries(where).map(([path, wanted]) => compileField(path, wanted, behavior));
  return (event) => fields.every((matches) => matches(event));
}

function compileField(path: string, wanted: FieldMatch | readonly FieldMatch[], behavior: string): Matches {
  const steps = path.split('.');
  const tests = (Array.isArray(wanted) ? (wanted as readonly FieldMatch[]) : [wanted as FieldMatch]).map(
    (match) => compileMatch(match, path, behavior),
  );
  if (tests.length === 0)
    throw new QuittanceError(
      'config.invalid',
      `Behavior "${behavior}": where.${path} is an empty list, which nothing matches.`,
    );
  return (event) => {
    const value = readPath(event, steps);
    return tests.some((test) => test(value, event));
  };
}

function compileMatch(
  match: FieldMatch,
  path: string,
  behavior: string,
): (value: unknown, event: object) => boolean {
  if (typeof match === 'function') return (value, event) => match(value, event) === true;
  if (typeof match !== 'object' && match !== undefined) return (value) => value === match;
  if (match === null) return (value) => value === null;
  const prefix = match?.prefix;
  if (typeof prefix === 'string' && prefix !== '' && Object.keys(match).length === 1)
    return (value) => typeof value === 'string' && value.startsWith(prefix);
  throw new QuittanceError(
    'config.invalid',
    `Behavior "${behavior}": where.${path} must be a value, a list of values, { prefix: "…" } or a function, found ${JSON.stringify(match) ?? 'undefined'}.`,
  );
}

/** Own properties only: an event has no `constructor`. */
function readPath(event: object, steps: readonly string[]): unknown {
  let at: unknown = event;
  for (const step of steps) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<string, unknown>)[step];
  }
  return at;
}
