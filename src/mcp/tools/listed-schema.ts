/**
 * Schemas that servers list. Some keywords let a check take hours, e.g. a pattern with nested repetition. The server
 * chooses the schema, and often the value too. So such a check has a limit of time.
 */
import type { Context } from 'node:vm';
import { setImmediate as afterOtherWork } from 'node:timers/promises';
import { createContext, Script } from 'node:vm';
import { QuittanceError } from '../../base/error.ts';
import type { Awaitable, JsonObject } from '../../base/json.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { readForeignSchema } from '../../tool/foreign-schema.ts';
import type { CompiledSchema, SchemaCheck, SchemaLocation } from '../../tool/schema.ts';
import { compileSchema } from '../../tool/schema.ts';
import { quote } from '../../base/nearest.ts';

/** A check may keep the event loop this long. */
const mostMs = 50;
/** Below this, a check takes a few milliseconds: values in the schema times values in what is checked. */
const quickSteps = 200_000;
/** A machine under load may stop this process for longer than the limit. */
const mostTries = 3;

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
