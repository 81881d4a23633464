/** Objects that `JSON.stringify` would silently write as `{}` or as numbers, and what to return instead. */
const insteadOf: Readonly<Record<string, string>> = {
  Map: 'return Object.fromEntries(map) or an array of its entries',
  Set: 'return an array: [...set]',
  WeakMap: 'return the data itself',
  WeakSet: 'return the data itself',
  WeakRef: 'return the data itself',
  ArrayBuffer: 'return its bytes as base64 text',
  SharedArrayBuffer: 'return its bytes as base64 text',
  RegExp: 'return its source as text',
  Promise: 'await it first',
  Error: 'throw it, or return its message',
  Generator: 'return an array of what it yields',
  AsyncGenerator: 'return an array of what it yields',
  Headers: 'return Object.fromEntries(headers)',
  URLSearchParams: 'return it as text or Object.fromEntries(params)',
  FormData: 'return Object.fromEntries(form)',
  Blob: 'return its text',
  File: 'return its text',
  ReadableStream: 'read it first',
  Request: 'return the fields that matter',
  Response: 'return its content: await response.json()',
  BigInt: 'pass it as a string',
  Symbol: 'return its description',
};

const tagOf = (source: object): string => Object.prototype.toString.call(source).slice(8, -1);

/** The same problem without the advice for the developer and without the text of an exception: for a model. */
export const withoutAdvice = (problem: string): string =>
  problem.replace(/( has no JSON form|reading it threw): .*$/s, '$1');

/** Why an object that is not plain has no JSON form; undefined if its own properties are all of it. */
export function findExoticJson(source: object, hasToJson: boolean): string | undefined {
  // Before toJSON is called: that of a Buffer writes one number per byte.
  if (ArrayBuffer.isView(source))
    return `a ${tagOf(source)} has no JSON form: return its bytes as base64 text`;
  const tag = tagOf(source);
  if (tag === 'Date') return Number.isNaN(Number(source)) ? 'an invalid Date has no JSON form' : undefined;
  if (hasToJson) return undefined;
  const name = isThenable(source) ? 'Promise' : source instanceof Error ? 'Error' : tag;
  if (!Object.hasOwn(insteadOf, name)) return undefined;
  return `${/^[AE]/.test(name) ? 'an' : 'a'} ${name} has no JSON form: ${insteadOf[name]}`;
}

/** `new Number(1)` is written as 1; everything else is itself. */
export function unbox(source: object): unknown {
  const tag = tagOf(source);
  return tag === 'Number' || tag === 'String' || tag === 'Boolean' ? source.valueOf() : source;
}

const isThenable = (source: object): boolean => typeof (source as { then?: unknown }).then === 'function';
