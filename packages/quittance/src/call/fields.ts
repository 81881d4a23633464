import type { JsonObject, JsonValue } from '../base/json.ts';
import { formatPath, isJsonObject, toJson } from '../base/json.ts';
import { quote } from '../base/nearest.ts';
import { describeFound } from './describe-found.ts';

/** The fields of an untrusted object. Each is read as its type, or refused by name. */
export class Fields {
  /** A copy of all given fields, known or not. */
  readonly all: JsonObject;
  readonly #what: string;

  /** `what` starts the messages: "An outcome". */
  constructor(value: unknown, what: string) {
    const copy = toJson(value);
    if (!copy.ok) throw new TypeError(`${what} must be JSON; at ${formatPath(copy.path)}: ${copy.problem}.`);
    if (!isJsonObject(copy.value))
      throw new TypeError(`${what} must be an object, found ${describeFound(value)}.`);
    this.all = copy.value;
    this.#what = what;
  }

  get(key: string): JsonValue | undefined {
    return Object.hasOwn(this.all, key) ? this.all[key] : undefined;
  }

  text(key: string): string {
    return this.#expect(key, 'text', isText);
  }

  number(key: string): number {
    return this.#expect(key, 'a number', isNumber);
  }

  flag(key: string): boolean {
    return this.#expect(key, 'true or false', isFlag);
  }

  object(key: string): JsonObject {
    return this.#expect(key, 'an object', isJsonObject);
  }

  list(key: string): readonly JsonValue[] {
    return this.#expect(key, 'an array', isList);
  }

  json(key: string): JsonValue {
    const value = this.get(key);
    if (value === undefined) throw this.#wrong(key, 'there');
    return value;
  }

  /** One word of a closed set. */
  word<Word extends string>(
    key: string,
    isWord: (value: unknown) => value is Word,
    known: Iterable<Word>,
  ): Word {
    const value = this.text(key);
    if (isWord(value)) return value;
    throw new TypeError(
      `"${key}" of ${this.#inside()} must be one of ${[...known].join(', ')}; found ${quote(value)}.`,
    );
  }

  /** Reads an optional field. Other languages write null for an absent one. */
  maybe<Value>(key: string, read: (key: string) => Value): Value | undefined {
    return (this.get(key) ?? undefined) === undefined ? undefined : read(key);
  }

  /** All given fields except these. */
  without(...keys: readonly string[]): JsonObject {
    return Object.fromEntries(Object.entries(this.all).filter(([key]) => !keys.includes(key)));
  }

  #expect<Value extends JsonValue>(
    key: string,
    expected: string,
    is: (value: JsonValue) => value is Value,
  ): Value {
    const value = this.get(key);
    if (value === undefined || !is(value)) throw this.#wrong(key, expected);
    return value;
  }

  #wrong(key: string, expected: string): TypeError {
    return new TypeError(
      `"${key}" of ${this.#inside()} must be ${expected}, found ${describeFound(this.get(key))}.`,
    );
  }

  #inside(): string {
    return this.#what.charAt(0).toLowerCase() + this.#what.slice(1);
  }
}

/** The fields that are not undefined, as an object to spread. */
export function given<Given extends { readonly [key: string]: unknown }>(
  fields: Given,
): { readonly [Key in keyof Given]?: Exclude<Given[Key], undefined> } {
  // The remaining entries have the same keys and no undefined values.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [Key in keyof Given]?: Exclude<Given[Key], undefined>;
  };
}

const isText = (value: JsonValue): value is string => typeof value === 'string';
const isNumber = (value: JsonValue): value is number => typeof value === 'number';
const isFlag = (value: JsonValue): value is boolean => typeof value === 'boolean';
const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
