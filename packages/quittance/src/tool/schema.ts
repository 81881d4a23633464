import { digestJson } from '../base/canonical.ts';
import { QuittanceError } from '../base/error.ts';
import type { Awaitable, JsonObject, JsonValue } from '../base/json.ts';
import { formatPath, freezeJson, isJsonObject, toJson, ownValue } from '../base/json.ts';
import { allowedTypes, everyType, valibotTypes } from './allowed-types.ts';
import { describeThrown } from './describe-thrown.ts';
import { describeValue } from './describe-value.ts';
import { quote } from '../base/nearest.ts';
import type { SchemaCheck, SchemaIssue } from './schema-issue.ts';
import { issueAtRoot, mostIssues, toJsonPath } from './schema-issue.ts';
import type { StandardInput, StandardOutput, StandardSchema } from './standard-schema.ts';
import { checkPlainZod, checkStandard, standardToJsonSchema, toStandardSchema } from './standard-schema.ts';
import { createRequire } from 'node:module';
import type * as ajvDraft07 from 'ajv';
import type { ErrorObject, Options } from 'ajv';
import type * as ajvDraft2019 from 'ajv/dist/2019.js';
import type * as ajvDraft2020 from 'ajv/dist/2020.js';
import type * as ajvFormats from 'ajv-formats';
import { cutText } from '../base/cut-text.ts';
import { CheckSteps, createEvaluator } from './evaluate-schema.ts';
import { valueAt } from './json-edit.ts';
import { jsonTypeOf } from './json-type.ts';
import {
  refuseUnclearSchema,
  uncheckedFormats,
  findUnclearKeywords,
  isMisjudged,
  UnclearKeyword,
  withoutEmptyEnums,
} from './refuse-unclear-schema.ts';

export type { SchemaCheck, SchemaIssue } from './schema-issue.ts';

/** A JSON Schema as written: draft 2020-12, or the draft in its `$schema`. */
type JsonSchema = JsonObject | boolean;

declare const carried: unique symbol;

/** A JSON Schema that carries its type; made by `jsonSchema`. */
type JsonSchemaOf<Value> = JsonObject & { readonly [carried]: Value };

/** A description of the input or the output of a tool. */
export type InputSchema = StandardSchema | JsonSchema;

/** The input type of a schema. `Untyped` is for a JSON Schema without a type, and for no schema. */
export type InferInput<Schema, Untyped = JsonObject> = Schema extends StandardSchema
  ? StandardInput<Schema>
  : Schema extends { readonly [carried]: infer Value }
    ? Value
    : Untyped;

/** The output type of a schema: the input of a tool's body. */
export type InferOutput<Schema, Untyped = JsonObject> = Schema extends StandardSchema
  ? StandardOutput<Schema>
  : Schema extends { readonly [carried]: infer Value }
    ? Value
    : Untyped;

/** Adds a type to a JSON Schema. Nothing checks the type: the schema is what runs. */
export const jsonSchema = <Value>(schema: JsonObject): JsonSchemaOf<Value> =>
  // Only the declaration carries the type.
  schema as JsonSchemaOf<Value>;

/** A compiled schema. */
export type CompiledSchema = {
  /** The validator: `json-schema`, or the name it gives itself. */
  readonly vendor: string;
  /** The schema as JSON Schema, for a model to read; undefined if its validator cannot express it. */
  readonly jsonSchema: JsonObject | undefined;
  /** The JSON types that are allowed at each path, as a JSON Schema; undefined if they are not known. */
  readonly types: JsonObject | undefined;
  /**
   * Changes with the schema, as far as its JSON Schema shows. Default values do not count: see `schema-digest.ts`.
   */
  readonly digest: string;
  /** The same with default values, as earlier versions computed it. */
  readonly digestWithDefaults: string;
  /** Never throws, and answers synchronously if the validator does. */
  check(value: unknown): Awaitable<SchemaCheck>;
  /** True if the validator does not change its argument, and returns plain JSON for plain JSON. */
  readonly isPlain?: true;
  /** True if an accepted value is returned as the same object, unchanged. */
  readonly keepsValue?: true;
  /** Wraps the input of the tool's functions: the accepted request, and the schema's output for it. */
  readonly wrap?: (accepted: JsonObject, value: unknown) => unknown;
};

