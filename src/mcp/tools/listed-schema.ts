/**
 * Schemas that servers list. Some keywords let a check take hours, e.g. a pattern with nested repetition. The server
 * chooses the schema, and often the value too. So such a check has a limit of time.
 */
import type { Context } from 'node:vm';
import { createContext, Script } from 'node:vm';
import { QuittanceError } from '../../base/error.ts';
import type { Awaitable, JsonObject } from '../../base/json.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { readForeignSchema } from '../../tool/foreign-schema.ts';
import type { CompiledSchema, SchemaCheck, SchemaLocation } from '../../tool/schema.ts';
import { compileSchema } from '../../tool/schema.ts';
import { quote } from '../../base/nearest.ts';

/** A check that a server cannot use to stop this process. */
const mostMs = 2_000;

export type ListedSchema = {
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
  const { schema, isSlow } = readForeign(listed, place);
  const compiled = compileSchema(schema, place);
  const check = (value: unknown): Awaitable<SchemaCheck> =>
    isSlow ? checkInTime(compiled, value, timeoutMs) : compiled.check(value);
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

/** JSON Schemas are checked synchronously, so the limit covers the whole check. */
function checkInTime(schema: CompiledSchema, value: unknown, timeout: number): Awaitable<SchemaCheck> {
  try {
    return runInTime(() => schema.check(value), timeout);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return { ok: false, issues: [{ path: [], message: 'could not be checked in time' }] };
  }
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
