import type { JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { isJsonObject, ownValue } from '../base/json.ts';
import type { JsonType } from './json-type.ts';
import { jsonTypeOf } from './json-type.ts';

/** The types allowed at a place without a constraint. */
export const everyType: ReadonlySet<JsonType> = new Set([
  'null',
  'boolean',
  'number',
  'string',
  'array',
  'object',
]);
const noType: ReadonlySet<JsonType> = new Set();

/**
 * The types that a JSON Schema allows at a path of `root`. It errs towards more: if a reference leads nowhere or a
 * keyword is not examined, everything is allowed. A branch of a union whose constants contradict the value is not a
 * choice.
 */
export function allowedTypes(schema: JsonValue, path: JsonPath, root: unknown): ReadonlySet<JsonType> {
  const values = [root];
  for (const step of path) values.push(memberOf(values.at(-1), step));
  // A schema may refer to itself, and to others many times: each is examined once per depth.
  const known = path.concat('').map(() => new Map<JsonObject, ReadonlySet<JsonType>>());

  const at = (node: unknown, depth: number): ReadonlySet<JsonType> => {
    if (!isJsonObject(node)) return node === false ? noType : everyType;
    // Its references do not start at the root.
    if (Object.hasOwn(node, '$id') && node !== schema) return everyType;
    const seen = known[depth]?.get(node);
    if (seen !== undefined) return seen;
    known[depth]?.set(node, everyType);
    const types = intersect([here(node, depth), ...applied(node, depth)]);
    known[depth]?.set(node, types);
    return types;
  };

  /** The constraint of the node itself on this place, or on the place below it that the path leads to. */
  const here = (node: JsonObject, depth: number): ReadonlySet<JsonType> => {
    const step = path[depth];
    if (step === undefined) return statedTypes(node);
    if (!statedTypes(node).has(typeof step === 'number' ? 'array' : 'object')) return noType;
    if (contradicts(node, values[depth], step)) return noType;
    return intersect(childSchemas(node, step).map((child) => at(child, depth + 1)));
  };

  /** The constraints of the schemas it applies. */
  const applied = (node: JsonObject, depth: number): ReadonlySet<JsonType>[] => {
    const found: ReadonlySet<JsonType>[] = [];
    const ref = ownValue(node, '$ref');
    if (typeof ref === 'string') found.push(at(resolve(schema, ref), depth));
    for (const each of listOf(node, 'allOf') ?? []) found.push(at(each, depth));
    for (const keyword of ['anyOf', 'oneOf']) {
      const branches = listOf(node, keyword);
      if (branches !== undefined) found.push(unite(branches.map((each) => at(each, depth))));
    }
    if (Object.hasOwn(node, 'if')) {
      found.push(unite([at(ownValue(node, 'then'), depth), at(ownValue(node, 'else'), depth)]));
    }
    return found;
  };

  try {
    return at(schema, 0);
  } catch (error) {
    // Too many references that follow each other.
    if (error instanceof RangeError) return everyType;
    throw error;
  }
}

function statedTypes(node: JsonObject): ReadonlySet<JsonType> {
  const stated: ReadonlySet<JsonType>[] = [];
  const type = ownValue(node, 'type');
  const names: readonly unknown[] | undefined = Array.isArray(type)
    ? type
    : type === undefined
      ? undefined
      : [type];
  if (names !== undefined) {
    const nullable = ownValue(node, 'nullable') === true ? ['null'] : [];
    const meant = new Set([...names, ...nullable].map((name) => (name === 'integer' ? 'number' : name)));
    stated.push(new Set([...everyType].filter((each) => meant.has(each))));
  }
  const choices = Object.hasOwn(node, 'const') ? [ownValue(node, 'const')] : listOf(node, 'enum');
  if (choices !== undefined)
    stated.push(new Set(choices.map(jsonTypeOf).filter((each) => each !== undefined)));
  return intersect(stated);
}

/**
 * True if another key of the value is a constant this schema does not allow: then this is not the intended branch.
 */
function contradicts(node: JsonObject, value: unknown, except: string | number): boolean {
  const properties = ownValue(node, 'properties');
  if (!isJsonObject(properties) || typeof value !== 'object' || value === null) return false;
  return Object.entries(properties).some(([key, property]) => {
    if (key === except || !isJsonObject(property) || !Object.hasOwn(value, key)) return false;
    const choices = Object.hasOwn(property, 'const')
      ? [ownValue(property, 'const')]
      : listOf(property, 'enum');
    // Only values that can be compared by identity are compared.
    if (choices === undefined || choices.some((choice) => typeof choice === 'object' && choice !== null))
      return false;
    return !choices.includes(ownValue(value, key));
  });
}

/** The schemas that a value under this key must match. */
function childSchemas(node: JsonObject, step: string | number): readonly unknown[] {
  if (typeof step === 'number') {
    const items = ownValue(node, 'items');
    const tuple =
      listOf(node, 'prefixItems') ?? (Array.isArray(items) ? (items as readonly unknown[]) : undefined);
    if (tuple !== undefined && step < tuple.length) return [tuple[step]];
    return [Array.isArray(items) ? ownValue(node, 'additionalItems') : items];
  }
  const found: unknown[] = [];
  const properties = ownValue(node, 'properties');
  if (isJsonObject(properties) && Object.hasOwn(properties, step)) found.push(ownValue(properties, step));
  const patterns = ownValue(node, 'patternProperties');
  if (isJsonObject(patterns)) {
    for (const [pattern, schema] of Object.entries(patterns)) if (matches(pattern, step)) found.push(schema);
  }
  return found.length > 0 ? found : [ownValue(node, 'additionalProperties')];
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return new RegExp(pattern).test(text);
  }
}

