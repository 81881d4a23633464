/**
 * JSON for programs. `--json` prints the fields that the HTTP server sends for the same thing, under the same names. Only
 * times differ: they are UTC text.
 */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { utcTimeText } from './time-text.ts';

/** The fields of plain data, without undefined ones. */
export const withoutUndefined = (fields: object): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, JsonValue] => field[1] !== undefined),
  );

/** The fields of plain data. The named ones are times, which become UTC text. */
export const toJsonWithTimes = <Value extends object>(
  value: Value,
  ...times: readonly (keyof Value)[]
): JsonObject =>
  withoutUndefined({
    ...value,
    ...Object.fromEntries(times.map((name) => [name, toTimeText(value[name])] as const)),
  });

const toTimeText = (at: unknown): string | undefined =>
  typeof at === 'number' ? utcTimeText(at) : undefined;
