/**
 * JSON Schema, checked by Ajv: the only file that uses it.
 *
 * 1. Every schema gets its own instance, so that two schemas with the same `$id` do not conflict.
 * 2. Nothing is fetched: a reference out of the schema does not compile.
 * 3. Own properties decide: an inherited member does not satisfy `required: ["constructor"]`.
 */
import { Ajv, type ErrorObject, type Options } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { cutText } from '../base/cut-text.ts';
import { valueAt } from './json-edit.ts';
import { jsonTypeOf } from './json-type.ts';
import { ownValue } from './own-value.ts';
import {
  refuseUnclearSchema,
  uncheckedFormats,
  findUnclearKeywords,
  UnclearKeyword,
  withoutEmptyEnums,
} from './refuse-unclear-schema.ts';
import type { SchemaIssue } from './schema-issue.ts';
import { mostIssues, toJsonPath } from './schema-issue.ts';

/** Returns all issues of a value; none if it matches. May throw on values nested too deep. */
export type JsonSchemaChecker = (value: unknown) => readonly SchemaIssue[];

type Dialect = {
  readonly name: string;
  readonly uri: RegExp;
  readonly create: (options: Options) => Core;
  /**
   * Checks schemas by the draft's own schema. Compiled once, because that takes fifty times as long as a tool's
   * schema.
   */
  readonly judge: () => Core;
};

type Core = Ajv | Ajv2019 | Ajv2020;

/** The supported drafts; a schema without `$schema` is read as the first. */
const dialects: readonly Dialect[] = [
  dialect(
    'draft 2020-12',
    /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/,
    (given) => new Ajv2020(given),
  ),
  dialect(
    'draft 2019-09',
    /^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/,
    (given) => new Ajv2019(given),
  ),
  dialect('draft-07', /^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/, (given) => new Ajv(given)),
];

function dialect(name: string, uri: RegExp, create: (given: Options) => Core): Dialect {
  let judge: Core | undefined;
  return {
    name,
    uri,
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
  addFormats.default(ajv);
  refuseUnclearSchema(schema, new Set([...Object.keys(ajv.formats), ...uncheckedFormats]));
  const validate = ajv.compile(withoutEmptyEnums(schema));
  if ('$async' in validate) throw new Error('$async schemas are not supported.');
  return (value) => {
    if (validate(value)) return [];
    const errors = validate.errors ?? [];
    return errors.slice(0, mostIssues).map((error) => toIssue(error, value));
  };
}

/** Every keyword that cannot be checked. `compileJsonSchema` throws the first one. */
export function* findUnclear(schema: JsonObject): Generator<UnclearKeyword> {
  const { create } = findDialect(schema);
  const ajv = create(options);
  addFormats.default(ajv);
  yield* findUnclearKeywords(schema, new Set([...Object.keys(ajv.formats), ...uncheckedFormats]));
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

/** Checks the schema by the draft's own schema, and for parts that Ajv would ignore silently. */
function refuseBroken(schema: JsonObject | boolean, { name, judge }: Dialect): void {
  const ajv = judge();
  const { $schema: _, ...plain } = isJsonObject(schema) ? schema : {};
  if (ajv.validateSchema(plain) !== true) {
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
