/** Standard Schema, the common interface of validators: the only file that calls through it. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Awaitable, JsonObject, JsonPath } from '../base/json.ts';
import { formatPath, isJsonObject, toJson } from '../base/json.ts';
import { cutText } from '../base/cut-text.ts';
import { describeThrown } from './describe-thrown.ts';
import { describeValue } from './describe-value.ts';
import type { SchemaCheck, SchemaIssue } from './schema-issue.ts';
import { issueAtRoot, mostIssues, toJsonPath } from './schema-issue.ts';
import { isPromiseLike, whenReady } from '../base/deadlines.ts';
import { zod3ToJsonSchema } from './zod3-json-schema.ts';
import { isZod3 } from './zod3-def.ts';

/** A schema of any validator that implements Standard Schema. */
export type StandardSchema = StandardSchemaV1;

/** The input type. */
export type StandardInput<Schema extends StandardSchema> = StandardSchemaV1.InferInput<Schema>;

/** The output type. */
export type StandardOutput<Schema extends StandardSchema> = StandardSchemaV1.InferOutput<Schema>;

/** True for a Standard Schema; some validators make schemas that are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard: unknown = '~standard' in value ? value['~standard'] : undefined;
  return isJsonObject(standard) && 'validate' in standard && typeof standard['validate'] === 'function';
}

/** The schema as a Standard Schema. Zod 3 implements it only since 3.24; earlier schemas are wrapped. */
export function toStandardSchema(value: unknown): StandardSchema | undefined {
  if (isStandardSchema(value)) return value;
  if (!isZod3(value)) return undefined;
  return {
    '~standard': {
      version: 1,
      vendor: 'zod',
      validate: (given: unknown) => parseLater(value as ParsesLater, given) as never, // read by readResult
      jsonSchema: {
        input: () => zod3ToJsonSchema(value, 'input'),
        output: () => zod3ToJsonSchema(value, 'output'),
      },
    },
  } as StandardSchema;
}

/** Asks the validator. The answer is always a check: throwing or an invalid answer is an issue. */
export function checkStandard(schema: StandardSchema, value: unknown): Awaitable<SchemaCheck> {
  try {
    const ran = runZod(schema, value);
    if (ran === undefined)
      return readLater(
        isZod(schema) ? parseLater(schema, value) : schema['~standard'].validate(value),
        value,
      );
    return isPromiseLike(ran)
      ? ran.then((result) => readZod(schema, value, result as ZodRun, ran), threw)
      : readZod(schema, value, ran, ran);
  } catch (cause) {
    return threw(cause);
  }
}

const threw = (cause: unknown): SchemaCheck => failed(`The schema itself threw: ${describeThrown(cause)}`);

/** The schema could not check the value. */
const failed = (mistake: string): SchemaCheck => ({ ok: false, issues: [issueAtRoot(mistake)], mistake });

const readLater = (answer: Awaitable<unknown>, value: unknown): Awaitable<SchemaCheck> =>
  whenReady(answer, (result: unknown) => readResult(result, value), threw);

const readZod = (
  schema: StandardSchema,
  value: unknown,
  result: ZodRun,
  ran: Awaitable<ZodRun>,
): Awaitable<SchemaCheck> =>
  result.issues.length === 0
    ? { ok: true, value: result.value }
    : readLater(explain(schema, value, ran), value);

type ZodRun = { readonly value: unknown; readonly issues: readonly unknown[] };

/** Asks a schema of built-in parts: see `isPlainZod`. */
export function checkPlainZod(schema: StandardSchema, value: unknown): Awaitable<SchemaCheck> {
  const { _zod: core } = schema as unknown as { _zod: { run: (...args: unknown[]) => ZodRun } };
  try {
    const ran = core.run({ value, issues: [] }, { async: false }); // the way zod 4 runs schemas
    if (ran.issues.length === 0) return { ok: true, value: ran.value };
  } catch {
    // An output may be an object that throws when it is read. The other way says so.
  }
  return checkStandard(schema, value);
}

/**
 * Zod runs a schema synchronously first and drops the promises it meets on the way. If one of them rejected, the
 * unhandled rejection would end the process. So its schemas run as asynchronous ones from the start; synchronous
 * schemas still answer synchronously.
 */
function runZod(schema: StandardSchema, value: unknown): Awaitable<ZodRun> | undefined {
  const { _zod: core } = schema as { _zod?: { run?: unknown } };
  if (typeof core?.run !== 'function') return undefined;
  return core.run({ value, issues: [] }, { async: true }) as Awaitable<ZodRun>; // the way zod 4 runs schemas
}

/** Zod writes its messages only for another way of calling it. */
function explain(schema: StandardSchema, value: unknown, ran: Awaitable<ZodRun>): Awaitable<unknown> {
  return isPromiseLike(ran) && canParseLater(schema)
    ? parseLater(schema, value)
    : schema['~standard'].validate(value);
}

type ParsesLater = { readonly safeParseAsync: (value: unknown) => PromiseLike<ZodParsed> };
type ZodParsed = { readonly data?: unknown; readonly error?: { readonly issues?: unknown } };

const canParseLater = (schema: object): schema is ParsesLater =>
  'safeParseAsync' in schema && typeof schema.safeParseAsync === 'function';