/** The place of a schema, for messages. */
export type SchemaLocation = { readonly what: 'input' | 'output'; readonly tool: string };

/** The input of a tool without an input schema. */
const anyObject: JsonObject = freezeJson({ type: 'object', properties: {} });

/** Compiles a schema, or throws `config.invalid` naming the tool and the field. */
export function compileSchema(schema: unknown, place: SchemaLocation): CompiledSchema {
  const standard = toStandardSchema(schema);
  if (standard !== undefined) return compileStandard(standard, place);
  if (typeof schema === 'boolean' || isJsonObject(schema)) return compileJson(schema, place);
  throw refuse(
    place,
    `is ${describeValue(schema)}. Expected a Standard Schema (zod, valibot, arktype, …) or a JSON Schema.`,
  );
}

function compileStandard(schema: StandardSchema, place: SchemaLocation): CompiledSchema {
  const { vendor: named } = schema['~standard'] as { vendor?: unknown }; // the name it gives itself, if any
  const vendor = typeof named === 'string' ? named : 'unknown';
  const written = standardToJsonSchema(schema, place.what);
  if (written !== undefined && place.what === 'input' && !allowedTypes(written, [], {}).has('object')) {
    throw refuse(
      place,
      'does not accept an object. Arguments are always an object: wrap the schema in an object.',
    );
  }
  const isPlain = isPlainZod(schema);
  return Object.freeze({
    vendor,
    jsonSchema: written === undefined ? undefined : freezeJson(written),
    types: written ?? (vendor === 'valibot' ? valibotTypes(schema) : undefined),
    digest: digestSchema(written ?? { vendor, ...place }),
    digestWithDefaults: digestJson(written ?? { vendor, ...place }),
    check: (value: unknown) => (isPlain ? checkPlainZod(schema, value) : checkStandard(schema, value)),
    ...(isPlain && { isPlain: true as const }),
  });
}

function compileJson(given: JsonSchema, place: SchemaLocation): CompiledSchema {
  const schema = readJsonSchema(given, place);
  const written = freezeJson(schema === true ? {} : schema === false ? { not: {} } : schema);
  const issuesOf = compiled(written, place);
  const check = (value: unknown): SchemaCheck => {
    try {
      const issues = issuesOf(value);
      return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
    } catch (cause) {
      const why =
        cause instanceof RangeError ? 'it is nested too deep for its schema' : describeThrown(cause);
      return { ok: false, issues: [issueAtRoot(`could not be checked: ${why}`)] };
    }
  };
  return Object.freeze({
    vendor: 'json-schema',
    jsonSchema: written,
    types: written,
    digest: digestSchema(written),
    digestWithDefaults: digestJson(written),
    check: place.what === 'input' ? check : (value: unknown) => checkAsJson(value, check),
    keepsValue: true as const,
  });
}

/** A body may return a Date or a class instance: a JSON Schema describes its JSON form. */
function checkAsJson(value: unknown, check: (value: unknown) => SchemaCheck): SchemaCheck {
  const json = toJson(value);
  return json.ok ? check(json.value) : { ok: false, issues: [{ path: json.path, message: json.problem }] };
}

function compiled(schema: JsonObject, place: SchemaLocation): JsonSchemaChecker {
  try {
    return compileJsonSchema(schema);
  } catch (cause) {
    const why =
      cause instanceof RangeError
        ? 'It is nested too deep, or too many references follow each other.'
        : describeThrown(cause);
    throw refuse(place, `does not compile. ${why}`, cause);
  }
}

