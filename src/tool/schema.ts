import { digestJson } from '../base/canonical.ts';
import { QuittanceError } from '../base/error.ts';
import type { Awaitable, JsonObject } from '../base/json.ts';
import { formatPath, freezeJson, isJsonObject, toJson } from '../base/json.ts';
import { allowedTypes, everyType } from './allowed-types.ts';
import { describeThrown } from './describe-thrown.ts';
import { describeValue } from './describe-value.ts';
import type { JsonSchemaChecker } from './json-schema.ts';
import { compileJsonSchema } from './json-schema.ts';
import { quote } from '../base/nearest.ts';
import { isPlainZod } from './plain-zod.ts';
import { digestSchema } from './schema-digest.ts';
import type { SchemaCheck } from './schema-issue.ts';
import { issueAtRoot } from './schema-issue.ts';
import type { StandardInput, StandardOutput, StandardSchema } from './standard-schema.ts';
import { checkPlainZod, checkStandard, standardToJsonSchema, toStandardSchema } from './standard-schema.ts';

export type { SchemaCheck, SchemaIssue } from './schema-issue.ts';

/** A JSON Schema as written: draft 2020-12, or the draft in its `$schema`. */
export type JsonSchema = JsonObject | boolean;

declare const carried: unique symbol;

/** A JSON Schema that carries its type; made by `jsonSchema`. */
export type JsonSchemaOf<Value> = JsonObject & { readonly [carried]: Value };

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
    throw refuse(place, `does not compile. ${describeThrown(cause)}`, cause);
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
