/**
 * What a tool reports about itself and the turn. The type is open: fields this version does not know are kept
 * as they came.
 *
 * Only a result the tool itself made may end a turn. The mark that says so is a symbol, which no JSON carries:
 * a value that merely looks like a result, from a model or a remote service, never bears it.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { formatPath, isJsonObject, toJson } from '../base/json.ts';
import { describeFound } from './describe-found.ts';

export type ToolResult = {
  /** Whether the tool did what was asked. */
  readonly success: boolean;
  /** Says that the turn is over with this result. */
  readonly terminal?: boolean;
  /** Asks for another round of the model, also after a failure. */
  readonly needsFollowup?: boolean;
  /** A hint for machines about what to do next. */
  readonly nextAction?: string;
  /** Text for the user. */
  readonly message?: string;
  /** Text for whoever debugs it. */
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
 * Makes the result a tool's body returns when it has something to say about the turn. A copy: what happens to
 * `fields` afterwards changes nothing. Make it last: a spread of it is a plain object without the mark.
 */
export function toolResult(fields: ToolResult): ToolResult {
  const result = parseToolResult(fields);
  Object.defineProperty(result, brand, { value: true });
  return result;
}

/** True for what `toolResult` made, also by another copy of this package. Never true for parsed JSON. */
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
 * The completion rule: a result is terminal when it says so, or when it failed and asks for no follow-up.
 * Strict about types, own properties only, false for whatever is no result. Never throws.
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

/** An own property of anything at all, or undefined; what throws when looked at has none. */
function ownOf(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    // The key was just found on the object itself.
    return Object.hasOwn(value, key) ? (value as { readonly [key: PropertyKey]: unknown })[key] : undefined;
  } catch {
    return undefined;
  }
}