/** Zod 3 drops promises too, and its schemas can only be run asynchronously, all of them. */
const isZod = (schema: StandardSchema): schema is StandardSchema & ParsesLater =>
  schema['~standard'].vendor === 'zod' && canParseLater(schema);

const parseLater = (schema: ParsesLater, value: unknown): Awaitable<unknown> =>
  whenReady(schema.safeParseAsync(value), ({ error, data }) =>
    error === undefined ? { value: data } : { issues: error.issues },
  );

/** The schema as JSON Schema 2020-12, if its validator can express it; undefined otherwise. */
export function standardToJsonSchema(
  schema: StandardSchema,
  what: 'input' | 'output',
): JsonObject | undefined {
  const target = 'draft-2020-12';
  const { jsonSchema } = schema['~standard'] as { jsonSchema?: Record<string, unknown> };
  const { toJSONSchema } = schema as { toJSONSchema?: unknown };
  // Leaving out a part that JSON Schema cannot express, such as a date, is better than leaving out the whole.
  const lenient = { unrepresentable: 'any' };
  return (
    ask(jsonSchema, jsonSchema?.[what], { target }) ??
    ask(jsonSchema, jsonSchema?.[what], { target, libraryOptions: lenient }) ??
    ask(schema, toJSONSchema, { target, io: what, ...lenient }) ??
    (isZod3(schema) ? zod3ToJsonSchema(schema, what) : undefined)
  );
}

function ask(self: unknown, method: unknown, options: object): JsonObject | undefined {
  if (typeof method !== 'function') return undefined;
  try {
    const answer = toJson(method.call(self, options));
    return answer.ok && isJsonObject(answer.value) ? answer.value : undefined;
  } catch {
    // The interface allows it to throw if it cannot.
    return undefined;
  }
}

function readResult(result: unknown, value: unknown): SchemaCheck {
  if ((typeof result !== 'object' && typeof result !== 'function') || result === null)
    return nonsense(result);
  const { issues } = result as { issues?: unknown };
  if (!issues) return 'value' in result ? { ok: true, value: result.value } : nonsense(result);
  if (!Array.isArray(issues)) return nonsense(result);
  const found = issues.slice(0, mostIssues).map((issue: unknown) => readIssue(issue, value));
  return refused(found.length > 0 ? found : [issueAtRoot('The schema rejected the value without a reason.')]);
}

function readIssue(issue: unknown, value: unknown): SchemaIssue {
  const { message, path } = (issue ?? {}) as { message?: unknown; path?: unknown };
  const steps = typeof path === 'object' && path !== null && Symbol.iterator in path ? path : [];
  const place = toJsonPath(steps as Iterable<unknown>, value);
  const said = typeof message === 'string' && message !== '' ? message : 'is not valid';
  const whole = typeof issue === 'object' && issue !== null ? withBranches(said, issue, place) : said;
  return { path: place, message: cutText(whole, 500) };
}

const nonsense = (result: unknown): SchemaCheck =>
  failed(`The schema answered with ${describeValue(result)}. Expected {value} or {issues}.`);

const refused = (issues: readonly SchemaIssue[]): SchemaCheck => ({ ok: false, issues });

/** A model needs a few examples, not all branches. */
const mostBranches = 5;

type BranchIssue = { readonly message?: unknown; readonly path?: unknown };

/**
 * The message of an issue at this path, with the reasons of the branches. A validator reports one issue for a union,
 * often with a message such as "Invalid input". The branches are inside it: zod has `errors` or `unionErrors`, others
 * have `issues`.
 */
function withBranches(message: string, issue: object, path: JsonPath): string {
  const { errors, unionErrors, issues } = issue as Readonly<Record<string, unknown>>;
  const branches = [errors, unionErrors, issues].find((list) => Array.isArray(list)) ?? [];
  const reasons = (branches as readonly unknown[]).flatMap((branch): readonly string[] => {
    const { message: reason, path: place } = firstIssue(branch);
    if (typeof reason !== 'string' || reason === '') return [];
    const steps = Array.isArray(place) ? toJsonPath(place, undefined) : [];
    // Zod 3 reports whole paths, the others report paths within the union.
    const inside = Array.isArray(unionErrors) ? steps.slice(path.length) : steps;
    const said = reason.startsWith(`${message}: `) ? reason.slice(message.length + 2) : reason;
    if (inside.length > 0) return [`${formatPath([...path, ...inside])}: ${said}`];
    return namesTypes.test(message) ? [] : [said];
  });
  const shown = [...new Set(reasons)];
  if (shown.length === 0) return message;
  const more = shown.length > mostBranches ? '; or …' : '';
  return `${message} (${shown.slice(0, mostBranches).join('; or ')}${more})`;
}

/** Some validators list the types of all branches in the message itself. */
const namesTypes = /expected/i;

/** A branch is a list of issues, an error with such a list, or one issue. */
function firstIssue(branch: unknown): BranchIssue {
  const inError = (branch as { readonly issues?: unknown } | null)?.issues;
  const list: readonly unknown[] = Array.isArray(branch)
    ? branch
    : Array.isArray(inError)
      ? inError
      : [branch];
  return list[0] ?? {};
}
