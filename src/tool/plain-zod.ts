/**
 * Zod schemas of built-in parts only. Such a schema runs no code of its author: it answers at once, does not change its
 * argument, and returns plain JSON for plain JSON. So it may run the fast way, and its argument needs no copy.
 *
 * A part that is not listed here is not plain.
 */
import { isJsonObject } from '../base/json.ts';

/** The parts of zod that are read here. */
type ZodPart = { readonly _zod?: { readonly def?: ZodDef } };
type ZodDef = {
  readonly type?: unknown;
  readonly check?: unknown;
  readonly checks?: unknown;
  readonly fn?: unknown;
  readonly shape?: unknown;
  readonly catchall?: unknown;
  readonly element?: unknown;
  readonly innerType?: unknown;
  readonly options?: unknown;
};

const plainTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'boolean', 'null', 'literal', 'enum']);

const plainChecks: ReadonlySet<unknown> = new Set([
  'less_than',
  'greater_than',
  'multiple_of',
  'number_format',
  'max_length',
  'min_length',
  'length_equals',
  'string_format',
]);

const deepest = 32;

export function isPlainZod(schema: unknown): boolean {
  try {
    return isPlain(schema, 0);
  } catch {
    return false;
  }
}

function isPlain(schema: unknown, depth: number): boolean {
  const def = (schema as ZodPart | undefined)?._zod?.def;
  if (def === undefined || depth > deepest || typeof def.fn === 'function') return false;
  if (def.checks !== undefined && !(Array.isArray(def.checks) && def.checks.every(isPlainCheck)))
    return false;
  if (def.check !== undefined && !plainChecks.has(def.check)) return false;
  if (plainTypes.has(def.type)) return true;
  const inner = (part: unknown): boolean => isPlain(part, depth + 1);
  switch (def.type) {
    case 'never':
      return true;
    case 'object':
      return (
        isJsonObject(def.shape) &&
        Object.values(def.shape).every(inner) &&
        (def.catchall === undefined || inner(def.catchall))
      );
    case 'array':
      return inner(def.element);
    case 'optional':
    case 'nullable':
      return inner(def.innerType);
    case 'union':
      return Array.isArray(def.options) && def.options.every(inner);
    default:
      return false;
  }
}

const isPlainCheck = (check: unknown): boolean => {
  const def = (check as ZodPart | undefined)?._zod?.def;
  return def !== undefined && typeof def.fn !== 'function' && plainChecks.has(def.check);
};
