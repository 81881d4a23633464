/**
 * Evaluates JSON Schema 2020-12 where Ajv is wrong: dynamic references, `unevaluatedItems` and `unevaluatedProperties`,
 * and schemas with their own `$id` inside a schema. Ajv still checks what a schema says about a value alone.
 *
 * 1. Nothing is fetched: a reference must lead to a schema in the document, or to the schema of the draft.
 * 2. A schema that rejects the value evaluates none of its keys and indexes for the others.
 */
import type { JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { isJsonObject, ownValue } from '../base/json.ts';
import { childSchemas, refuseEndless } from './refuse-unclear-schema.ts';
import type { SchemaIssue } from './schema-issue.ts';

export type Check = (value: unknown) => readonly SchemaIssue[];

/** Compiles a schema without references and subschemas. */
type CompileAlone = (schema: JsonObject) => Check;

/** The result of one schema. `seen` has the evaluated keys and indexes. */
type Evaluated = { readonly issues: readonly SchemaIssue[]; readonly seen: ReadonlySet<string | number> };

/** A place in the document: a schema, and the base of its references. */
type Target = { readonly schema: JsonValue; readonly base: string };

/** The position of a check: the value, its path, and the bases of the schemas on the way. */
type Place = { readonly value: unknown; readonly path: JsonPath; readonly bases: readonly string[] };

/** Enough for every value that a person would call simple, and less than a second. */
const fewSteps = 1_000_000;
/** More for a large value: this many for each value in it. */
const stepsOfValue = 100;

/**
 * Counts the steps of one check. A schema that leads to itself twice doubles them with each level of the value, and
 * would otherwise never end.
 */
export class CheckSteps {
  #value: unknown;
  #left = 0;
  #isExtended = false;

  start(value: unknown): void {
    this.#value = value;
    this.#left = fewSteps;
    this.#isExtended = false;
  }

  /** Counts one step. Throws if there are too many. */
  take(): true {
    this.#left -= 1;
    if (this.#left >= 0) return true;
    if (this.#isExtended)
      throw new Error(
        'it is nested too deep, or its schema refers to itself too often for a value like this',
      );
    this.#isExtended = true;
    this.#left = stepsOfValue * countValues(this.#value) - fewSteps;
    return this.take();
  }
}

function countValues(value: unknown): number {
  const open = [value];
  let count = 0;
  while (open.length > 0) {
    const at = open.pop();
    count += 1;
    if (typeof at === 'object' && at !== null) for (const inner of Object.values(at)) open.push(inner);
  }
  return count;
}

const ownKeywords = new Set(
  (
    'type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern ' +
    'maxItems minItems uniqueItems maxProperties minProperties required dependentRequired format nullable'
  ).split(' '),
);
const accepted: Evaluated = { issues: [], seen: new Set() };

export function createEvaluator(
  root: JsonObject,
  compileAlone: CompileAlone,
  draft: Check,
  draftUri: RegExp,
  steps: CheckSteps,
): Check {
  const resources = new Map<string, JsonValue>();
  const anchors = new Map<string, Target>();
  const dynamicAnchors = new Map<string, Target>();
  const baseOf = new Map<JsonObject, string>();
  const checkAlone = new Map<JsonObject, Check>();

  const register = (schema: JsonValue, outer: string): void => {
    if (!isJsonObject(schema) || baseOf.has(schema)) return;
    const id = ownValue(schema, '$id');
    const base = typeof id === 'string' ? new URL(id, outer).href.replace(/#$/, '') : outer;
    baseOf.set(schema, base);
    if (typeof id === 'string') {
      if (resources.has(base)) throw new Error(`It has two schemas with the $id ${base}.`);
      resources.set(base, schema);
    }
    for (const [keyword, known] of [
      ['$anchor', [anchors]],
      ['$dynamicAnchor', [anchors, dynamicAnchors]],
    ] as const) {
      const name = ownValue(schema, keyword);
      if (typeof name === 'string') for (const map of known) map.set(`${base}#${name}`, { schema, base });
    }
    const own = Object.entries(schema).filter(([key]) => ownKeywords.has(key));
    if (own.length > 0) checkAlone.set(schema, compileAlone(Object.fromEntries(own)));
    for (const { schema: inner } of childSchemas(schema)) register(inner, base);
  };

  const resolve = (reference: string, base: string): Target => {
    const [url, fragment] = split(reference, base);
    const document = resources.get(url);
    const found =
      document === undefined
        ? undefined
        : fragment === '' || fragment.startsWith('/')
          ? follow(document, url, fragment.split('/').slice(1))
          : anchors.get(`${url}#${fragment}`);
    if (found !== undefined) return found;
    if (fragment === '' && draftUri.test(url)) return { schema: draftSchema, base };
    throw unresolved(reference, base);
  };

  const follow = (document: JsonValue, start: string, steps: readonly string[]): Target | undefined => {
    let schema: unknown = document;
    let base = start;
    for (const step of steps) {
      if (typeof schema !== 'object' || schema === null) return undefined;
      base = baseOf.get(schema as JsonObject) ?? base;
      schema = ownValue(schema, step.replaceAll('~1', '/').replaceAll('~0', '~'));
    }
    if (typeof schema !== 'boolean' && !isJsonObject(schema)) return undefined;
    register(schema, base);
    return { schema, base };
  };

  const evaluate = (schema: JsonValue, place: Place): Evaluated => {
    steps.take();
    if (schema === draftSchema) return { issues: draft(place.value).map(under(place.path)), seen: none };
    if (!isJsonObject(schema))
      return schema === false
        ? { issues: [{ path: place.path, message: 'is not allowed here' }], seen: none }
        : accepted;
    const base = baseOf.get(schema) ?? noId;
    const bases = place.bases.at(-1) === base ? place.bases : [...place.bases, base];
    return evaluateHere(schema, base, { ...place, bases });
  };

  const evaluateHere = (schema: JsonObject, base: string, place: Place): Evaluated => {
    const { value, path, bases } = place;
    const issues: SchemaIssue[] = (checkAlone.get(schema)?.(value) ?? []).map(under(path));
    const seen = new Set<string | number>();
    const has = (keyword: string): boolean => Object.hasOwn(schema, keyword);
    const part = (keyword: string): JsonValue => ownValue(schema, keyword) as JsonValue; // only asked if it is there
    const refuse = (message: string): void => void issues.push({ path, message });
    const here = (inner: JsonValue): Evaluated => evaluate(inner, place);
    const take = ({ issues: found, seen: more }: Evaluated): void => {
      issues.push(...found);
      if (found.length === 0) for (const each of more) seen.add(each);
    };
    const below = (inner: JsonValue, step: string | number): Evaluated =>
      evaluate(inner, { value: ownValue(value as object, step), path: [...path, step], bases });
    /** A member is evaluated, whatever the result is. */
    const member = (inner: JsonValue, step: string | number): void => {
      seen.add(step);
      if (inner === false) issues.push({ path: [...path, step], message: 'is not a known property' });
      else issues.push(...below(inner, step).issues);
    };

    const reference = ownValue(schema, '$ref');
    if (typeof reference === 'string') take(here(resolve(reference, base).schema));
    const dynamic = ownValue(schema, '$dynamicRef');
    if (typeof dynamic === 'string') take(here(resolveDynamic(dynamic, base, bases).schema));
    for (const inner of listAt(schema, 'allOf')) take(here(inner));
    if (has('anyOf')) {
      const branches = listAt(schema, 'anyOf').map(here);
      const passed = branches.filter(isAccepted);
      for (const branch of passed.length > 0 ? passed : branches) take(branch);
      if (passed.length === 0) refuse('must match a schema in anyOf');
    }
    if (has('oneOf')) {
      const branches = listAt(schema, 'oneOf').map(here);
      const passed = branches.filter(isAccepted);
      if (passed.length !== 1) refuse('must match exactly one schema in oneOf');
      for (const branch of passed.length > 0 ? passed : branches) take(branch);
    }
    if (has('not') && isAccepted(here(part('not')))) refuse('must NOT be valid');
    if (has('if')) {
      const condition = here(part('if'));
      if (isAccepted(condition)) take(condition);
      const branch = isAccepted(condition) ? 'then' : 'else';
      if (has(branch)) take(here(part(branch)));
    }

    if (Array.isArray(value)) {
      const prefix = listAt(schema, 'prefixItems');
      for (let index = 0; index < Math.min(prefix.length, value.length); index++)
        member(prefix[index] ?? true, index);
      if (has('items'))
        for (let index = prefix.length; index < value.length; index++) member(part('items'), index);
      if (has('contains')) {
        const found = [...value.keys()].filter((index) => isAccepted(below(part('contains'), index)));
        for (const index of found) seen.add(index);
        const least = has('minContains') ? Number(part('minContains')) : 1;
        const most = has('maxContains') ? Number(part('maxContains')) : Infinity;
        if (found.length < least) refuse(`must contain at least ${least} valid item(s)`);
        if (found.length > most) refuse(`must contain at most ${most} valid item(s)`);
      }
      if (has('unevaluatedItems'))
        for (const index of value.keys()) if (!seen.has(index)) member(part('unevaluatedItems'), index);
    } else if (isJsonObject(value)) {
      const properties = mapAt(schema, 'properties');
      const patterns = Object.entries(mapAt(schema, 'patternProperties'));
      for (const name of Object.keys(value)) {
        const matching = patterns.filter(([pattern]) => matches(pattern, name)).map(([, inner]) => inner);
        if (Object.hasOwn(properties, name)) matching.push(ownValue(properties, name) as JsonValue);
        for (const inner of matching) member(inner, name);
        if (matching.length === 0 && has('additionalProperties')) member(part('additionalProperties'), name);
        if (has('propertyNames'))
          issues.push(
            ...evaluate(part('propertyNames'), { value: name, path: [...path, name], bases }).issues,
          );
      }
      for (const keyword of ['dependentSchemas', 'dependencies'])
        for (const [name, inner] of Object.entries(mapAt(schema, keyword))) {
          if (!Object.hasOwn(value, name)) continue;
          if (!Array.isArray(inner)) take(here(inner));
          else
            for (const wanted of (inner as readonly JsonValue[]).filter((each) => typeof each === 'string'))
              if (!Object.hasOwn(value, wanted))
                issues.push({ path: [...path, wanted], message: 'is required' });
        }
      if (has('unevaluatedProperties'))
        for (const name of Object.keys(value))
          if (!seen.has(name)) member(part('unevaluatedProperties'), name);
    }
    return { issues, seen };
  };

  /** The outermost schema on the way that has this anchor. */
  const resolveDynamic = (reference: string, base: string, bases: readonly string[]): Target => {
    const first = resolve(reference, base);
    const [, fragment] = split(reference, base);
    if (dynamicAnchors.get(`${first.base}#${fragment}`)?.schema !== first.schema) return first;
    for (const outer of bases) {
      const found = dynamicAnchors.get(`${outer}#${fragment}`);
      if (found !== undefined) return found;
    }
    return first;
  };

  resources.set(noId, root);
  register(root, noId);
  const targetsOf = (schema: JsonObject): readonly JsonValue[] => {
    const base = baseOf.get(schema) ?? noId;
    const reference = ownValue(schema, '$ref');
    const dynamic = ownValue(schema, '$dynamicRef');
    const found = typeof reference === 'string' ? [resolve(reference, base)] : [];
    if (typeof dynamic === 'string') {
      const [, fragment] = split(dynamic, base);
      const others = [...dynamicAnchors].filter(([name]) => name.endsWith(`#${fragment}`));
      found.push(resolve(dynamic, base), ...others.map(([, target]) => target));
    }
    return found.map((target) => target.schema);
  };
  refuseEndless(
    [...baseOf.keys()].map((node) => ({ node, at: '#' })),
    targetsOf,
  );
  return (value) => evaluate(root, { value, path: [], bases: [] }).issues;
}

/** The address of a document, and the fragment in it. */
function split(reference: string, base: string): readonly [address: string, fragment: string] {
  try {
    const url = new URL(reference, base);
    const fragment = decodeURIComponent(url.hash.slice(1));
    url.hash = '';
    return [url.href, fragment];
  } catch {
    throw unresolved(reference, base);
  }
}

const unresolved = (reference: string, base: string): Error =>
  new Error(`can't resolve reference ${reference} from id ${base === noId ? '#' : base}`);

/** The base of a schema without `$id`. */
const noId = 'schema:///';
/** Stands for the schema of the draft. */
const draftSchema: JsonObject = Object.freeze({});
const none: ReadonlySet<string | number> = new Set();

const isAccepted = ({ issues }: Evaluated): boolean => issues.length === 0;
const under =
  (path: JsonPath) =>
  (issue: SchemaIssue): SchemaIssue => ({ ...issue, path: [...path, ...issue.path] });

const listAt = (schema: JsonObject, keyword: string): readonly JsonValue[] => {
  const list = ownValue(schema, keyword);
  return Array.isArray(list) ? (list as readonly JsonValue[]) : [];
};
const mapAt = (schema: JsonObject, keyword: string): JsonObject => {
  const map = ownValue(schema, keyword);
  return isJsonObject(map) ? map : {};
};

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return new RegExp(pattern).test(text);
  }
}
