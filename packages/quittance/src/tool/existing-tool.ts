/** Reads existing tools: plain functions, and the objects of other libraries. */
import { QuittanceError } from '../base/error.ts';
import { isJsonObject, ownValue } from '../base/json.ts';
import { describeValue } from './describe-value.ts';
import { quote } from '../base/nearest.ts';
import { toStandardSchema } from './standard-schema.ts';
import type { ToolContext } from './tool-context.ts';

/** Keys of the input schema in other libraries; the first present one counts. */
export const schemaKeys = ['inputSchema', 'parameters', 'schema', 'input_schema', 'input'] as const;

/** Keys of the body in other libraries; the first present one counts. */
export const bodyKeys = ['execute', 'run', 'handler', 'func', 'invoke', 'call'] as const;

/** Keys that require an approval. */
const approvalKeys = ['needsApproval', 'needs_approval', 'requireApproval'] as const;

/** A function with any parameters: its input is read from its type. */
export type AnyFunction = (...args: never) => unknown;

/** A tool of another library. */
export type ToolObject = {
  readonly [Key in (typeof bodyKeys)[number]]?: AnyFunction | undefined;
} & { readonly [Key in (typeof schemaKeys)[number]]?: unknown };

/** The type under the first present key. */
type FirstOf<Given, Keys extends readonly string[]> = Keys extends readonly [
  infer Key extends string,
  ...infer Rest extends readonly string[],
]
  ? Key extends keyof Given
    ? [NonNullable<Given[Key]>] extends [never]
      ? FirstOf<Given, Rest>
      : NonNullable<Given[Key]>
    : FirstOf<Given, Rest>
  : undefined;

/** The type of a tool's body: the function itself, or the one in the object. */
export type BodyOf<Given> = Given extends AnyFunction ? Given : FirstOf<Given, typeof bodyKeys>;

/** The type of a tool's input schema; undefined if it has none. */
export type SchemaOf<Given> = Given extends AnyFunction ? undefined : FirstOf<Given, typeof schemaKeys>;

/** The readable parts of an existing tool. */
export type ExistingTool = {
  readonly description: string | undefined;
  readonly input: unknown;
  readonly output: unknown;
  /** True if it requires an approval, which only a mode can express here. */
  readonly wantsApproval: boolean;
  readonly run: (args: unknown, context: ToolContext) => unknown;
};

/** Reads a tool, or throws `config.invalid` saying what is missing. Functions are called on `self`. */
export function readExistingTool(name: string, given: unknown, self: unknown): ExistingTool {
  if (typeof given === 'function') return readFunction(name, given, self);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refuse(
      name,
      `is ${describeValue(given)}. Expected a function, or an object with one of ${bodyKeys.join(', ')}.`,
    );
  }
  const held = given as { readonly [key: string]: unknown };
  const bodyKey = bodyKeys.find((key) => typeof held[key] === 'function');
  if (bodyKey === undefined) {
    throw refuse(name, `has no body. Expected a function under one of ${bodyKeys.join(', ')}.`);
  }
  if (bodyKey === 'invoke' && held['type'] === 'function') {
    throw refuse(name, 'takes a run context before its input. Govern the original function instead.');
  }
  const schemaKey = schemaKeys.find((key) => held[key] !== undefined && held[key] !== null);
  return {
    description: typeof held['description'] === 'string' ? held['description'] : undefined,
    input: schemaKey === undefined ? undefined : unwrapSchema(held[schemaKey]),
    output: unwrapSchema(held['outputSchema']),
    wantsApproval: approvalKeys.some((key) => Boolean(held[key])),
    run: callable(held[bodyKey], given),
  };
}

function readFunction(name: string, given: object, self: unknown): ExistingTool {
  const count = ownValue(given, 'length');
  if (typeof count === 'number' && count > 2) {
    throw refuse(
      name,
      `is a function of ${count} parameters. Expected one that takes an object and optionally the ` +
        `context: wrap it, as in ({ a, b, c }) => ${/^[A-Za-z_$][\w$]*$/.test(name) ? name : 'tool'}(a, ` +
        'b, c).',
    );
  }
  return {
    description: undefined,
    input: undefined,
    output: undefined,
    wantsApproval: false,
    run: callable(given, self),
  };
}

/** Calls a value known to be a function, on its owner. */
const callable =
  (body: unknown, self: unknown): ExistingTool['run'] =>
  (args, context) =>
    // The callers of this function checked it; only the type is missing.
    Reflect.apply(body as AnyFunction, self, [args, context]);

/** Some libraries wrap a JSON Schema in their own object, under `jsonSchema`. */
function unwrapSchema(schema: unknown): unknown {
  if (toStandardSchema(schema) !== undefined || !isJsonObject(schema)) return schema ?? undefined;
  const { jsonSchema, type } = schema;
  return type === undefined && isJsonObject(jsonSchema) ? jsonSchema : schema;
}

const refuse = (tool: string, problem: string): QuittanceError =>
  new QuittanceError('config.invalid', `The tool ${quote(tool)} ${problem}`, { tool });
