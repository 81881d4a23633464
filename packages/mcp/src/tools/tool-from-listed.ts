/** A tool of an MCP server as a tool of a runtime: the runtime checks, records and settles each call of it. */
import { isJsonObject, ownValue } from 'quittance/internal/base/json';
import type { JsonObject, Awaitable } from 'quittance/internal/base/json';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { buildTool } from 'quittance/internal/tool/define-tool';
import type { ToolMode } from 'quittance/internal/tool/mode';
import type { SchemaCheck, CompiledSchema, SchemaLocation } from 'quittance/internal/tool/schema';
import type { StandardSchema } from 'quittance/internal/tool/standard-schema';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { ToolTraits } from 'quittance/internal/tool/tool-spec';
import { toCallError } from './call-error.ts';
import type { ListedTool } from '@quittance/server/internal/mcp-reviews/listed-tool';
import { inputSchemaOf } from '@quittance/server/internal/mcp-reviews/listed-tool';
import type { ResultShape } from './read-call-tool-result.ts';
import { readCallToolResult } from './read-call-tool-result.ts';
import type { Context } from 'node:vm';
import { setImmediate as afterOtherWork } from 'node:timers/promises';
import { createContext, Script } from 'node:vm';
import { QuittanceError } from 'quittance/internal/base/error';
import { describeThrown } from 'quittance/internal/tool/describe-thrown';
import { readForeignSchema } from 'quittance/internal/tool/foreign-schema';
import { compileSchema } from 'quittance/internal/tool/schema';
import { quote } from 'quittance/internal/base/nearest';

/** Sends `tools/call` and returns the result. It may throw any error of an SDK: see `toCallError`. */
export type CallUpstream = (
  call: { readonly name: string; readonly arguments: JsonObject },
  context: ToolContext,
) => Promise<unknown>;

export type ListedToolOptions = {
  /** The name here. Calls to the server use the listed name. */
  readonly name: string;
  /** Of the server, for messages. Default: its tool's name. */
  readonly server?: string;
  readonly mode?: ToolMode | undefined;
  readonly callTool: CallUpstream;
  readonly idempotent?: boolean | undefined;
  /** The argument that identifies a call: two calls with the same value are one effect. */
  readonly idempotencyKey?: string | undefined;
  readonly shape?: ResultShape;
  /** Longer text is stored as an artifact, in characters of JSON. */
  readonly textLimit?: number;
  /** Other settings of the host. They win. */
  readonly traits?: ToolTraits<unknown>;
};

/** Suited to servers that read files. Plain tools have 12,000. */
const mcpTextLimit = 100_000;

/** Throws `config.invalid` if a schema of the tool cannot be compiled. */
export function toolFromListed(listed: ListedTool, options: ListedToolOptions): AnyTool {
  const { name, callTool, mode, idempotent, idempotencyKey: keyArgument } = options;
  const { shape = 'result', textLimit = mcpTextLimit, server = name, traits = {} } = options;
  const outputSchema = outputSchemaOf(listed, name, shape);
  const tool: AnyTool = buildTool({
    description: textOf(listed.description),
    displayName: titleOf(listed) ?? name,
    inlineLimit: textLimit,
    // The result says itself whether it is an error, and is read that way below.
    successCheck: () => true,
    ...(mode !== undefined && { mode }),
    ...(idempotent !== undefined && { idempotent }),
    ...(keyArgument !== undefined && { idempotencyKey: (args: unknown) => keyFrom(args, keyArgument) }),
    ...definedOnly(traits),
    name,
    input: toInput(readListedSchema(inputSchemaOf(listed), { what: 'input', tool: name })),
    ...(outputSchema !== undefined && { output: outputSchema }),
    async run(args, context) {
      let result: unknown;
      try {
        const given = isJsonObject(args) ? args : {}; // the schema admits only objects
        result = await callTool({ name: listed.name, arguments: given }, context);
      } catch (thrown) {
        throw toCallError(thrown, { server, mayRerun: tool.mayRerun || tool.mode === 'read' });
      }
      return readCallToolResult(result, { shape, textLimit, attach: context.attach });
    },
  });
  return tool;
}

/** A call without the argument, or with an empty one, has no key and is refused. */
function keyFrom(args: unknown, argument: string): string {
  const value = isJsonObject(args) ? ownValue(args, argument) : undefined;
  if ((typeof value === 'string' && value !== '') || typeof value === 'number') return String(value);
  throw new TypeError(`The argument "${argument}" identifies the call and is missing.`);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function titleOf({ title, annotations }: ListedTool): string | undefined {
  const annotated = isJsonObject(annotations) ? ownValue(annotations, 'title') : undefined;
  const found = [title, annotated].find((each) => typeof each === 'string' && each.trim() !== '');
  return textOf(found);
}

const definedOnly = <Given extends object>(given: Given): Partial<Given> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<Given>;

// fewer keys

/** A plain JSON Schema unless its check needs a limit of time. */
const toInput = ({ schema, isSlow, check }: ListedSchema): JsonObject | StandardSchema =>
  isSlow ? toStandard(schema, async (value) => toStandardResult(await check(value), value)) : schema;

/** The listed schema, about the structured content wherever the output has it. */
function outputSchemaOf(listed: ListedTool, tool: string, shape: ResultShape): unknown {
  const { outputSchema } = listed;
  if (!isJsonObject(outputSchema)) return undefined;
  const read = readListedSchema(outputSchema, { what: 'output', tool });
  if (shape === 'value') return toInput(read);
  return toStandard(outputSchema, (output) => checkStructured(read, output));
}

type StandardResult =
  | { readonly value: unknown }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly PropertyKey[] }[] };

