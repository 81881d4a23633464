/**
 * JSON Schemas that another program wrote. Their authors are not here to correct them. So a keyword that cannot be
 * checked is left out, and the rest is checked. A schema with a broken or an endless reference is still refused.
 *
 * A schema that is too large to compile quickly is checked in part: the names and types of its own properties.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, ownValue } from '../base/json.ts';
import { compileJsonSchema, findUnclear, judgeJsonSchema } from './schema.ts';
import { isKnownKeyword, UnclearKeyword, walkSchema } from './refuse-unclear-schema.ts';

export type ForeignSchema = {
  readonly schema: JsonObject;
  /** Could a check take very long? The schema and the value may come from the same stranger. */
  readonly isSlow: boolean;
  /** JSON values in the schema. A check of a schema that is not slow visits each at most once for a value. */
  readonly size: number;
};

/**
 * Within these bounds the slowest schema that was found compiles in about 30 ms. Expansion counts the schemas that are
 * reached if each reference is followed.
 */
export const schemaBounds = {
  characters: 50_000,
  values: 700,
  schemas: 120,
  branches: 50,
  depth: 32,
  expansion: 2_000,
} as const;

/** More problems than this are not worth the time. */
const mostProblems = 10;
const slowKeywords = [
  'pattern',
  'format',
  'patternProperties',
  'uniqueItems',
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
];

/** The part of the schema that can be checked. Throws an error whose message names the problem. */
export function readForeignSchema(given: JsonObject): ForeignSchema {
  const measured = measure(given);
  const schema = isWithin(measured) ? structuredClone(given) : toFlat(given);
  for (const { node } of walkSchema(schema, '#')) dropUnusablePatterns(node);
  dropStrange(schema);
  dropUnclear(schema);
  compileJsonSchema(schema);
  const nodes = [...walkSchema(schema, '#')];
  const { values } = measure(schema);
  return {
    schema,
    size: values,
    isSlow: nodes.some(({ node }) => slowKeywords.some((key) => Object.hasOwn(node, key))),
  };
}

/** Each unknown keyword is compared with all that exist. */
const mostStrange = 100;

function dropStrange(schema: JsonObject): void {
  let strange = 0;
  for (const { node } of walkSchema(schema, '#'))
    for (const key of Object.keys(node))
      if (!isKnownKeyword(key) && (strange += 1) > mostStrange) remove(node, key);
}

function dropUnclear(schema: JsonObject): void {
  for (let left = mostProblems; ; left--) {
    try {
      for (const { node, key } of findUnclear(schema)) remove(node, key);
      judgeJsonSchema(schema);
      return;
    } catch (error) {
      if (!(error instanceof UnclearKeyword) || left === 0) throw error;
      remove(error.node, error.key);
    }
  }
}

type Measured = Record<keyof typeof schemaBounds, number>;

const isWithin = (measured: Measured): boolean =>
  (Object.keys(schemaBounds) as (keyof Measured)[]).every((key) => measured[key] <= schemaBounds[key]);

/** Stops as soon as one bound is passed. */
function measure(root: JsonObject): Measured {
  const found: Measured = { characters: 0, values: 0, schemas: 0, branches: 0, depth: 0, expansion: 0 };
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { value, depth } = at;
    found.values += 1;
    found.depth = Math.max(found.depth, depth);
    if (typeof value === 'string') found.characters += value.length;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      found.characters += key.length;
      if (Array.isArray(inner) && ['anyOf', 'oneOf', 'allOf'].includes(key)) found.branches += inner.length;
      open.push({ value: inner, depth: depth + 1 });
    }
    if (!isWithin(found)) return found;
  }
  const byPath = new Map([...walkSchema(root, '#')].map(({ node, at }) => [at, node]));
  found.schemas = byPath.size;
  if (isWithin(found)) found.expansion = expand(root, byPath, schemaBounds.expansion);
  return found;
}

/** How many schemas are reached if each reference is followed. A reference back to where it came from counts once. */
function expand(root: JsonObject, byPath: ReadonlyMap<string, JsonObject>, most: number): number {
  let reached = 0;
  const trail = new Set<JsonObject>();
  const visit = (node: JsonObject): void => {
    if (trail.has(node) || reached > most) return;
    trail.add(node);
    for (const { node: inner } of walkSchema(node, '#')) {
      reached += 1;
      const reference = ownValue(inner, '$ref');
      if (typeof reference !== 'string' || reached > most) continue;
      const target = reference === '#' ? root : byPath.get(reference);
      if (target !== undefined) visit(target);
    }
    trail.delete(node);
  };
  visit(root);
  return reached;
}

/** More properties are not compared. */
const mostFlat = 100;

/** The names and the types of its own properties. */
function toFlat(schema: JsonObject): JsonObject {
  const properties = ownValue(schema, 'properties');
  const required = ownValue(schema, 'required');
  const names = isJsonObject(properties) ? Object.keys(properties).slice(0, mostFlat) : [];
  const isShort = (name: JsonValue): boolean =>
    typeof name === 'string' && name.length <= 200 && name !== '__proto__';
  const kept = names.filter(isShort).map((name): [string, JsonObject] => {
    const type = isJsonObject(properties) ? ownValue(toObject(properties[name]), 'type') : undefined;
    return [name, isType(type) ? { type } : {}];
  });
  const type = ownValue(schema, 'type');
  return {
    ...(typeof type === 'string' && { type }),
    ...(isJsonObject(properties) && { properties: Object.fromEntries(kept) }),
    ...(isList(required) && { required: [...new Set(required.filter(isShort))].slice(0, mostFlat) }),
  };
}

const isList = (value: unknown): value is readonly JsonValue[] => Array.isArray(value);

/** A type that JSON Schema knows, or a short list of them. */
const isType = (value: unknown): value is string | readonly string[] =>
  [value].flat().every((each) => typeof each === 'string' && each.length < 10) && [value].flat().length < 8;

const toObject = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** Our own copy, so it may change. */
const remove = (node: JsonObject, key: string): void => void Reflect.deleteProperty(node, key);

function dropUnusablePatterns(node: JsonObject): void {
  const pattern = ownValue(node, 'pattern');
  if (typeof pattern === 'string' && !isPattern(pattern)) remove(node, 'pattern');
  const byName = ownValue(node, 'patternProperties');
  if (!isJsonObject(byName) || Object.keys(byName).every(isQuick)) return;
  // Without the patterns it is unknown which properties are additional.
  for (const key of ['patternProperties', 'additionalProperties', 'unevaluatedProperties']) remove(node, key);
}

/** Longer patterns take long to compile. */
const longestPattern = 1_000;

function isPattern(pattern: string): boolean {
  if (pattern.length > longestPattern) return false;
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
}

/** Names are compared without a limit of time, so a pattern for names repeats at most one thing. */
const isQuick = (pattern: string): boolean =>
  isPattern(pattern) && (pattern.match(/[*+{]/g) ?? []).length <= 1;