/** A copy of the current schema; for an input, one about objects. */
function readJsonSchema(given: JsonSchema, place: SchemaLocation): JsonSchema {
  const isInput = place.what === 'input';
  if (typeof given === 'boolean') return given && isInput ? anyObject : given;
  if (Object.values(given).some((part) => toStandardSchema(part) !== undefined)) {
    throw refuse(place, 'is a plain object of schemas. Wrap them in one schema, such as z.object({…}).');
  }
  const reading = toJson(given);
  if (!reading.ok) throw refuse(place, `is not JSON at ${formatPath(reading.path)}: ${reading.problem}.`);
  const schema = reading.value;
  if (!isJsonObject(schema))
    throw refuse(place, `becomes ${describeValue(schema)} as JSON. Expected a JSON Schema.`);
  if (!isInput) return schema;
  if (Object.keys(schema).length === 0) return anyObject;
  const types = allowedTypes(schema, [], {});
  if (types.size < everyType.size && types.has('object')) return schema;
  throw refuse(place, 'does not say `type: "object"` at the top. Arguments are always an object.');
}

const refuse = ({ tool, what }: SchemaLocation, problem: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The ${what} schema of the tool ${quote(tool)} ${problem}`,
    { tool, field: what },
    cause,
  );

/**
 * JSON Schema, checked by Ajv: the only file that uses it.
 *
 * 1. Every schema gets its own instance, so that two schemas with the same `$id` do not conflict.
 * 2. Nothing is fetched: a reference out of the schema does not compile.
 * 3. Own properties decide: an inherited member does not satisfy `required: ["constructor"]`.
 * 4. Ajv is loaded with the first JSON Schema. It takes longer to load than the rest of this package, and tools with
 *    schemas of other validators do not need it.
 */
const load = createRequire(import.meta.url);

// The declarations of the packages describe their exports.
const draft07 = (given: Options): Core => new (load('ajv') as typeof ajvDraft07).Ajv(given);
const draft2019 = (given: Options): Core =>
  new (load('ajv/dist/2019.js') as typeof ajvDraft2019).Ajv2019(given);
const draft2020 = (given: Options): Core =>
  new (load('ajv/dist/2020.js') as typeof ajvDraft2020).Ajv2020(given);
const addFormats = (ajv: Core): void => void (load('ajv-formats') as typeof ajvFormats).default.default(ajv);

/** Returns all issues of a value; none if it matches. May throw on values nested too deep. */
export type JsonSchemaChecker = (value: unknown) => readonly SchemaIssue[];

type Dialect = {
  readonly name: string;
  readonly uri: RegExp;
  /** Does the evaluator check what Ajv misjudges? */
  readonly isEvaluated: boolean;
  readonly create: (options: Options) => Core;
  /**
   * Checks schemas by the draft's own schema. Compiled once, because that takes fifty times as long as a tool's
   * schema.
   */
  readonly judge: () => Core;
};

type Core = ajvDraft07.Ajv | ajvDraft2019.Ajv2019 | ajvDraft2020.Ajv2020;

/** The supported drafts; a schema without `$schema` is read as the first. */
const dialects: readonly Dialect[] = [
  dialect('draft 2020-12', /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, draft2020),
  dialect('draft 2019-09', /^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, draft2019),
  dialect('draft-07', /^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/, draft07),
];

function dialect(name: string, uri: RegExp, create: (given: Options) => Core): Dialect {
  let judge: Core | undefined;
  return {
    name,
    uri,
    isEvaluated: name === 'draft 2020-12',
    create,
    // Formats inside a schema are left to its compilation, which reports an invalid pattern.
    judge: () => (judge ??= create({ strict: false, logger: false, validateFormats: false })),
  };
}

/**
 * Patterns are written for engines with and without Unicode mode; one that is valid only without it is accepted so.
 */
const regExp = Object.assign(
  (pattern: string, flags: string): RegExp => {
    try {
      return new RegExp(pattern, flags);
    } catch {
      return new RegExp(pattern);
    }
  },
  { code: 'new RegExp' },
);

const options: Options = {
  strict: false,
  allErrors: true,
  ownProperties: true,
  validateSchema: false,
  // Else many references to one large schema each compile it again.
  inlineRefs: false,
  logger: false,
  // Optimized code is not faster for arguments of a tool, and takes five times as long to compile.
  code: { regExp, optimize: false },
};

/**
 * Compiles a schema, or throws an error whose message says what is wrong with it. Equal schemas share a checker: it takes
 * milliseconds to compile one, and some hosts create a runtime for each request.
 */
export const compileJsonSchema: (schema: JsonObject | boolean) => JsonSchemaChecker = shareCheckers();

const mostShared = 500;
/** Characters of a schema. A longer one is compiled each time. */
const longestShared = 50_000;

/** A checker has no state, so sharing it changes nothing that a caller can see. */
function shareCheckers(): typeof compileJsonSchema {
  const shared = new Map<string, JsonSchemaChecker>();
  return (schema) => {
    const text = JSON.stringify(schema);
    const known = shared.get(text);
    if (known !== undefined) return known;
    const checker = compileAlone(schema);
    if (text.length > longestShared) return checker;
    const [oldest] = shared.keys();
    if (shared.size >= mostShared && oldest !== undefined) shared.delete(oldest);
    shared.set(text, checker);
    return checker;
  };
}

function compileAlone(schema: JsonObject | boolean): JsonSchemaChecker {
  const spoken = findDialect(schema);
  refuseBroken(schema, spoken);
  const ajv = spoken.create(options);
  // Formats take longer to load than most schemas to compile. A reference could lead to the draft's own, which has some.
  if (/"(?:format|\$)/.test(JSON.stringify(schema))) addFormats(ajv);
  // Generated code that collects evaluated properties can throw, so only schemas that need it collect them.
  ajv.opts.unevaluated = JSON.stringify(schema).includes('"unevaluated');
  const steps = new CheckSteps();
  ajv.addKeyword({ keyword: stepKeyword, schema: false, errors: false, validate: () => steps.take() });
  refuseUnclearSchema(
    schema,
    new Set([...Object.keys(ajv.formats), ...uncheckedFormats]),
    spoken.isEvaluated,
  );
  const compile = (part: JsonObject | boolean): JsonSchemaChecker => compileWithAjv(ajv, part);
  const counted =
    (check: JsonSchemaChecker): JsonSchemaChecker =>
    (value) => {
      steps.start(value);
      return check(value);
    };
  if (!spoken.isEvaluated || !isJsonObject(schema)) return counted(compile(schema));
  try {
    if (!isMisjudged(schema)) return counted(compile(schema));
  } catch (error) {
    // Ajv nests calls for references that follow each other.
    if (!(error instanceof RangeError)) throw error;
  }
  const draft: JsonSchemaChecker = (value) =>
    compile({ $ref: 'https://json-schema.org/draft/2020-12/schema' })(value);
  const check = createEvaluator(schema, compile, draft, spoken.uri, steps);
  return counted((value) => check(value).slice(0, mostIssues));
}

function compileWithAjv(ajv: Core, schema: JsonObject | boolean): JsonSchemaChecker {
  const validate = ajv.compile(withSteps(withoutEmptyEnums(schema)));
  if ('$async' in validate) throw new Error('$async schemas are not supported.');
  return (value) => {
    if (validate(value)) return [];
    const errors = validate.errors ?? [];
    return errors.slice(0, mostIssues).map((error) => toIssue(error, value));
  };
}

/** Added next to each reference. Counts a step, and accepts every value. */
const stepKeyword = 'quittance-step';

/** A copy with the counting keyword next to each reference. The schema itself if it has no reference. */
function withSteps(schema: JsonObject | boolean): JsonObject | boolean {
  const mark = (part: JsonValue): JsonValue => {
    if (Array.isArray(part)) return (part as readonly JsonValue[]).map(mark);
    if (!isJsonObject(part)) return part;
    const marked = Object.entries(part).map(([key, inner]): [string, JsonValue] => {
      if (data.has(key)) return [key, inner];
      if (named.has(key) && isJsonObject(inner))
        return [key, Object.fromEntries(Object.entries(inner).map(([name, each]) => [name, mark(each)]))];
      return [key, mark(inner)];
    });
    const isReference = references.some((keyword) => typeof ownValue(part, keyword) === 'string');
    return Object.fromEntries(isReference ? [...marked, [stepKeyword, true]] : marked);
  };
  return /"\$(?:ref|dynamicRef|recursiveRef)":/.test(JSON.stringify(schema))
    ? (mark(schema) as JsonObject | boolean) // the same kind of value
    : schema;
}

const references = ['$ref', '$dynamicRef', '$recursiveRef'];

/** Every keyword that cannot be checked. `compileJsonSchema` throws the first one. */
export function* findUnclear(schema: JsonObject): Generator<UnclearKeyword> {
  const { create, isEvaluated } = findDialect(schema);
  const ajv = create(options);
  addFormats(ajv);
  yield* findUnclearKeywords(
    schema,
    new Set([...Object.keys(ajv.formats), ...uncheckedFormats]),
    isEvaluated,
  );
}

/** Throws unless the schema is valid in its dialect. */
export const judgeJsonSchema = (schema: JsonObject): void => refuseBroken(schema, findDialect(schema));

function findDialect(schema: JsonObject | boolean): Dialect {
  const uri = isJsonObject(schema) ? ownValue(schema, '$schema') : undefined;
  const found = dialects.find((each) => uri === undefined || (typeof uri === 'string' && each.uri.test(uri)));
  if (found !== undefined) return found;
  const known = dialects.map(({ name }) => name).join(', ');
  throw new UnclearKeyword(
    `$schema is ${cutText(JSON.stringify(uri), 100)}. Expected nothing or one of: ${known}.`,
    schema as JsonObject, // it has the keyword
    '$schema',
  );
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isNumber = (value: unknown): boolean => Number.isFinite(value);
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;
const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;
const areDifferent = (values: readonly unknown[]): boolean => new Set(values).size === values.length;
const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isText) && areDifferent(value);
const typeNames = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

type Judge = (value: JsonValue, depth: number) => boolean;
const areSchemas: Judge = (value, depth) =>
  Array.isArray(value) && value.length > 0 && value.every((each: JsonValue) => isPlainSchema(each, depth));
const areNamedSchemas: Judge = (value, depth) =>
  isJsonObject(value) && Object.values(value).every((each) => isPlainSchema(each, depth));

/** Keywords that mean the same in every supported draft, and the values that every draft allows. */
const plainKeywords = new Map<string, Judge>([
  ...['title', 'description', 'format', 'pattern', '$comment', '$ref'].map((key) => [key, isText] as const),
  ...['readOnly', 'writeOnly', 'uniqueItems', 'deprecated'].map((key) => [key, isFlag] as const),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((key) => [key, isNumber] as const),
  ...['Length', 'Items', 'Properties'].flatMap(
    (key) =>
      [
        [`min${key}`, isCount],
        [`max${key}`, isCount],
      ] as const,
  ),
  ...['const', 'default'].map((key) => [key, () => true] as const),
  [
    'enum',
    (value) => Array.isArray(value) && value.length > 0 && value.every(isScalar) && areDifferent(value),
  ],
  ['examples', Array.isArray],
  ...['items', 'additionalProperties', 'propertyNames', 'not'].map((key) => [key, isPlainSchema] as const),
  ...['properties', '$defs', 'definitions'].map((key) => [key, areNamedSchemas] as const),
  ...['anyOf', 'oneOf', 'allOf'].map((key) => [key, areSchemas] as const),
  ['required', areTexts],
  ['type', (value) => typeNames.has(value)],
]);

/**
 * True only if the schema is valid in every supported draft. Most tools have such a schema, and to compile the draft's
 * own schema takes most of the time of a first call. Any other schema is left to the draft.
 */
export function isPlainSchema(schema: JsonValue, depth = 0): boolean {
  if (typeof schema === 'boolean') return true;
  if (!isJsonObject(schema) || depth > 50) return false;
  return Object.entries(schema).every(([key, value]) => plainKeywords.get(key)?.(value, depth + 1) ?? false);
}

/** Checks the schema by the draft's own schema, and for parts that Ajv would ignore silently. */
function refuseBroken(schema: JsonObject | boolean, { name, judge }: Dialect): void {
  const { $schema: _, ...plain } = isJsonObject(schema) ? schema : {};
  const ajv = isPlainSchema(plain) ? undefined : judge();
  if (ajv !== undefined && ajv.validateSchema(plain) !== true) {
    const said = (ajv.errors ?? [])
      .slice(0, 3)
      .map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
    const message = `It is not valid JSON Schema ${name}: ${[...new Set(said)].join('; ')}.`;
    const [first] = ajv.errors ?? [];
    throw (first && unclearAt(schema, stepsOf(first, schema), message)) ?? new Error(message);
  }
  const rest: JsonValue[] = [schema];
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    if (typeof node !== 'object' || node === null) continue;
    const properties = ownValue(node, 'properties');
    if (isJsonObject(properties) && Object.hasOwn(properties, '__proto__')) {
      throw new Error('It declares a property named "__proto__", which cannot be checked.');
    }
    for (const inner of Object.values(node)) rest.push(inner);
  }
}

const stepsOf = (
  { instancePath }: Pick<ErrorObject, 'instancePath'>,
  root: unknown,
  ...more: unknown[]
): SchemaIssue['path'] => {
  const steps = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return toJsonPath([...steps, ...more], root);
};

/** The innermost keyword on the way to the problem. */
function unclearAt(
  schema: JsonObject | boolean,
  steps: SchemaIssue['path'],
  message: string,
): UnclearKeyword | undefined {
  for (let length = steps.length; length > 0; length--) {
    const node = valueAt(schema, steps.slice(0, length - 1));
    if (isJsonObject(node)) return new UnclearKeyword(message, node, String(steps[length - 1]));
  }
  return undefined;
}

function toIssue({ instancePath, keyword, params, message }: ErrorObject, root: unknown): SchemaIssue {
  const at = (...more: unknown[]): SchemaIssue['path'] => stepsOf({ instancePath }, root, ...more);
  const facts: { readonly [name: string]: unknown } = params;
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return { path: at(facts.missingProperty), message: 'is required' };
    case 'additionalProperties':
      return { path: at(facts.additionalProperty), message: 'is not a known property' };
    case 'unevaluatedProperties':
      return { path: at(facts.unevaluatedProperty), message: 'is not a known property' };
    case 'type': {
      const path = at();
      const wanted = [facts.type].flat().join(' or ');
      return { path, message: `must be ${wanted}, not ${jsonTypeOf(valueAt(root, path)) ?? 'that'}` };
    }
    case 'enum':
      return { path: at(), message: cutText(`must be one of ${JSON.stringify(facts.allowedValues)}`, 500) };
    case 'const':
      return { path: at(), message: cutText(`must be ${JSON.stringify(facts.allowedValue)}`, 500) };
    default:
      return { path: at(), message: cutText(message ?? `does not meet "${keyword}"`, 500) };
  }
}

/**
 * Zod schemas of built-in parts only. Such a schema runs no code of its author: it answers at once, does not change its
 * argument, and returns plain JSON for plain JSON. So it may run the fast way, and its argument needs no copy.
 *
 * A part that is not listed here is not plain.
 */

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

/**
 * The digest that tells whether a tool still has the same input and output.
 *
 * A default may be a function: `z.date().default(() => new Date())`. A validator then writes the current value into
 * the JSON Schema, so every process would have another digest. An approved call would wait forever for a process with
 * the same tool. So the digest includes that there is a default, but not its value. Nothing is lost by that: the
 * accepted value is recorded with its defaults, and people approve exactly that value.
 */

const digestSchema = (schema: JsonObject): string => digestJson(withoutDefaults(schema));

/** Keywords whose members are schemas under names that the author chooses. */
const named: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  'definitions',
  '$defs',
]);
/** Keywords whose values are data: a member named `default` is data too. */
const data: ReadonlySet<string> = new Set(['const', 'enum', 'examples', 'required']);

function withoutDefaults(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === 'default') return [key, true];
      if (data.has(key)) return [key, value];
      if (named.has(key) && isJsonObject(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, visit(each)]))];
      return [key, visit(value)];
    }),
  );
}

function visit(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(visit);
  return isJsonObject(value) ? withoutDefaults(value) : value;
}
