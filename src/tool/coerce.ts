/**
 * Makes arguments match their schema by the listed rules, or reports that they do not.
 *
 * 1. Only failing values are touched: every trial is at a path that the schema reported.
 * 2. A trial stays only if the schema stops reporting that path, or reports a path inside it.
 * 3. Text is never replaced if text is allowed.
 * 4. The result was checked as a whole, and is a separate copy.
 *
 * All failing paths are tried at once, so the number of checks depends on the rules and the nesting, not on the
 * number of mistakes.
 */
import type { Awaitable, JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { formatPath, toJson } from '../base/json.ts';
import { allowedTypes, everyType } from './allowed-types.ts';
import type { CoercionProposal, CoercionRule } from './coercion-rule.ts';
import { coercionRules } from './coercion-rule.ts';
import { editJson, valueAt } from './json-edit.ts';
import type { JsonType } from './json-type.ts';
import { jsonTypeOf } from './json-type.ts';
import type { CompiledSchema, SchemaCheck, SchemaIssue } from './schema.ts';
import { whenReady } from '../base/when-ready.ts';

export { coercionRules, type CoercionRule } from './coercion-rule.ts';

/** One change, and the rule that made it. */
export type CoercionChange = { readonly path: string; readonly rule: CoercionRule };

/** The repaired arguments, the schema's output and the changes; or the remaining issues. */
export type Coercion =
  | {
      readonly ok: true;
      readonly input: JsonObject;
      readonly value: unknown;
      readonly changes: readonly CoercionChange[];
    }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

export type CoerceOptions = {
  /** Nothing is changed at or below these paths. */
  readonly frozenPaths?: readonly JsonPath[];
};

/** Most checks spent on trials. Values nested deeper in strings stay as they were sent. */
const mostPasses = 16;

type Trial = {
  readonly path: JsonPath;
  readonly key: string;
  readonly rule: CoercionRule;
  /** The replacement; undefined if the rule removes the key. */
  readonly value: JsonValue | undefined;
};

/** The state between two passes. */
type Progress = {
  readonly input: JsonObject;
  readonly failing: readonly JsonPath[];
  readonly kept: readonly Trial[];
  /** The trials made, as `rule key`: none is repeated at one place. */
  readonly tried: ReadonlySet<string>;
  readonly passes: number;
};

/** Coerces arguments that a schema rejected. Does not modify them; returns a new object. */
export function coerce(
  input: JsonObject,
  schema: CompiledSchema,
  { frozenPaths = [] }: CoerceOptions = {},
): Awaitable<Coercion> {
  const frozen = new Set(frozenPaths.map(keyOf));

  const start = (first: SchemaCheck): Awaitable<Coercion> => {
    const begun: Progress = {
      input: editJson(input, []),
      failing: first.ok ? [] : first.issues.map(({ path }) => path),
      kept: [],
      tried: new Set(),
      passes: 0,
    };
    return whenReady(advance(begun), (done) => finish(done, first));
  };

  const advance = (progress: Progress): Awaitable<Progress> => {
    const trials = progress.passes < mostPasses ? proposeTrials(progress, schema, frozen) : [];
    if (trials.length === 0) return progress;
    const draft = editJson(progress.input, trials);
    return whenReady(schema.check(draft), (result) => {
      const failing = result.ok ? [] : result.issues.map(({ path }) => path);
      const failingKeys = new Set(failing.map(keyOf));
      const standing = trials.filter(({ key }) => !failingKeys.has(key));
      return whenReady(withoutImpostors(progress, standing), (kept) => {
        const stood = new Set(kept);
        const rejected = trials.filter((trial) => !stood.has(trial));
        return advance(conclude(progress, kept, rejected, failing));
      });
    });
  };

  /**
   * Some validators accept an array as an object, and would let a rule make one where none is wanted. Without a JSON
   * Schema, an object is tried in its place: a schema that accepts both did not require an array.
   */
  const withoutImpostors = (
    { input: before }: Progress,
    trials: readonly Trial[],
  ): Awaitable<readonly Trial[]> => {
    const arrays = trials.flatMap(({ path, value }) => (Array.isArray(value) ? [{ path, value }] : []));
    if (schema.jsonSchema !== undefined || arrays.length === 0) return trials;
    const asObjects = arrays.map(({ path, value }) => ({
      path,
      value: Object.fromEntries(Object.entries(value)),
    }));
    return whenReady(schema.check(editJson(before, asObjects)), (result) => {
      const refused = new Set(result.ok ? [] : result.issues.map(({ path }) => keyOf(path)));
      return trials.filter((trial) => !Array.isArray(trial.value) || refused.has(trial.key));
    });
  };

  const finish = (done: Progress, first: SchemaCheck): Awaitable<Coercion> => {
    const issues = first.ok ? [] : first.issues;
    // The schema's output goes to the body, which may change it, so it must share nothing with the input.
    const copy = toJson(done.input);
    if (!copy.ok) return { ok: false, issues: [...issues, { path: copy.path, message: copy.problem }] };
    return whenReady(schema.check(copy.value), (last): Coercion => {
      if (!last.ok) return { ok: false, issues: (issues.length > 0 ? issues : last.issues).map(withExample) };
      const changes = done.kept.map(({ path, rule }) => ({ path: formatPath(path), rule }));
      return { ok: true, input: done.input, value: last.value, changes };
    });
  };

  /**
   * A text in the place of a list may contain several values or one: the message shows the model how to write them.
   */
  const withExample = (issue: SchemaIssue): SchemaIssue => {
    if (schema.jsonSchema === undefined || typeof valueAt(input, issue.path) !== 'string') return issue;
    const types = allowedTypes(schema.jsonSchema, issue.path, input);
    return types.has('array') && !types.has('string')
      ? { ...issue, message: `${issue.message}; send a JSON array, such as ["first", "second"]` }
      : issue;
  };

  return whenReady(schema.check(input), start);
}

/** One trial for every failing path with a remaining rule. */
function proposeTrials(
  { input, failing, tried }: Progress,
  schema: CompiledSchema,
  frozen: ReadonlySet<string>,
): readonly Trial[] {
  const trials = new Map<string, Trial>();
  for (const path of failing) {
    const key = keyOf(path);
    // Everything in JSON data is JSON.
    const value = valueAt(input, path) as JsonValue | undefined;
    if (value === undefined || trials.has(key) || path.length === 0 || isUnder(path, frozen)) continue;
    const types = schema.jsonSchema === undefined ? undefined : allowedTypes(schema.jsonSchema, path, input);
    for (const { name: rule, propose } of coercionRules) {
      const proposal = tried.has(`${rule} ${key}`) ? undefined : propose(value);
      if (proposal === undefined || !isAdmissible(proposal, value, path, types)) continue;
      trials.set(key, { path, key, rule, value: proposal.type === 'drop' ? undefined : proposal.value });
      break;
    }
  }
  return [...trials.values()];
}

/** May a proposal be tried at all, by what the schema allows there? */
function isAdmissible(
  proposal: CoercionProposal,
  value: JsonValue,
  path: JsonPath,
  types: ReadonlySet<JsonType> | undefined,
): boolean {
  switch (proposal.type) {
    case 'drop':
      // An element of an array is not a field, and an undeclared key is not an optional field.
      return (
        typeof path.at(-1) === 'string' &&
        (types === undefined || (types.size > 0 && types.size < everyType.size))
      );
    case 'replace': {
      if (types === undefined) return true;
      const type = jsonTypeOf(proposal.value);
      const own = jsonTypeOf(value);
      return type !== undefined && types.has(type) && (own === undefined || !types.has(own));
    }
  }
}

/** Keeps successful trials, reverts the others, and returns the paths that still fail. */
function conclude(
  progress: Progress,
  kept: readonly Trial[],
  rejected: readonly Trial[],
  failing: readonly JsonPath[],
): Progress {
  const takenBack = new Set(rejected.map(({ key }) => key));
  return {
    input: editJson(progress.input, kept),
    failing: [...rejected.map(({ path }) => path), ...failing.filter((path) => !isUnder(path, takenBack))],
    kept: [...progress.kept, ...kept],
    tried: progress.tried.union(new Set([...kept, ...rejected].map(({ rule, key }) => `${rule} ${key}`))),
    passes: progress.passes + 1,
  };
}

const keyOf = (path: JsonPath): string => JSON.stringify(path);

/** True if the path, or one above it, is among the keys. */
const isUnder = (path: JsonPath, keys: ReadonlySet<string>): boolean =>
  keys.size > 0 && (keys.has('[]') || path.some((_, index) => keys.has(keyOf(path.slice(0, index + 1)))));
