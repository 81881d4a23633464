/**
 * The envelope of a model's call. It is closed: unknown keys are refused, so that all versions read a call in the same way.
 * Each property is read once, so that the checked value is the used one.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { QuittanceError } from '../base/error.ts';
import { findDuplicateKey } from '../base/duplicate-key.ts';
import { isDotSegment } from '../base/ids.ts';
import {
  copyJson,
  JsonCopying,
  formatPath,
  isJsonObject,
  parseJson,
  readingOf,
  toJson,
} from '../base/json.ts';
import { quote } from '../base/nearest.ts';
import { describeFound } from './describe-found.ts';

/** A call that an assistant requests. */
export type ToolCall = {
  /** Unique within the session. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
};

/** A call with a valid envelope. Its arguments may still be invalid. */
export type ParsedToolCall = {
  readonly id: string;
  readonly name: string;
  readonly input: ParsedArguments;
};

/** Arguments, or the reason why they are invalid. */
export type ParsedArguments =
  | { readonly ok: true; readonly arguments: JsonObject }
  /**
   * `raw` is the value found instead, or null if JSON cannot hold it. Never `{}`: that would be another call.
   */
  | { readonly ok: false; readonly problem: string; readonly raw: JsonValue };

const longestWord = 1_000;
const envelopeKeys: ReadonlySet<PropertyKey> = new Set(['id', 'name', 'arguments']);

/**
 * Parses a call from a model or a framework. A wrong envelope throws `call.malformed`, since without an id
 * and a name there is no call to answer. Wrong arguments do not throw: the model can be told about them.
 */
export function parseToolCall(value: unknown): ParsedToolCall {
  const envelope = readEnvelope(value);
  return {
    id: parseWord('id', envelope.id),
    name: parseWord('name', envelope.name),
    input: parseArguments(envelope.arguments),
  };
}

type Envelope = { readonly id: unknown; readonly name: unknown; readonly arguments: unknown };

function readEnvelope(value: unknown): Envelope {
  if (typeof value !== 'object' || value === null) throw malformed(`found ${describeFound(value)}`);
  let envelope: Envelope | { readonly refusal: string };
  try {
    envelope = readOnce(value);
  } catch (cause) {
    // Reading a caller's object runs the caller's code: getters, and proxies even for their keys.
    throw malformed('reading it threw', cause);
  }
  if ('refusal' in envelope) throw malformed(envelope.refusal);
  return envelope;
}

function readOnce(value: object): Envelope | { readonly refusal: string } {
  if (Array.isArray(value))
    return { refusal: 'found an array: pass its calls one by one, or use turn.callAll' };
  // V8 lists names and symbols separately with much less memory than by `Reflect.ownKeys`.
  const keys: readonly PropertyKey[] = Object.getOwnPropertyNames(value);
  const symbols = Object.getOwnPropertySymbols(value);
  for (const key of keys) if (!envelopeKeys.has(key)) return refuseUnknown([...keys, ...symbols]);
  if (symbols.length > 0) return refuseUnknown([...keys, ...symbols]);
  // Each key is read at most once, and only if the object itself has it.
  const given = value as Partial<Envelope>;
  return {
    id: keys.includes('id') ? given.id : undefined,
    name: keys.includes('name') ? given.name : undefined,
    arguments: keys.includes('arguments') ? given.arguments : undefined,
  };
}

const refuseUnknown = (keys: readonly PropertyKey[]): { readonly refusal: string } => ({
  refusal: describeUnknownKeys(keys.filter((key) => !envelopeKeys.has(key))),
});

function parseWord(key: 'id' | 'name', value: unknown): string {
  if (typeof value !== 'string' || value === '')
    throw malformed(`${key} must be a non-empty string, found ${describeFound(value)}`);
  if (value.length > longestWord)
    throw malformed(`${key} has ${value.length} characters, more than ${longestWord}: ${quote(value)}`);
  // Stores cannot tell apart two ids that differ only in a lone surrogate.
  if (key === 'id' && !value.isWellFormed())
    throw malformed(`id holds half a character (a lone surrogate), which no store can keep: ${quote(value)}`);
  if (key === 'id' && isDotSegment(value))
    throw malformed(`id may not be ${quote(value)}: in an address or a path that means a folder`);
  return value;
}

function parseArguments(value: unknown): ParsedArguments {
  if (typeof value === 'string') return parseArgumentText(value);
  const copied = copyJson(value, true);
  if (isJsonObject(copied) && !(copied instanceof JsonCopying)) return { ok: true, arguments: copied };
  const copy = readingOf(copied);
  const kept = copy.ok ? copy : toJson(value);
  return {
    ok: false,
    problem: copy.ok
      ? `arguments must be a JSON object, found ${describeFound(value)}`
      : `arguments hold something JSON cannot carry at ${formatPath(copy.path)}: ${copy.problem}`,
    raw: kept.ok ? kept.value : null,
  };
}

function parseArgumentText(text: string): ParsedArguments {
  const refuse = (problem: string): ParsedArguments => ({ ok: false, problem, raw: text });
  if (text.trim() === '') return refuse('arguments are empty text; a call without arguments has {}');
  const reading = parseJson(text);
  if (!reading.ok)
    return refuse(
      `arguments are text that is not a JSON object${reading.path.length > 0 ? ` at ${formatPath(reading.path)}` : ''}: ${reading.problem}`,
    );
  const twice = findDuplicateKey(text);
  if (twice !== undefined)
    return refuse(`the key ${quote(twice)} appears twice in the arguments; each key may appear once`);
  return isJsonObject(reading.value)
    ? { ok: true, arguments: reading.value }
    : refuse(`arguments must be a JSON object, found ${describeFound(reading.value)} in the text`);
}

/** Call formats of other APIs, by their characteristic key, and how to map each. */
const foreignShapes: readonly { readonly key: string; readonly whose: string; readonly map: string }[] = [
  {
    key: 'function',
    whose: 'an OpenAI chat completion',
    map: '{id: call.id, name: call.function.name, arguments: call.function.arguments}',
  },
  {
    key: 'call_id',
    whose: 'the OpenAI Responses API',
    map: '{id: item.call_id, name: item.name, arguments: item.arguments}',
  },
  {
    key: 'toolCallId',
    whose: 'the AI SDK',
    map: '{id: call.toolCallId, name: call.toolName, arguments: call.input}',
  },
  {
    key: 'input',
    whose: 'Anthropic (a tool_use block)',
    map: '{id: block.id, name: block.name, arguments: block.input}',
  },
  {
    key: 'args',
    whose: 'LangChain or Gemini',
    map: '{id: call.id, name: call.name, arguments: call.args}, with your own id if there is none',
  },
  {
    key: 'params',
    whose: 'MCP',
    map: '{id: String(request.id), name: request.params.name, arguments: request.params.arguments ?? {}}',
  },
];

function describeUnknownKeys(unknown: readonly PropertyKey[]): string {
  const shown = unknown.slice(0, 5).map((key) => quote(String(key)));
  const more = unknown.length > shown.length ? ` and ${unknown.length - shown.length} more` : '';
  const foreign = foreignShapes.find(({ key }) => unknown.includes(key));
  const mapping = foreign && `. It looks like a call from ${foreign.whose}: pass ${foreign.map}`;
  return `found the unknown ${unknown.length > 1 ? 'keys' : 'key'} ${shown.join(', ')}${more}${mapping ?? ''}`;
}

const malformed = (found: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'call.malformed',
    `A tool call is exactly {id, name, arguments}; ${found}. ` +
      'Per-call metadata goes in the options: turn.call(call, {attrs: {…}}).',
    {},
    cause,
  );
