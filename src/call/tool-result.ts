/**
 * What a tool reports about itself and the turn. The type is open: unknown fields are kept.
 *
 * Only a result that the tool itself made may end a turn. It is marked with a symbol, which JSON cannot
 * carry. A value from a model or a remote service that merely looks like a result never has the mark.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { formatPath, isJsonObject, toJson } from '../base/json.ts';
import { describeFound } from './describe-found.ts';

export type ToolResult = {
  /** Did the tool do what was requested? */
  readonly success: boolean;
  /** The turn ends with this result. */
  readonly terminal?: boolean;
  /** Requests another round of the model, even after a failure. */
  readonly needsFollowup?: boolean;
  /** A hint for machines about the next step. */
  readonly nextAction?: string;
  /** Text for the user. */
  readonly message?: string;
  /** Text for debugging. */
  readonly error?: string;
  readonly data?: JsonObject;
  readonly [unknown: string]: JsonValue | undefined;
};

const brand: unique symbol = Symbol.for('quittance.tool-result');

const knownFields: { readonly [field: string]: 'boolean' | 'string' | 'object' } = {
  success: 'boolean',
  terminal: 'boolean',
  needsFollowup: 'boolean',
  nextAction: 'string',
  message: 'string',
  error: 'string',
  data: 'object',
};

/**
 * Creates the result that a body returns to control the turn. It is a copy: later changes of `fields` have no
 * effect. Call it last: a spread of the result is a plain object without the mark.
 */
export function toolResult(fields: ToolResult): ToolResult {
  const result = parseToolResult(fields);
  Object.defineProperty(result, brand, { value: true });
  return result;
}

/**
 * True for a result of `toolResult`, including one from another copy of this package. Never true for parsed
 * JSON.
 */
export function isToolMadeResult(value: unknown): value is ToolResult {
  return ownOf(value, brand) === true && typeof ownOf(value, 'success') === 'boolean';
}

/** Copies a value as a result, without the mark. Refuses known fields of a wrong type; keeps unknown ones. */
export function parseToolResult(value: unknown): ToolResult {
  const copy = toJson(value);
  if (!copy.ok)
    throw new TypeError(`A tool result must be JSON; at ${formatPath(copy.path)}: ${copy.problem}.`);
  if (!isJsonObject(copy.value))
    throw new TypeError(
      `A tool result must be an object with a boolean "success", found ${describeFound(value)}.`,
    );
  if (!isToolResult(copy.value)) throw new TypeError(describeWrongField(copy.value));
  return copy.value;
}

/**
 * The completion rule: a result is terminal if it says so, or if it failed and requests no follow-up. Strict
 * about types, own properties only, false for anything else. Never throws.
 */
export function isTerminalResult(result: unknown): boolean {
  return (
    ownOf(result, 'terminal') === true ||
    (ownOf(result, 'success') === false && ownOf(result, 'needsFollowup') !== true)
  );
}

const isToolResult = (value: JsonObject): value is JsonObject & ToolResult =>
  Object.hasOwn(value, 'success') && Object.entries(value).every(([field, held]) => fits(field, held));

function fits(field: string, held: JsonValue): boolean {
  if (!Object.hasOwn(knownFields, field)) return true;
  const expected = knownFields[field];
  return expected === 'object' ? isJsonObject(held) : typeof held === expected;
}

function describeWrongField(value: JsonObject): string {
  const [field, held] = Object.entries(value).find(([name, inside]) => !fits(name, inside)) ?? [
    'success',
    undefined,
  ];
  return `"${field}" of a tool result must be ${knownFields[field] === 'object' ? 'an object' : `a ${knownFields[field]}`}, found ${describeFound(held)}.`;
}

/** An own property of any value, or undefined. Also undefined if reading it throws. */
function ownOf(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    // The key was just found on the object itself.
    return Object.hasOwn(value, key) ? (value as { readonly [key: PropertyKey]: unknown })[key] : undefined;
  } catch {
    return undefined;
  }
}
