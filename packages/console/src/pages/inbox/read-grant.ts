/** Converts the grant form into a request. */
import { formatPath, isJsonObject, parseJson } from 'quittance/internal/base/json';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { NewGrant } from '@quittance/server/internal/http/api/confirmation';
import { limits } from 'quittance/internal/call/limits';

export type TypedGrant = {
  readonly sessionId: string;
  readonly toolName: string;
  readonly where: string;
  /** One of `durations`. */
  readonly forMs: number | undefined;
  readonly uses: string;
  readonly reason: string;
};

/** `15 minutes`, `1 hour`, `7 days`. */
export function spanLabel(ms: number): string {
  const [count, unit] =
    ms < 3_600_000
      ? [ms / 60_000, 'minute']
      : ms < 86_400_000
        ? [ms / 3_600_000, 'hour']
        : [ms / 86_400_000, 'day'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

export const durations: readonly { readonly label: string; readonly forMs: number | undefined }[] = [
  ...limits.grant.offered.map((forMs) => ({ label: spanLabel(forMs), forMs })),
  { label: 'for the whole session', forMs: undefined },
];

export type GrantReading =
  | { readonly ok: true; readonly grant: NewGrant }
  | { readonly ok: false; readonly field: keyof TypedGrant; readonly problem: string };

export function readGrant({ sessionId, toolName, where, forMs, uses, reason }: TypedGrant): GrantReading {
  if (sessionId.trim() === '')
    return { ok: false, field: 'sessionId', problem: 'Enter a session. A grant applies to one session.' };
  if (toolName.trim() === '')
    return {
      ok: false,
      field: 'toolName',
      problem: 'Enter a tool name, or a pattern such as "get_*".',
    };
  if (uses.trim() !== '' && !/^[1-9]\d{0,8}$/.test(uses.trim()))
    return {
      ok: false,
      field: 'uses',
      problem: 'Enter a whole number from 1, or leave the field empty for no limit.',
    };
  const condition = readWhere(where);
  if (typeof condition === 'string') return { ok: false, field: 'where', problem: condition };
  return {
    ok: true,
    grant: {
      sessionId,
      toolName: toolName.trim(),
      ...(condition !== undefined && { where: condition }),
      ...(forMs !== undefined && { forMs }),
      ...(uses.trim() !== '' && { uses: Number(uses.trim()) }),
      ...(reason.trim() !== '' && { reason: reason.trim() }),
    },
  };
}

/** Returns the condition, undefined for empty text, or an error message. */
function readWhere(text: string): JsonObject | string | undefined {
  if (text.trim() === '') return undefined;
  const reading = parseJson(text);
  if (!reading.ok)
    return reading.path.length === 0
      ? `Invalid JSON: ${reading.problem}`
      : `${formatPath(reading.path)}: ${reading.problem}`;
  return isJsonObject(reading.value)
    ? reading.value
    : 'A condition must be an object: {"args.cents": {"lte": 5000}}.';
}

/**
 * A condition that matches calls with exactly these scalar arguments. It omits lists and objects, names that a selector
 * cannot express, and hidden values, which are shown as a mask.
 */
export function sameArguments(input: JsonValue | undefined, hidden: readonly string[] = []): string {
  if (!isJsonObject(input)) return '';
  const entries = Object.entries(input).filter(
    ([name, value]) =>
      /^[A-Za-z_]\w*$/.test(name) &&
      value !== null &&
      typeof value !== 'object' &&
      !hidden.includes(formatPath([name])),
  );
  // An expression holds one condition; `all` combines several.
  const all = entries.map(([name, value]) => ({ [`args.${name}`]: { equals: value } }));
  const [only] = all;
  if (only === undefined) return '';
  return JSON.stringify(all.length === 1 ? only : { all }, null, 2);
}