/** The target of a reference inside the schema; undefined if it points outside or nowhere. */
function resolve(schema: JsonValue, ref: string): unknown {
  if (ref === '#') return schema;
  if (!ref.startsWith('#/')) return undefined;
  let at: unknown = schema;
  for (const part of ref.slice(2).split('/')) {
    at = memberOf(at, decode(part).replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  return at;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const memberOf = (value: unknown, step: string | number): unknown =>
  typeof value === 'object' && value !== null ? ownValue(value, step) : undefined;

const listOf = (node: JsonObject, keyword: string): readonly unknown[] | undefined => {
  const list = ownValue(node, keyword);
  return Array.isArray(list) ? list : undefined;
};

const intersect = (sets: readonly ReadonlySet<JsonType>[]): ReadonlySet<JsonType> =>
  sets.reduce((all, each) => all.intersection(each), everyType);

const unite = (sets: readonly ReadonlySet<JsonType>[]): ReadonlySet<JsonType> =>
  sets.reduce((all, each) => all.union(each), noType);

/**
 * The JSON types that a schema of valibot allows, as a JSON Schema. Valibot writes a JSON Schema only through another
 * package, but its schemas are plain data. A part that is not examined allows everything.
 */
export function valibotTypes(schema: unknown, depth = 0): JsonObject {
  if (!isJsonObject(schema) || depth > deepest) return {};
  const part: Readonly<Record<string, unknown>> = schema;
  const read = (inner: unknown): JsonObject => valibotTypes(inner, depth + 1);
  const readAll = (list: unknown): JsonObject[] => (Array.isArray(list) ? list.map(read) : [{}]);
  switch (part['type']) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return { type: part['type'] };
    case 'literal':
      return typesOf([part['literal']]);
    case 'picklist':
    case 'enum':
      return Array.isArray(part['options']) ? typesOf(part['options']) : {};
    case 'array':
      return { type: 'array', items: read(part['item']) };
    case 'object':
    case 'loose_object':
    case 'strict_object':
    case 'object_with_rest': {
      const entries = Object.entries(part['entries'] ?? {});
      return {
        type: 'object',
        properties: Object.fromEntries(entries.map(([key, inner]) => [key, read(inner)])),
      };
    }
    case 'union':
    case 'variant':
      return { anyOf: readAll(part['options']) };
    case 'optional':
    case 'exact_optional':
    case 'undefinedable':
    case 'non_optional':
    case 'non_nullish':
    case 'non_nullable':
      return read(part['wrapped']);
    case 'nullable':
    case 'nullish':
      return { anyOf: [{ type: 'null' }, read(part['wrapped'])] };
    default:
      return {};
  }
}

/** A schema can contain itself. */
const deepest = 64;

function typesOf(values: readonly unknown[]): JsonObject {
  const types = values.map(jsonTypeOf);
  return types.every((type) => type !== undefined) ? { type: [...new Set(types)] } : {};
}
