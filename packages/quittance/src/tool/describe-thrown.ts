/**
 * Describes a thrown value. It may be a text, null, a symbol, an object without a message or an error of another realm. It
 * may even be a proxy that throws when it is read. Nothing here throws, and no description is "[object Object]".
 */
import { endSentence } from '../base/end-sentence.ts';
import { toJson } from '../base/json.ts';
import { cutText } from '../base/cut-text.ts';

/** In one line of bounded length. */
export const describeThrown = (thrown: unknown): string => cutText(thrownInWords(thrown), 1_000);

/** In full. Cut it only after redaction: half a secret is not recognized. */
export const thrownInWords = (thrown: unknown): string => inWords(thrown, 0);

/** Is it an error, including one of another realm or of the platform? */
export function isErrorLike(thrown: unknown): boolean {
  try {
    return thrown instanceof Error || /^\[object (?:Error|DOMException)\]$/.test(tagOf(thrown));
  } catch {
    return false;
  }
}

/** The name of its class, if it can be read. */
export function nameOfThrown(thrown: unknown): string {
  if (thrown === null) return 'null';
  if (typeof thrown !== 'object') return typeof thrown;
  const name = read(thrown, 'name') ?? read(read(thrown, 'constructor'), 'name');
  if (typeof name !== 'string' || name.trim() === '') return 'object';
  // Bundlers number classes with the same name: Response$1.
  return cutText(name.replace(/\$\d+$/, ''), 100);
}

/** Clients wrap errors in errors. Deeper causes add nothing. */
const deepestCause = 3;
const mostErrors = 5;

function inWords(thrown: unknown, depth: number): string {
  try {
    switch (typeof thrown) {
      case 'string':
        return thrown.trim() === '' ? 'an empty text' : thrown;
      case 'function':
        return `a function${thrown.name === '' ? '' : ` called ${thrown.name}`}`;
      case 'object':
        return thrown === null ? 'null' : objectInWords(thrown, depth);
      case 'number':
      case 'bigint':
      case 'boolean':
      case 'symbol':
      case 'undefined':
        return String(thrown);
    }
  } catch {
    return `a value of type ${typeof thrown} that cannot be read`;
  }
}

function objectInWords(thrown: object, depth: number): string {
  const isError = isErrorLike(thrown);
  const said = messageIn(thrown, depth) ?? (isError ? nameOfThrown(thrown) : undefined);
  if (said === undefined) return dataInWords(thrown);
  const errors = read(thrown, 'errors');
  const parts = Array.isArray(errors) && isError ? severalInWords(errors, depth) : '';
  const cause = depth < deepestCause ? read(thrown, 'cause') : undefined;
  const because = cause === undefined || cause === null ? '' : inWords(cause, depth + 1);
  return [parts, because].reduce(
    (text, more) => (more === '' || text.includes(more) ? text : `${text}: ${more}`),
    said,
  );
}

/** Its message, if it has a useful one. */
function messageIn(thrown: object, depth: number): string | undefined {
  const message = read(thrown, 'message');
  if (typeof message === 'string') {
    if (message.trim() === '') return undefined;
    return message.trim() === '[object Object]'
      ? `${nameOfThrown(thrown)} with an object as its message, which was not serialised`
      : message;
  }
  return typeof message === 'object' && message !== null && depth < deepestCause
    ? inWords(message, depth + 1)
    : undefined;
}

function severalInWords(errors: readonly unknown[], depth: number): string {
  if (depth >= deepestCause) return '';
  const shown = errors.slice(0, mostErrors).map((each) => inWords(each, depth + 1));
  const left = errors.length - shown.length;
  return [...shown, ...(left > 0 ? [`and ${left} more`] : [])].join('; ');
}

/** An object that is not an error and has no message: its own text, its data, or its kind. */
function dataInWords(thrown: object): string {
  const own = ownWords(thrown);
  if (own !== undefined) return own;
  const name = nameOfThrown(thrown);
  const status = statusIn(thrown);
  if (status !== undefined) return `${name} with ${status}`;
  const json = toJson(thrown);
  const text = json.ok ? JSON.stringify(json.value) : JSON.stringify(readableFields(thrown));
  if (text !== undefined && text !== '{}' && text !== '[]') return text;
  return Array.isArray(thrown)
    ? 'an empty list'
    : /^(?:Object|object)$/.test(name)
      ? 'an empty object'
      : `a ${name}`;
}

/** From its own `toString`. That of lists and plain objects says nothing. */
function ownWords(thrown: object): string | undefined {
  const { toString } = thrown as { readonly toString?: unknown };
  if (typeof toString !== 'function' || toString === Object.prototype.toString || Array.isArray(thrown))
    return undefined;
  try {
    const text: unknown = toString.call(thrown);
    return typeof text === 'string' && text.trim() !== '' && !text.startsWith('[object ') ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Many programs throw a service's response object: its fields are getters, which JSON does not show. */
function statusIn(thrown: object): string | undefined {
  if (Object.hasOwn(thrown, 'status') || typeof read(thrown, 'status') !== 'number') return undefined;
  const text = read(thrown, 'statusText');
  return endSentence(
    `status ${Number(read(thrown, 'status'))}${typeof text === 'string' && text !== '' ? ` ${text}` : ''}`,
  );
}

const mostFields = 20;

/** The readable fields of an object without a JSON form. */
function readableFields(thrown: object): { readonly [field: string]: string | number | boolean | null } {
  const fields: { [field: string]: string | number | boolean | null } = {};
  for (const key of Object.keys(thrown).slice(0, mostFields)) {
    const value = read(thrown, key);
    if (value === null || typeof value === 'string' || typeof value === 'boolean') fields[key] = value;
    else if (typeof value === 'number' || typeof value === 'bigint') fields[key] = String(value);
    else if (value !== undefined) fields[key] = `[${nameOfThrown(value)}]`;
  }
  return fields;
}

function read(thrown: unknown, key: string): unknown {
  if ((typeof thrown !== 'object' || thrown === null) && typeof thrown !== 'function') return undefined;
  try {
    return (thrown as { readonly [name: string]: unknown })[key];
  } catch {
    return undefined;
  }
}

const tagOf = (value: unknown): string => Object.prototype.toString.call(value);