const toStandard = (
  schema: JsonObject,
  validate: (value: unknown) => Promise<StandardResult>,
): StandardSchema =>
  ({
    '~standard': {
      version: 1,
      vendor: 'mcp',
      validate,
      jsonSchema: { input: () => schema, output: () => schema },
    },
  }) as StandardSchema;

const toStandardResult = (
  checked: SchemaCheck,
  value: unknown,
  under: readonly string[] = [],
): StandardResult =>
  checked.ok
    ? { value }
    : { issues: checked.issues.map(({ message, path }) => ({ message, path: [...under, ...path] })) };

async function checkStructured(schema: ListedSchema, output: unknown): Promise<StandardResult> {
  const structured = isJsonObject(output) ? ownValue(output, 'structuredContent') : undefined;
  if (structured === undefined)
    return { issues: [{ message: 'the structured content is missing', path: ['structuredContent'] }] };
  return toStandardResult(await schema.check(structured), output, ['structuredContent']);
}

/**
 * Schemas that servers list. Some keywords let a check take hours, e.g. a pattern with nested repetition. The server
 * chooses the schema, and often the value too. So such a check has a limit of time.
 */

/** A check may keep the event loop this long. */
const mostMs = 50;
/** Below this, a check takes a few milliseconds: values in the schema times values in what is checked. */
const quickSteps = 200_000;
/** A machine under load may stop this process for longer than the limit. */
const mostTries = 3;

type ListedSchema = {
  /** The part of the listed schema that is checked. */
  readonly schema: JsonObject;
  readonly isSlow: boolean;
  readonly check: (value: unknown) => Awaitable<SchemaCheck>;
};

/** Throws `config.invalid` if the schema cannot be compiled. `timeoutMs` is for a check that could take very long. */
export function readListedSchema(
  listed: JsonObject,
  place: SchemaLocation,
  timeoutMs: number = mostMs,
): ListedSchema {
  const { schema, isSlow, size } = readForeign(listed, place);
  const compiled = compileSchema(schema, place);
  const check = (value: unknown): Awaitable<SchemaCheck> =>
    !isSlow && isSmall(value, quickSteps / size)
      ? compiled.check(value)
      : checkInTime(compiled, value, timeoutMs);
  return { schema, isSlow, check };
}

function readForeign(
  listed: JsonObject,
  { what, tool }: SchemaLocation,
): ReturnType<typeof readForeignSchema> {
  try {
    return readForeignSchema(listed);
  } catch (cause) {
    throw new QuittanceError(
      'config.invalid',
      `The ${what} schema of the tool ${quote(tool)} does not compile. ${describeThrown(cause)}`,
      { tool, field: what },
      cause,
    );
  }
}

/** JSON Schemas are checked synchronously, so the limit covers the whole check. Other work is done between the tries. */
function checkInTime(schema: CompiledSchema, value: unknown, timeout: number): Awaitable<SchemaCheck> {
  return tryInTime(schema, value, timeout) ?? tryAgain(schema, value, timeout);
}

async function tryAgain(schema: CompiledSchema, value: unknown, timeout: number): Promise<SchemaCheck> {
  for (let round = 1; round < mostTries; round++) {
    await afterOtherWork();
    const checked = tryInTime(schema, value, timeout);
    if (checked !== undefined) return checked;
  }
  return { ok: false, issues: [{ path: [], message: 'could not be checked in time' }] };
}

/** Undefined if the time was not enough. */
function tryInTime(
  schema: CompiledSchema,
  value: unknown,
  timeout: number,
): Awaitable<SchemaCheck> | undefined {
  try {
    return runInTime(() => schema.check(value), timeout);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return undefined;
  }
}

/** Has the value at most this many parts? Long texts count as several. */
function isSmall(value: unknown, most: number): boolean {
  const open: unknown[] = [value];
  let found = 0;
  for (let at = open.pop(); open.length > 0 || at !== undefined; at = open.pop()) {
    found += typeof at === 'string' ? 1 + at.length / 1_000 : 1;
    if (found > most) return false;
    if (typeof at === 'object' && at !== null) {
      const parts: readonly unknown[] = Array.isArray(at) ? at : Object.values(at);
      if (found + parts.length > most) return false;
      open.push(...parts);
    }
  }
  return true;
}

const runInTime = createTimeLimit();

/** Node stops only scripts after a time. The script runs our own function. One context serves all: it keeps nothing. */
function createTimeLimit(): <Result>(work: () => Result, timeout: number) => Result {
  const script = new Script('work()');
  let context: Context | undefined;
  return (work, timeout) => {
    context ??= createContext({});
    context['work'] = work;
    try {
      return script.runInContext(context, { timeout }) as ReturnType<typeof work>;
    } finally {
      context['work'] = undefined;
    }
  };
}
